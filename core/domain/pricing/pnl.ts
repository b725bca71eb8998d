import type { TradeAccount } from './market-view.js';
import { E3, HUNDRED_PERCENT, maximum, P10 } from './units.js';

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

/** A stop must fire this far (plus opening and closing fee) before the liquidation threshold. */
const STOP_BUFFER_P = 5n * P10;

/** The stop the contract stores for the requested one; 0 = none, also when fees make any stop impossible. */
export function clampStopLoss(input: {
  readonly sl: bigint;
  readonly openPrice: bigint;
  readonly long: boolean;
  readonly leverage: bigint;
  /** `totalPositionSizeFeeP` of the pair. */
  readonly feeP: bigint;
  /** `liquidationThresholdP` of the trade. */
  readonly thresholdP: bigint;
}): bigint {
  if (input.sl === 0n) return 0n;
  const buffer = (2n * input.feeP * input.leverage) / E3 + STOP_BUFFER_P;
  if (buffer >= input.thresholdP) return 0n;
  const deepestLossP = input.thresholdP - buffer;
  if (pnlPercentP({ ...input, price: input.sl }) >= -deepestLossP) return input.sl;
  const distance = (input.openPrice * deepestLossP * E3) / input.leverage / HUNDRED_PERCENT;
  return input.long ? input.openPrice - distance : input.openPrice + distance;
}
