/**
 * Exact decimals: `units × 10^-scale`, always normalised (no trailing zero in `units` while `scale > 0`),
 * so two equal values are equal field by field and `formatDecimal` is canonical.
 */
declare const brand: unique symbol;
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
  readonly [brand]: true;
}

export const ROUNDINGS = ['down', 'up', 'floor', 'ceil', 'half-up'] as const;
/** `down` truncates toward zero, `up` away from it; `floor` and `ceil` follow the number line; `half-up` rounds a tie away from zero. */
export type Rounding = (typeof ROUNDINGS)[number];

export const DECIMAL_PATTERN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Longer texts are rejected before any arithmetic, to bound the CPU cost of a request. */
export const MAX_DECIMAL_LENGTH = 96;

export function decimal(units: bigint, scale: number): Decimal {
  let [u, s] = [units, scale];
  while (s > 0 && u % 10n === 0n) {
    u /= 10n;
    s -= 1;
  }
  return { units: s < 0 ? u * 10n ** BigInt(-s) : u, scale: Math.max(s, 0) } as Decimal;
}

export const ZERO = decimal(0n, 0);

export function isDecimal(value: unknown): value is Decimal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'units' in value &&
    typeof value.units === 'bigint' &&
    'scale' in value &&
    Number.isInteger(value.scale)
  );
}

export function parseDecimal(text: string): Decimal {
  if (text.length > MAX_DECIMAL_LENGTH || !DECIMAL_PATTERN.test(text)) throw new RangeError('not a decimal string');
  const point = text.indexOf('.');
  if (point === -1) return decimal(BigInt(text), 0);
  return decimal(BigInt(text.slice(0, point) + text.slice(point + 1)), text.length - point - 1);
}

export function formatDecimal({ units, scale }: Decimal): string {
  if (scale === 0) return units.toString();
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const cut = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, cut)}.${digits.slice(cut)}`;
}

/** How many decimals the value needs; 0 for an integer. */
export const decimalsOf = (value: Decimal): number => value.scale;

const unitsAt = (value: Decimal, scale: number): bigint => value.units * 10n ** BigInt(scale - value.scale);

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return decimal(unitsAt(a, scale) + unitsAt(b, scale), scale);
}

export const negate = (value: Decimal): Decimal => decimal(-value.units, value.scale);
export const subtract = (a: Decimal, b: Decimal): Decimal => add(a, negate(b));
export const multiply = (a: Decimal, b: Decimal): Decimal => decimal(a.units * b.units, a.scale + b.scale);
export const absolute = (value: Decimal): Decimal => (value.units < 0n ? negate(value) : value);

export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const scale = Math.max(a.scale, b.scale);
  const [x, y] = [unitsAt(a, scale), unitsAt(b, scale)];
  return x < y ? -1 : x > y ? 1 : 0;
}

export function divide(a: Decimal, b: Decimal, scale: number, rounding: Rounding): Decimal {
  if (b.units === 0n) throw new RangeError('division by zero');
  return decimal(divideInteger(a.units * 10n ** BigInt(scale + b.scale), b.units * 10n ** BigInt(a.scale), rounding), scale);
}

export function round(value: Decimal, scale: number, rounding: Rounding): Decimal {
  return value.scale <= scale ? value : decimal(divideInteger(value.units, 10n ** BigInt(value.scale - scale), rounding), scale);
}

/** Fixed-point units of the given scale, for example token units; the rounding says what happens to digits that do not fit. */
export function toUnits(value: Decimal, scale: number, rounding: Rounding): bigint {
  return unitsAt(round(value, scale, rounding), scale);
}

export function divideInteger(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  const quotient = numerator / denominator;
  const remainder = numerator % denominator;
  if (remainder === 0n) return quotient;
  const away = numerator < 0n === denominator < 0n ? 1n : -1n;
  switch (rounding) {
    case 'down':
      return quotient;
    case 'up':
      return quotient + away;
    case 'floor':
      return away < 0n ? quotient - 1n : quotient;
    case 'ceil':
      return away > 0n ? quotient + 1n : quotient;
    case 'half-up': {
      const twice = 2n * (remainder < 0n ? -remainder : remainder);
      return twice >= (denominator < 0n ? -denominator : denominator) ? quotient + away : quotient;
    }
  }
}

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
