import { decimal, divideInteger, formatDecimal, round, type Decimal, type Rounding } from '../core/domain/decimal.js';

/** Number formats of Hyperliquid: plain decimals that always show a point. Until formatted, figures are bigints of a named scale. */

export const PRICE_SCALE = 10;
export const USD_SCALE = 18;
export const BASE_SCALE = 18;
const SHOWN_USD = 6;
/** The maximum number of decimals on the wire. */
const MOST_DECIMALS = 8;
const SIGNIFICANT = 5;
/** The decimals of a price and of a size add up to six at most. */
const PRICE_AND_SIZE = 6;

/** `65000` → `65000.0`: some clients take the digits behind the point for the tick. */
export function withPoint(value: Decimal): string {
  const text = formatDecimal(value);
  return text.includes('.') ? text : `${text}.0`;
}

export const ZERO_TEXT = '0.0';

export const formatUsd = (usd: bigint): string => withPoint(round(decimal(usd, USD_SCALE), SHOWN_USD, 'half-up'));

export const formatRate = (rate: Decimal): string => withPoint(round(rate, MOST_DECIMALS + 2, 'half-up'));

/** Floor of the decimal logarithm of a positive fixed-point number. */
export const magnitude = (units: bigint, scale: number): number => units.toString().length - 1 - scale;

/** Decimals that a price of this size may have: five significant figures, six less the size's decimals, whole numbers always. */
export const priceDecimals = (price: bigint, szDecimals: number): number =>
  Math.max(0, Math.min(SIGNIFICANT - 1 - magnitude(price, PRICE_SCALE), PRICE_AND_SIZE - szDecimals));

/** Rounded to the tick, with the tick's number of digits. `price` is 1e10. */
export function formatTick(price: bigint, szDecimals: number, rounding: Rounding): string {
  if (price <= 0n) return ZERO_TEXT;
  const decimals = priceDecimals(price, szDecimals);
  return padded(round(decimal(price, PRICE_SCALE), decimals, rounding), Math.max(1, decimals));
}

/** A price that was paid, asked or set as a limit: not rounded to the tick. */
export const formatExact = (price: bigint): string => withPoint(round(decimal(price, PRICE_SCALE), MOST_DECIMALS, 'half-up'));

/** Base units, 1e18. */
export const formatSize = (base: bigint, szDecimals: number, rounding: Rounding): string =>
  withPoint(round(decimal(base, BASE_SCALE), szDecimals, rounding));

/** USD (1e18) of base units (1e18) at a price (1e10). */
export const valueUsd = (base: bigint, price: bigint): bigint => divideInteger(base * price, 10n ** BigInt(PRICE_SCALE), 'half-up');

function padded(value: Decimal, decimals: number): string {
  const text = withPoint(value);
  const shown = text.length - text.indexOf('.') - 1;
  return text + '0'.repeat(Math.max(0, decimals - shown));
}
