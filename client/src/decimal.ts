/** Decimal texts as whole units of 10^-decimals, without floating point. */

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Null where the text is no decimal, or has more decimals than fit. */
export function toUnits(text: string, decimals: number): bigint | null {
  const [, sign, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return null;
  const kept = fraction.replace(/0+$/, '');
  if (kept.length > decimals) return null;
  const units = BigInt(whole + kept.padEnd(decimals, '0'));
  return sign === '-' ? -units : units;
}

export const divideUp = (numerator: bigint, denominator: bigint): bigint => (numerator + denominator - 1n) / denominator;

/** Whether two amounts differ by at most `millionths` of the expected one, plus whole units of rounding. */
export function isWithin(expected: bigint, found: bigint, millionths: bigint, units: bigint): boolean {
  const difference = found > expected ? found - expected : expected - found;
  const magnitude = expected < 0n ? -expected : expected;
  return difference * 1_000_000n <= magnitude * millionths + units * 1_000_000n;
}
