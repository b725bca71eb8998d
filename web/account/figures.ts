import { scaled, unscaled } from '../ui/format.js';
import type { Position } from './types.js';

/** Sums and shares of decimal strings, exact. */

const SCALE = 18;
const PERCENT_DIGITS = 2;

export interface CollateralSum {
  readonly collateral: string;
  readonly amount: string;
}

/** Per collateral: positions in different tokens cannot be added up. */
export function sumOf(positions: readonly Position[], read: (position: Position) => string): CollateralSum[] {
  const sums = new Map<string, bigint>();
  for (const position of positions)
    sums.set(position.collateralSymbol, (sums.get(position.collateralSymbol) ?? 0n) + scaled(read(position), SCALE));
  return [...sums].map(([collateral, sum]) => ({ collateral, amount: unscaled(sum, SCALE) }));
}

export function productOf(first: string, second: string): string {
  return unscaled((scaled(first, SCALE) * scaled(second, SCALE)) / 10n ** BigInt(SCALE), SCALE);
}

export const plus = (first: string, second: string): string => unscaled(scaled(first, SCALE) + scaled(second, SCALE), SCALE);

/** How far the price may move before liquidation, in percent of the mark; null where there is no liquidation price. */
export function liquidationDistance({ markPrice, liquidationPrice }: Position): string | null {
  const [mark, liquidation] = [scaled(markPrice, SCALE), scaled(liquidationPrice, SCALE)];
  if (mark === 0n || liquidation === 0n) return null;
  const distance = mark > liquidation ? mark - liquidation : liquidation - mark;
  return unscaled((distance * 100n * 10n ** BigInt(PERCENT_DIGITS)) / mark, PERCENT_DIGITS);
}

export const isSet = (level: string): boolean => /[1-9]/.test(level);
