/** Decimal strings stay strings: Intl takes them exactly, and no price passes through a binary fraction. */

type Decimal = `${number}`;
const MINUS = '−';
const LOCALE = 'en-US';

const formats = new Map<string, Intl.NumberFormat>();
function formatOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.NumberFormat(LOCALE, options);
  formats.set(key, known);
  return known;
}

const withMinus = (text: string): string => text.replace(/^-/, MINUS);
/** What is not a plain decimal is shown as it is: a wrong value must not look like a right one. */
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

/** Fixed digits: `1234.5` with 2 is `1,234.50`. */
export function formatDecimal(text: string, digits: number): string {
  if (!DECIMAL.test(text)) return text;
  return withMinus(formatOf({ minimumFractionDigits: digits, maximumFractionDigits: digits }).format(text as Decimal));
}

/** As many digits as the value has, up to a bound. */
export function formatUpTo(text: string, digits: number): string {
  if (!DECIMAL.test(text)) return text;
  return withMinus(formatOf({ maximumFractionDigits: digits }).format(text as Decimal));
}

/** A price in the market's precision, which is significant digits where prices are small. */
export const formatPrice = (text: string, precision: number): string => formatDecimal(text, Math.min(precision, 12));

/** `$1,234.50` */
export function formatUsd(text: string, digits = 2): string {
  if (!DECIMAL.test(text)) return text;
  const shown = formatDecimal(text, digits);
  return shown.startsWith(MINUS) ? `${MINUS}$${shown.slice(1)}` : `$${shown}`;
}

/** `$1.2M`, for headers only. */
export function formatShortUsd(text: string): string {
  if (!DECIMAL.test(text)) return text;
  const shown = withMinus(formatOf({ notation: 'compact', maximumFractionDigits: 1 }).format(text as Decimal));
  return shown.startsWith(MINUS) ? `${MINUS}$${shown.slice(1)}` : `$${shown}`;
}

/** A sign always stands beside the colour: `+1.20 %`, `−0.40 %`, `0.00 %`. */
export function formatSigned(text: string, digits: number, unit = ''): string {
  const shown = formatDecimal(text, digits);
  const isZero = !/[1-9]/.test(shown);
  const sign = isZero || shown.startsWith(MINUS) ? '' : '+';
  return `${sign}${isZero ? shown.replace(MINUS, '') : shown}${unit}`;
}

/** -1, 0 or 1, without leaving the text. */
export function signOf(text: string): -1 | 0 | 1 {
  if (!/[1-9]/.test(text)) return 0;
  return text.startsWith('-') ? -1 : 1;
}

/** `direction` classes: a colour that always has a sign or a word beside it. */
export const toneOf = (text: string): 'up' | 'down' | 'flat' => (['down', 'flat', 'up'] as const)[signOf(text) + 1] ?? 'flat';

/** The value as an integer of 10^-scale: for sums, differences and shares that must be exact. */
export function scaled(text: string, scale: number): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole + fraction.padEnd(scale, '0').slice(0, scale));
  return text.startsWith('-') ? -size : size;
}

/** The reverse of `scaled`. */
export function unscaled(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

const RATIO_SCALE = 18;
const PERCENT_SCALE = 6;
/** Change from one price to another in percent, as a decimal string with six digits; null where there is no beginning. */
export function changePercent(from: string, to: string): string | null {
  const [begin, end] = [scaled(from, RATIO_SCALE), scaled(to, RATIO_SCALE)];
  if (begin === 0n) return null;
  return unscaled(((end - begin) * 100n * 10n ** BigInt(PERCENT_SCALE)) / begin, PERCENT_SCALE);
}

/** 0x1234…abcd */
export const shortAddress = (address: string): string => (address.length > 12 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address);

const SECOND = 1_000;
const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['d', 86_400 * SECOND],
  ['h', 3_600 * SECOND],
  ['min', 60 * SECOND],
  ['s', SECOND],
];

/** `12 s`, `3 min`, `2 h`. */
export function formatAge(ms: number): string {
  const [name, size] = UNITS.find(([, unit]) => Math.abs(ms) >= unit) ?? (['s', SECOND] as const);
  return `${Math.max(0, Math.floor(ms / size))} ${name}`;
}

/** `2026-01-02 03:04:05 UTC`, for titles beside a relative time. */
export const formatUtc = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `03:04:05`, UTC. */
export const formatClock = (ms: number): string => new Date(ms).toISOString().slice(11, 19);

/** `arbitrum-sepolia` → `Arbitrum Sepolia`. */
export const chainName = (slug: string): string =>
  slug
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');

/** A price moved by some percent, as a decimal string with at most so many digits. */
export const changeBy = (text: string, percent: bigint, digits: number): string =>
  unscaled((scaled(text, digits) * (100n + percent)) / 100n, digits);
