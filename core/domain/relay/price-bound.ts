import { DEFAULT_CLOSING_SLIPPAGE_P, worstPrice } from '../pricing/execution-price.js';
import type { ExchangeOrder } from './exchange-order.js';
import { divideInteger } from '../decimal.js';
import type { CollateralUnits } from '../pricing/market-view.js';
import { E8 } from '../pricing/units.js';

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

/** Slippage that an order-book exchange allows a market order after its trigger, 1e3 percent. */
const MARKET_SLIPPAGE_P = 10_000n;

type TriggerOrder = Pick<ExchangeOrder, 'isBuy' | 'limit' | 'style'>;

/**
 * Closing slippage of a take profit or stop loss, 1e3 percent: the distance from trigger to limit, at least the contract's default. A market
 * order whose limit is its trigger names no worst price, so it gets the exchange's default.
 */
export function wantedClosingSlippage({ isBuy, limit, style }: TriggerOrder, maxSlippageP: bigint): bigint {
  if (style.kind !== 'trigger') return DEFAULT_CLOSING_SLIPPAGE_P;
  const distance = slippageTo(limit, style.trigger, isBuy, maxSlippageP);
  const wanted = distance === 0n && style.isMarket === true ? MARKET_SLIPPAGE_P : distance;
  return wanted < DEFAULT_CLOSING_SLIPPAGE_P ? DEFAULT_CLOSING_SLIPPAGE_P : wanted;
}

/** The trade's closing slippage, or the contract's default if none is set. */
export const currentClosingSlippage = ({ slippageP }: { readonly slippageP: bigint }): bigint => slippageP || DEFAULT_CLOSING_SLIPPAGE_P;

/** The position whose margin is changed. */
export interface MarginContext {
  readonly tradeIndex: number;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
  readonly collateral: CollateralUnits;
}

const MICRO_USD = 1_000_000n;

/**
 * The leverage that adds this margin (millionths of a dollar, negative removes) to a position, rounded to a leverage step so that never more than
 * requested is moved. null where nothing of the position, or nothing of the amount, would be left.
 */
export function leverageForMargin(microUsd: bigint, { collateralAmount: held, leverage, collateral }: MarginContext): bigint | null {
  const isAdded = microUsd > 0n;
  const amount = (isAdded ? microUsd : -microUsd) * collateral.precision * E8;
  const units = divideInteger(amount, collateral.priceUsd * MICRO_USD, 'down');
  const wanted = isAdded ? held + units : held - units;
  if (wanted <= 0n || units === 0n) return null;
  const stepped = divideInteger(held * leverage, wanted, isAdded ? 'up' : 'down');
  return stepped === leverage ? null : stepped;
}
