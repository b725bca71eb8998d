import { divideInteger } from '../../domain/decimal.js';

/** Parsers for untrusted JSON: the value, or null when it is not of the named kind. */

export type WireObject = Readonly<Record<string, unknown>>;

/** Indices are uint16 on chain, so a longer list is invalid. */
export const MAX_PAIRS = 65_536;

const INTEGER = /^-?\d{1,78}$/;

export const isObject = (value: unknown): value is WireObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export const field = (value: unknown, key: string): unknown => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);

/** Arrays of one snapshot differ in length: a slot beyond the end is absent. */
export const slot = (value: unknown, index: number): unknown => (Array.isArray(value) ? (value[index] as unknown) : undefined);

/** Integers come as decimal strings or as numbers; a number beyond 2^53 has already lost digits and is rejected. */
export function integer(value: unknown): bigint | null {
  if (typeof value === 'string') return INTEGER.test(value) ? BigInt(value) : null;
  return Number.isSafeInteger(value) ? BigInt(value as number) : null;
}

export function natural(value: unknown): bigint | null {
  const read = integer(value);
  return read !== null && read >= 0n ? read : null;
}

/** An index in one of the contract's lists. */
export function position(value: unknown): number | null {
  const read = natural(value);
  return read !== null && read < BigInt(MAX_PAIRS) ? Number(read) : null;
}

export const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);

const SYMBOL = /^[A-Za-z0-9._&-]{1,32}$/;

export const symbol = (value: unknown): string | null => (typeof value === 'string' && SYMBOL.test(value) ? value : null);

/** Epoch ms from an ISO text, or from a number of seconds or ms: upstream documents neither unit. */
export function epochMs(value: unknown): number | null {
  const read = typeof value === 'string' ? Date.parse(value) : value;
  if (typeof read !== 'number' || !Number.isFinite(read) || read <= 0) return null;
  return Math.trunc(read < 1e11 ? read * 1000 : read);
}

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

type Reader = (value: unknown) => bigint | boolean | null;
type Shape = Readonly<Record<string, Reader>>;
type Read<S extends Shape> = { readonly [Key in keyof S]: Exclude<ReturnType<S[Key]>, null> };

/** Null when the value is malformed; all zero when it is absent, like an unset slot of the contract. */
export type StructReader<Value> = (value: unknown) => Value | null;

/** Parses a flat struct: every field must be well-formed. */
export function struct<S extends Shape>(shape: S): StructReader<Read<S>> {
  const entries = Object.entries(shape);
  const unset = Object.fromEntries(entries.map(([key, read]) => [key, read === flag ? false : 0n])) as Read<S>;
  return (value) => {
    if (value === undefined || value === null) return unset;
    if (!isObject(value)) return null;
    const result: Record<string, bigint | boolean> = {};
    for (const [key, read] of entries) {
      const one = read(field(value, key));
      if (one === null) return null;
      result[key] = one;
    }
    return result as Read<S>;
  };
}

export const naturals = <Key extends string>(...keys: readonly Key[]): StructReader<Readonly<Record<Key, bigint>>> =>
  struct(Object.fromEntries(keys.map((key) => [key, natural])) as Record<Key, typeof natural>);

/** Counts malformed parts of a snapshot; only the first few places are kept, to bound memory and log. */
export interface Problems {
  readonly count: number;
  readonly places: readonly string[];
  note(place: string): void;
}

const KEPT = 5;

export function createProblems(): Problems {
  const places: string[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    places,
    note(place) {
      count += 1;
      if (places.length < KEPT) places.push(place);
    },
  };
}

/** The snapshot as a whole is malformed; it is rejected and the previous one stays. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}
