import { divideInteger } from '../../domain/decimal.js';

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i;

/** A double has at most 17 significant digits; longer texts are rejected, because parsing them would waste CPU. */
const MAX_TEXT = 64;

/**
 * The only conversion of upstream's plain numbers to fixed point. A JSON number is parsed from its shortest round-trip text, which is the
 * text the sender wrote for anything up to 15 significant digits, so no float arithmetic ever happens; digits that do not fit `scale` are
 * rounded half up. Null for anything that is not a finite decimal number.
 */
export function wireUnits(value: unknown, scale: number): bigint | null {
  if (typeof value === 'number') return Number.isFinite(value) ? textUnits(String(value), scale) : null;
  return typeof value === 'string' && value.length <= MAX_TEXT ? textUnits(value, scale) : null;
}

function textUnits(text: string, scale: number): bigint | null {
  const match = NUMBER.exec(text);
  if (!match) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = scale + Number(exponent) - fraction.length;
  const digits = BigInt(sign + whole + fraction);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : divideInteger(digits, 10n ** BigInt(-shift), 'half-up');
}
