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
