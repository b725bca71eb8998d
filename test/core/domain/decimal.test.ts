import fc from 'fast-check';
import {
  absolute,
  add,
  compare,
  decimal,
  decimalsOf,
  divide,
  divideInteger,
  formatDecimal,
  isDecimal,
  MAX_DECIMAL_LENGTH,
  multiply,
  negate,
  parseDecimal,
  round,
  ROUNDINGS,
  subtract,
  toUnits,
  ZERO,
} from '../../../core/domain/decimal.js';

const runs = { seed: 20_260_315, numRuns: 500 };
const anyUnits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
const anyScale = fc.integer({ min: 0, max: 30 });
const anyDecimal = fc.tuple(anyUnits, anyScale).map(([units, scale]) => decimal(units, scale));
const anyRounding = fc.constantFrom(...ROUNDINGS);
const nonZero = anyUnits.filter((value) => value !== 0n);

describe('decimals', () => {
  it('come back from their text unchanged, and the text is canonical', () => {
    fc.assert(
      fc.property(anyDecimal, (value) => {
        const text = formatDecimal(value);
        expect(parseDecimal(text)).toEqual(value);
        expect(text).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
        expect(text).not.toBe('-0');
      }),
      runs,
    );
  });

  it('ignore trailing zeros of a text', () => {
    fc.assert(
      fc.property(anyDecimal, fc.integer({ min: 1, max: 9 }), (value, zeros) => {
        const text = formatDecimal(value);
        const padded = `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(zeros)}`;
        expect(parseDecimal(padded)).toEqual(value);
      }),
      runs,
    );
  });

  it.each(['', '-', '.5', '5.', '01', '+1', '1e3', ' 1', '1 ', '1,5', '0x1', 'NaN', '--1', '1'.repeat(MAX_DECIMAL_LENGTH + 1)])(
    'refuse the text %p',
    (text) => {
      expect(() => parseDecimal(text)).toThrow(RangeError);
    },
  );

  it('add, subtract and multiply like exact fractions', () => {
    fc.assert(
      fc.property(anyDecimal, anyDecimal, anyDecimal, (a, b, c) => {
        expect(add(a, b)).toEqual(add(b, a));
        expect(add(add(a, b), c)).toEqual(add(a, add(b, c)));
        expect(subtract(add(a, b), b)).toEqual(a);
        expect(multiply(a, add(b, c))).toEqual(add(multiply(a, b), multiply(a, c)));
        expect(add(a, negate(a))).toEqual(ZERO);
        expect(compare(absolute(a), ZERO)).not.toBe(-1);
      }),
      runs,
    );
  });

  it('compare as their difference does', () => {
    fc.assert(
      fc.property(anyDecimal, anyDecimal, (a, b) => {
        const difference = subtract(a, b).units;
        expect(compare(a, b)).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
        expect(compare(a, b)).toBe(compare(b, a) === 0 ? 0 : -compare(b, a));
      }),
      runs,
    );
  });

  it('are equal field by field when they are equal', () => {
    fc.assert(
      fc.property(anyUnits, anyScale, fc.integer({ min: 0, max: 9 }), (units, scale, extra) => {
        const value = decimal(units, scale);
        expect(decimal(units * 10n ** BigInt(extra), scale + extra)).toEqual(value);
        expect(isDecimal(value)).toBe(true);
        expect(decimalsOf(value)).toBeLessThanOrEqual(scale);
      }),
      runs,
    );
  });
});

describe('rounding', () => {
  it('stays within one unit of the exact quotient and on the side its name says', () => {
    fc.assert(
      fc.property(anyUnits, nonZero, anyRounding, (numerator, denominator, rounding) => {
        const quotient = divideInteger(numerator, denominator, rounding);
        const sign = denominator < 0n ? -1n : 1n;
        // error × denominator, with a positive denominator
        const error = sign * (quotient * denominator - numerator);
        const size = sign * denominator;
        expect(error < size && error > -size).toBe(true);
        const positive = numerator < 0n === denominator < 0n;
        if (rounding === 'floor' || (rounding === 'down' && positive) || (rounding === 'up' && !positive)) expect(error <= 0n).toBe(true);
        if (rounding === 'ceil' || (rounding === 'up' && positive) || (rounding === 'down' && !positive)) expect(error >= 0n).toBe(true);
        if (rounding === 'half-up') expect(2n * (error < 0n ? -error : error) <= size).toBe(true);
      }),
      runs,
    );
  });

  it.each([
    ['down', 2n, -2n],
    ['up', 3n, -3n],
    ['floor', 2n, -3n],
    ['ceil', 3n, -2n],
    ['half-up', 3n, -3n],
  ] as const)('%s takes 2.5 to %s and -2.5 to %s', (rounding, positive, negative) => {
    expect(divideInteger(5n, 2n, rounding)).toBe(positive);
    expect(divideInteger(-5n, 2n, rounding)).toBe(negative);
    expect(divideInteger(5n, -2n, rounding)).toBe(negative);
  });

  it('is exact when nothing has to be rounded, and idempotent', () => {
    fc.assert(
      fc.property(anyDecimal, anyScale, anyRounding, (value, scale, rounding) => {
        const once = round(value, scale, rounding);
        expect(decimalsOf(once)).toBeLessThanOrEqual(scale);
        expect(round(once, scale, rounding)).toEqual(once);
        if (decimalsOf(value) <= scale) expect(once).toEqual(value);
        expect(decimal(toUnits(value, scale, rounding), scale)).toEqual(once);
      }),
      runs,
    );
  });

  it('divides back to the dividend within the last digit', () => {
    fc.assert(
      fc.property(anyDecimal, anyDecimal, anyScale, (a, b, scale) => {
        fc.pre(b.units !== 0n);
        const low = divide(a, b, scale, 'floor');
        const high = divide(a, b, scale, 'ceil');
        const gap = subtract(high, low);
        expect([ZERO, decimal(1n, scale)]).toContainEqual(gap);
        if (gap.units === 0n) expect(multiply(low, b)).toEqual(a);
      }),
      runs,
    );
  });

  it('refuses to divide by zero', () => {
    expect(() => divide(decimal(1n, 0), ZERO, 2, 'down')).toThrow(RangeError);
  });
});
