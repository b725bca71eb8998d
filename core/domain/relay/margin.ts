import { divideInteger } from '../decimal.js';
import type { CollateralUnits } from '../pricing/market-view.js';
import { E8 } from '../pricing/units.js';

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
