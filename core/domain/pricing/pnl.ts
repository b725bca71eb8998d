import type { TradeAccount } from './market-view.js';
import { E3, HUNDRED_PERCENT, P10, maximum } from './units.js';

export interface PnlInput {
  readonly openPrice: bigint;
  /** Execution price for "if closed now", market price for display. */
  readonly price: bigint;
  readonly long: boolean;
  readonly leverage: bigint;
}

/** 1e10 percent of the collateral, never below -100 %. */
export function pnlPercentP(input: PnlInput): bigint {
  if (input.openPrice === 0n) return 0n;
  const gain = input.long ? input.price - input.openPrice : input.openPrice - input.price;
  return maximum((gain * 100n * P10 * input.leverage) / input.openPrice / E3, -HUNDRED_PERCENT);
}

/** Collateral units, before every fee. */
export const rawPnl = (collateralAmount: bigint, pnlP: bigint): bigint => (pnlP * collateralAmount) / HUNDRED_PERCENT;

/** What closing pays: never negative. Scaled by `precisionDelta` before the division so that few decimals lose nothing. */
export function tradeValue(input: {
  readonly collateralAmount: bigint;
  readonly precisionDelta: bigint;
  readonly pnlP: bigint;
  readonly closingFee: bigint;
  readonly account: TradeAccount;
}): bigint {
  const scaled = input.collateralAmount * input.precisionDelta;
  const gross = (scaled + (scaled * input.pnlP) / HUNDRED_PERCENT) / input.precisionDelta;
  return maximum(gross - input.closingFee - input.account.holdingFees + input.account.realizedPnl, 0n);
}
