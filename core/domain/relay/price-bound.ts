import { worstPrice } from '../pricing/slippage.js';

const PERCENT = 100_000n;
/** The widest that is ever asked of the contract, 1e3 percent. */
export const MAX_SLIPPAGE_P = 65_000n;

export interface PriceBound {
  readonly expectedPrice: bigint;
  /** 1e3 percent, at least the contract's smallest. */
  readonly slippageP: bigint;
}

/**
 * The contract bounds a price by an expectation and a percentage, an order-book exchange by a limit: an expectation with the given
 * room under (over, for a seller) the limit, such that the contract's own worst price never passes it.
 */
export function boundBy(limit: bigint, isBuy: boolean, roomP: bigint): PriceBound {
  const slippageP = roomP < 1n ? 1n : roomP;
  const expectedPrice = isBuy
    ? (limit * PERCENT) / (PERCENT + slippageP)
    : (limit * PERCENT + (PERCENT - slippageP) - 1n) / (PERCENT - slippageP);
  return { expectedPrice: nearest({ expectedPrice, slippageP }, limit, isBuy), slippageP };
}

/** Both divisions round; a step to the safe side is taken where they would pass the limit. */
function nearest({ expectedPrice, slippageP }: PriceBound, limit: bigint, isBuy: boolean): bigint {
  const worst = worstPrice({ expectedPrice, maxSlippageP: slippageP, long: isBuy, open: true });
  if (isBuy) return worst > limit ? expectedPrice - 1n : expectedPrice;
  return worst < limit ? expectedPrice + 1n : expectedPrice;
}

/** How much room a limit leaves against a price, 1e3 percent; 0 when it is on the wrong side of it. */
export function roomTo(limit: bigint, price: bigint, isBuy: boolean, mostP: bigint): bigint {
  const room = isBuy ? ((limit - price) * PERCENT) / price : ((price - limit) * PERCENT) / price;
  return room < 0n ? 0n : room > mostP ? mostP : room;
}
