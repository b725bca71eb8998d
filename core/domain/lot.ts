import { divideInteger } from './decimal.js';

/** Ten decimals of 1e18: finer than the token units of any collateral, and above all rounding errors. */
const NOISE = 10n ** 8n;

/**
 * A size (1e18) as shown in a market with this lot: truncated to the lot, towards zero. A remainder below one lot shows as one lot, because it
 * can be closed. Every size a client sees is this function of a position, or a difference of two of its values.
 */
export function floorToLot(size: bigint, lot: bigint): bigint {
  const exact = divideInteger(size, NOISE, 'half-up') * NOISE;
  const floored = (exact / lot) * lot;
  if (floored !== 0n || exact === 0n) return floored;
  return exact < 0n ? -lot : lot;
}
