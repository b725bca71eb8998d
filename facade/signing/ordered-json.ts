import { GatewayError } from '../../core/errors.js';
import { BOUNDS_TEXTS, boundsFault } from '../../http/strict-json.js';

/**
 * JSON with everything a signature can depend on: keys in the order they came, integers of any size, and numbers written in any other
 * way (`10.0`, `1e3`, `-0`) kept distinct from them.
 */
export type Json = null | boolean | string | bigint | OddNumber | readonly Json[] | JsonObject;
export type JsonObject = ReadonlyMap<string, Json>;

/** A number that is no plain integer. No valid action contains one. */
export interface OddNumber {
  readonly written: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const HALF_PAIR = /\p{Surrogate}/u;
/** Longer ones exceed every integer of the wire and are slow to parse. */
const LONGEST_INTEGER = 20;

export const isObject = (json: Json | undefined): json is JsonObject => json instanceof Map;
export const isArray = (json: Json | undefined): json is readonly Json[] => Array.isArray(json);
export const isOddNumber = (json: Json | undefined): json is OddNumber =>
  typeof json === 'object' && json !== null && !isObject(json) && !isArray(json);

/** Throws VALIDATION_ERROR for input that is not JSON, and for ambiguous input: duplicate keys, `__proto__`, broken text. */
export function readOrderedJson(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes);
  // The reader and the hashes of its result recurse, so depth is checked first.
  const fault = boundsFault(text);
  if (fault !== null) throw refusal('', BOUNDS_TEXTS[fault]);
  const reader = createReader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/** Back to text with the same keys, order and numbers. */
export function writeOrderedJson(json: Json): string {
  if (isObject(json)) return `{${[...json].map(([key, value]) => `${JSON.stringify(key)}:${writeOrderedJson(value)}`).join(',')}}`;
  if (isArray(json)) return `[${json.map(writeOrderedJson).join(',')}]`;
  if (isOddNumber(json)) return json.written;
  return typeof json === 'bigint' ? json.toString() : JSON.stringify(json);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refusal('', 'is not UTF-8');
  }
}

const refusal = (path: string, message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path, message }] });
const notJson = (): GatewayError => refusal('', 'is not JSON');

function createReader(text: string) {
  let at = 0;

  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [null];
    if (found !== null) at += found.length;
    return found;
  };
  const skipBlank = (): string | undefined => {
    take(BLANK);
    return text[at];
  };

  const string = (): string => {
    const literal = take(STRING);
    if (literal === null) throw notJson();
    const value = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
    if (value.includes('\0')) throw refusal('', 'holds a NUL character');
    if (HALF_PAIR.test(value)) throw refusal('', 'holds half of a surrogate pair');
    return value;
  };

  const scalar = (): Json => {
    const word = take(WORD);
    if (word !== null) return word === 'null' ? null : word === 'true';
    const number = take(NUMBER);
    if (number === null) throw notJson();
    return /^-?\d+$/.test(number) && number !== '-0' && number.length <= LONGEST_INTEGER ? BigInt(number) : { written: number };
  };

  const object = (): JsonObject => {
    const entries = new Map<string, Json>();
    at += 1;
    if (skipBlank() === '}') return ((at += 1), entries);
    for (;;) {
      skipBlank();
      const key = string();
      if (entries.has(key)) throw refusal(key.slice(0, 64), 'appears twice');
      if (key === '__proto__') throw refusal(key, 'is not a field');
      if (skipBlank() !== ':') throw notJson();
      at += 1;
      entries.set(key, value());
      const next = skipBlank();
      at += 1;
      if (next === '}') return entries;
      if (next !== ',') throw notJson();
    }
  };

  const array = (): readonly Json[] => {
    const items: Json[] = [];
    at += 1;
    if (skipBlank() === ']') return ((at += 1), items);
    for (;;) {
      items.push(value());
      const next = skipBlank();
      at += 1;
      if (next === ']') return items;
      if (next !== ',') throw notJson();
    }
  };

  const value = (): Json => {
    const first = skipBlank();
    if (first === '{') return object();
    if (first === '[') return array();
    return first === '"' ? string() : scalar();
  };

  return {
    value,
    end(): void {
      if (skipBlank() !== undefined) throw notJson();
    },
  };
}
