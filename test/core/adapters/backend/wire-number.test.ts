import fc from 'fast-check';
import { wireUnits } from '../../../../core/adapters/backend/wire.js';

/** Independent of the parser: the digits of the text are moved by hand, without a regular expression or a division. */
function movedByHand(text: string, scale: number): bigint {
  const isNegative = text.startsWith('-');
  const [mantissa = '', exponent = '0'] = text.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const point = whole.length + Number(exponent) + scale;
  const digits = (whole + fraction).padEnd(Math.max(point, 0) + 1, '0');
  const kept = point <= 0 ? '0' : digits.slice(0, point);
  const next = point < 0 ? '0' : (digits[point] ?? '0');
  const magnitude = BigInt(kept === '' ? '0' : kept) + (next >= '5' ? 1n : 0n);
  return isNegative ? -magnitude : magnitude;
}

describe('a number of the feed', () => {
  it.each([
    [60000, 600000000000000n],
    [60000.1, 600001000000000n],
    [0.1 + 0.2, 3000000000n],
    [8.45e-6, 84500n],
    [1e-7, 1000n],
    [4.9e-11, 0n],
    [5e-11, 1n],
    [1e21, 10n ** 31n],
    ['8.45E-6', 84500n],
    ['151.32', 1513200000000n],
    [-1.5, -15000000000n],
  ])('%p is %p units of 1e-10', (value, units) => {
    expect(wireUnits(value, 10)).toBe(units);
  });

  it.each([NaN, Infinity, -Infinity, null, undefined, true, {}, [], '', ' 1', '0x10', '1e9999', '1,5', '1'.repeat(65), 10n])(
    '%p is no number',
    (value) => {
      expect(wireUnits(value, 10)).toBeNull();
    },
  );

  it('is read exactly as its text says, whatever the double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 0, max: 18 }), (value, scale) => {
        expect(wireUnits(value, scale)).toBe(movedByHand(String(value), scale));
      }),
      { numRuns: 2000 },
    );
  });

  it('survives the way through JSON with every price of up to fifteen digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }), (units) => {
        const text = `${units / 10n ** 10n}.${(units % 10n ** 10n).toString().padStart(10, '0')}`;
        expect(wireUnits(JSON.parse(JSON.stringify(Number(text))), 10)).toBe(units);
      }),
      { numRuns: 2000 },
    );
  });
});
