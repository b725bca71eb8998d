import { GatewayError } from '../../core/errors.js';
import { isArray, isObject, writeOrderedJson, type Json, type JsonObject } from './ordered-json.js';

/** Some clients hash fields that no schema has, so they are stored; this bounds what a client can make the database store. */
export const MAX_UNKNOWN_BYTES = 1_024;

/** Other spellings of a key, and the schema's key for each. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['asset', 'a'],
  ['isBuy', 'b'],
  ['limitPx', 'p'],
  ['sz', 's'],
  ['reduceOnly', 'r'],
  ['orderType', 't'],
  ['cloid', 'c'],
  ['oid', 'o'],
  ['a', 'asset'],
]);

/** Options that clients send as null if not given. */
const OPTIONS: ReadonlySet<string> = new Set(['a', 'builder', 'c', 'cloid', 'f', 'limit', 'time', 'trigger']);

/** Refuses an action with more unknown content than is stored. `canonical` is the schema's form of `sent`. */
export function refuseUnknown(canonical: Json, sent: Json): void {
  if (unknownBytes(canonical, sent) <= MAX_UNKNOWN_BYTES) return;
  throw new GatewayError('VALIDATION_ERROR', {
    issues: [{ path: 'action', message: `holds more than ${MAX_UNKNOWN_BYTES} bytes under keys that no action has` }],
  });
}

const bytesOf = (text: string): number => Buffer.byteLength(text);
const pairBytes = (key: string, value: Json): number => bytesOf(JSON.stringify(key)) + 1 + bytesOf(writeOrderedJson(value));

/** As compact JSON, keys included; whitespace is not stored and does not count. */
export function unknownBytes(canonical: Json, sent: Json): number {
  if (isObject(sent)) return isObject(canonical) ? unknownPairs(canonical, sent) : bytesOf(writeOrderedJson(sent));
  if (!isArray(sent)) return 0;
  if (!isArray(canonical)) return bytesOf(writeOrderedJson(sent));
  return sent.reduce<number>((sum, item, index) => sum + unknownBytes(canonical[index] ?? null, item), 0);
}

function unknownPairs(canonical: JsonObject, sent: JsonObject): number {
  let sum = 0;
  for (const [key, value] of sent) {
    const known = canonical.get(key) ?? aliasedBy(key, canonical, sent);
    if (known !== undefined) sum += unknownBytes(known, value);
    else if (value !== null || !OPTIONS.has(key)) sum += pairBytes(key, value);
  }
  return sum;
}

/** An alias stands for a schema key only if that key is not given as well. */
function aliasedBy(key: string, canonical: JsonObject, sent: JsonObject): Json | undefined {
  const alias = ALIASES.get(key);
  return alias === undefined || sent.has(alias) ? undefined : canonical.get(alias);
}
