import { parseDecimal, toUnits } from '../../core/domain/decimal.js';

/** Prices are 1e10 integers everywhere; only the random factors of the walk are floats, and they are snapped to a grid at once. */
export const PRICE_SCALE = 10;

/** The contract's oracle answers are uint56. */
export const MAX_PRICE = 2n ** 56n - 1n;

const SIGNIFICANT_DIGITS = 6;

export const priceUnits = (text: string): bigint => toUnits(parseDecimal(text), PRICE_SCALE, 'half-up');

/** The smallest step of a market: six significant digits of its start price, but never finer than the contract can say. */
export function gridOf(start: bigint): bigint {
  return 10n ** BigInt(Math.max(0, start.toString().length - SIGNIFICANT_DIGITS));
}

export function snap(units: number, grid: bigint): bigint {
  const snapped = BigInt(Math.round(units / Number(grid))) * grid;
  return snapped < grid ? grid : snapped > MAX_PRICE ? MAX_PRICE : snapped;
}
