import { decimal, decimalsOf, formatDecimal, round, toUnits, type Decimal } from '../domain/decimal.js';
import { MAX_PRICE } from '../domain/pricing/units.js';
import { GatewayError } from '../errors.js';

/** Converts decimal input to the contract's units. Nothing is rounded silently: excess decimals are rejected. */

export const PRICE_DECIMALS = 10;
export const SIZE_DECIMALS = 8;
export const LEVERAGE_DECIMALS = 3;
export const SLIPPAGE_DECIMALS = 3;
/** uint16 on chain. */
const MAX_SLIPPAGE_P = 65_535n;

export const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('VALIDATION_ERROR', { issues: [{ path, message }] });

export function exactUnits(field: string, value: Decimal, maxDecimals: number): bigint {
  if (decimalsOf(value) <= maxDecimals) return toUnits(value, maxDecimals, 'down');
  throw new GatewayError('PRECISION_ERROR', { field, value: formatDecimal(value), maxDecimals, nearest: nearest(value, maxDecimals) });
}

/** The nearest value that fits, at least one unit. */
function nearest(value: Decimal, maxDecimals: number): string {
  const rounded = round(value, maxDecimals, 'half-up');
  return formatDecimal(rounded.units === 0n ? decimal(1n, maxDecimals) : rounded);
}

/** 1e10. */
export function priceUnits(field: string, value: Decimal): bigint {
  const units = exactUnits(field, value, PRICE_DECIMALS);
  if (units > 0n && units <= MAX_PRICE) return units;
  throw invalid(field, `must be above 0 and at most ${formatDecimal(decimal(MAX_PRICE, PRICE_DECIMALS))}`);
}

/** 1e10; 0 = none. */
export const triggerUnits = (field: string, value: Decimal | undefined): bigint =>
  value === undefined || value.units === 0n ? 0n : priceUnits(field, value);

/** 1e3 percent. */
export function slippageUnits(value: Decimal): bigint {
  const units = exactUnits('slippage', value, SLIPPAGE_DECIMALS);
  if (units > 0n && units <= MAX_SLIPPAGE_P) return units;
  throw invalid('slippage', 'must be above 0 and at most 65.535 percent');
}
