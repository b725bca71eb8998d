import { pnlPercentP } from './pnl.js';
import { E3, HUNDRED_PERCENT, P10 } from './units.js';

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
