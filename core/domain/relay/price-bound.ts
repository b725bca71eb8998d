import { worstPrice } from '../pricing/execution-price.js';

const PERCENT = 100_000n;
/** The maximum slippage ever sent to the contract, 1e3 percent. */
export const MAX_SLIPPAGE_P = 65_000n;

export interface PriceBound {
  readonly expectedPrice: bigint;
  /** 1e3 percent, at least the contract's smallest. */
  readonly slippageP: bigint;
}

/**
 * The contract bounds a price by an expected price and a slippage, an order-book exchange by a limit. Returns an expected price with the given
 * slippage below (above, for a sell) the limit, such that the contract's worst price never passes the limit.
 */
export function boundBy(limit: bigint, isBuy: boolean, wantedSlippageP: bigint): PriceBound {
  const slippageP = wantedSlippageP < 1n ? 1n : wantedSlippageP;
  const expectedPrice = isBuy
    ? (limit * PERCENT) / (PERCENT + slippageP)
    : (limit * PERCENT + (PERCENT - slippageP) - 1n) / (PERCENT - slippageP);
  return { expectedPrice: nearest({ expectedPrice, slippageP }, limit, isBuy), slippageP };
}

/** Both divisions round, so the price is moved one step to the safe side where it would pass the limit. */
function nearest({ expectedPrice, slippageP }: PriceBound, limit: bigint, isBuy: boolean): bigint {
  const worst = worstPrice({ expectedPrice, maxSlippageP: slippageP, long: isBuy, open: true });
  if (isBuy) return worst > limit ? expectedPrice - 1n : expectedPrice;
  return worst < limit ? expectedPrice + 1n : expectedPrice;
}

/** The slippage from a price to a limit, 1e3 percent; 0 when the limit is on the wrong side. */
export function slippageTo(limit: bigint, price: bigint, isBuy: boolean, mostP: bigint): bigint {
  const slippageP = isBuy ? ((limit - price) * PERCENT) / price : ((price - limit) * PERCENT) / price;
  return slippageP < 0n ? 0n : slippageP > mostP ? mostP : slippageP;
}
