import type { z } from 'zod';
import { GatewayError, type Issue } from '../../core/errors.js';
import { isArray, isObject, writeOrderedJson, type Json, type JsonObject } from './ordered-json.js';
import { hexToBytes } from 'viem/utils';
import type { RecoverableSignature } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';

/** The fields hashed after the action. */
export interface HashExtras {
  readonly nonce: bigint;
  readonly vault: Address | null;
  readonly expiresAfter: bigint | null;
}

/** The body that a client posts. Other keys are ignored. */
export interface Envelope extends HashExtras {
  readonly action: JsonObject;
  readonly type: string;
  readonly signature: RecoverableSignature;
  /** The body without ignored keys, for the proof: what is stored is bounded by what can be signed. */
  readonly kept: JsonObject;
}

const KEPT_KEYS: ReadonlySet<string> = new Set(['action', 'nonce', 'signature', 'vaultAddress', 'expiresAfter']);
const SIGNATURE_KEYS: ReadonlySet<string> = new Set(['r', 's', 'v']);

const only = (json: JsonObject, keys: ReadonlySet<string>): JsonObject => new Map([...json].filter(([key]) => keys.has(key)));

function keptOf(body: JsonObject): JsonObject {
  const signature = body.get('signature');
  return new Map([...only(body, KEPT_KEYS), ...(isObject(signature) ? [['signature', only(signature, SIGNATURE_KEYS)] as const] : [])]);
}

const MAX_UINT64 = 2n ** 64n - 1n;
const ADDRESS = /^(?:0x)?([0-9a-fA-F]{40})$/i;

/** Throws VALIDATION_ERROR with everything that is wrong. */
export function readEnvelope(body: Json): Envelope {
  if (!isObject(body)) throw refusal([{ path: '', message: 'must be an object' }]);
  const issues: Issue[] = [];
  const complain = (path: string, message: string): null => {
    issues.push({ path, message });
    return null;
  };
  const action = body.get('action');
  const type = isObject(action) ? action.get('type') : undefined;
  const nonce = readTime(body.get('nonce')) ?? complain('nonce', 'must be an integer, in milliseconds');
  const signature =
    readWireSignature(body.get('signature')) ?? complain('signature', 'must be {r, s, v} with r and s in hex and v 27 or 28');
  const vault = readVault(body.get('vaultAddress'));
  if (vault === undefined) complain('vaultAddress', 'must be an address or null');
  const isExpiring = body.get('expiresAfter') !== undefined && body.get('expiresAfter') !== null;
  const expiresAfter = isExpiring
    ? (readTime(body.get('expiresAfter')) ?? complain('expiresAfter', 'must be an integer, in milliseconds, or null'))
    : null;
  if (!isObject(action)) complain('action', 'must be an object');
  else if (typeof type !== 'string') complain('action.type', 'must be the name of an action');
  if (!isObject(action) || typeof type !== 'string' || nonce === null || signature === null || vault === undefined || issues.length > 0)
    throw refusal(issues);
  return { action, type, nonce, signature, vault, expiresAfter, kept: keptOf(body) };
}

const refusal = (issues: Issue[]): GatewayError => new GatewayError('VALIDATION_ERROR', { issues });

const readTime = (json: Json | undefined): bigint | null => (typeof json === 'bigint' && json >= 0n && json <= MAX_UINT64 ? json : null);

/** Some clients omit the `0x`, others send an empty string. */
function readVault(json: Json | undefined): Address | null | undefined {
  if (json === undefined || json === null || json === '') return null;
  const [, digits] = typeof json === 'string' ? (ADDRESS.exec(json) ?? []) : [];
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`;
}

const NUMBER = /^(?:0x)?([0-9a-fA-F]{1,64})$/;
const PARITIES: ReadonlyMap<Json | undefined, 0 | 1> = new Map([
  [0n, 0],
  [1n, 1],
  [27n, 0],
  [28n, 1],
]);

/** `{r, s, v}` as clients send it: numbers may lack leading zeros or `0x`, and `v` its 27. Null for anything else. */
export function readWireSignature(json: Json | undefined): RecoverableSignature | null {
  if (!isObject(json)) return null;
  const [r, s] = [number(json.get('r')), number(json.get('s'))];
  const yParity = PARITIES.get(json.get('v'));
  return r === null || s === null || yParity === undefined ? null : { compact: hexToBytes(`0x${r}${s}`), yParity };
}

function number(json: Json | undefined): string | null {
  const [, digits] = typeof json === 'string' ? (NUMBER.exec(json) ?? []) : [];
  return digits === undefined ? null : digits.padStart(64, '0');
}

/** Which form of an action the signature is over: the schema's or the one sent. */
export type Form = 'canonical' | 'as-sent';

export interface Decoded<Action> {
  readonly action: Action;
  /** The forms that may have been signed, likeliest first; at most two, and both mean `action`. */
  readonly forms: readonly { readonly form: Form; readonly json: Json }[];
}

const MAX_ISSUES = 20;

/** Decodes an action with its schema. Hyperliquid and most clients hash the schema's form; others hash what they send. */
export function decodeAction<Schema extends z.ZodType>(schema: Schema, sent: JsonObject): Decoded<z.output<Schema>> {
  const decoded = schema.safeParse(plainOf(sent));
  if (!decoded.success) throw new GatewayError('VALIDATION_ERROR', { issues: decoded.error.issues.slice(0, MAX_ISSUES).map(issueOf) });
  const canonical = jsonOf(decoded.data);
  const forms = formsOf(canonical, sent);
  if (forms.length > 1) refuseUnknown(canonical, sent);
  return { action: decoded.data, forms };
}

export const asSentOnly = (sent: JsonObject): Decoded<unknown>['forms'] => [{ form: 'as-sent', json: sent }];

const issueOf = (issue: z.core.$ZodIssue): Issue => ({
  path: ['action', ...issue.path].map((part) => String(part).slice(0, 64)).join('.'),
  message: issue.message,
});

/**
 * Clients differ from the schema in one of two ways: some send keys in another order than they hash them (with the same values), some
 * send values in another spelling than they hash them (in the same order). So if the order differs, the values are left alone.
 */
export function formsOf(canonical: Json, sent: Json): Decoded<unknown>['forms'] {
  if (isSame(canonical, sent)) return [{ form: 'canonical', json: canonical }];
  const reordered = reorder(canonical, sent);
  const json = isSame(reordered, sent) ? canonical : reordered;
  return [
    { form: 'canonical', json },
    { form: 'as-sent', json: sent },
  ];
}

/** The keys in canonical order, with the values as sent. */
function reorder(canonical: Json, sent: Json | undefined): Json {
  if (isObject(canonical) && isObject(sent))
    return new Map([...canonical].map(([key, value]) => [key, sent.has(key) ? reorder(value, sent.get(key)) : value]));
  if (isArray(canonical) && isArray(sent)) return canonical.map((value, index) => reorder(value, sent[index]));
  return sent === undefined || isObject(canonical) || isArray(canonical) ? canonical : sent;
}

export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (isObject(a) && isObject(b)) {
    if (a.size !== b.size) return false;
    const others = b.entries();
    for (const [key, value] of a) {
      const [otherKey, otherValue] = others.next().value ?? [];
      if (key !== otherKey || !isSame(value, otherValue)) return false;
    }
    return true;
  }
  if (isArray(a) && isArray(b)) return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  return a === b;
}

/** For schemas: integers as numbers if they fit; others stay as they are, and every schema refuses them. */
export function plainOf(json: Json): unknown {
  if (isObject(json)) return Object.fromEntries([...json].map(([key, value]) => [key, plainOf(value)]));
  if (isArray(json)) return json.map(plainOf);
  return typeof json === 'bigint' && Number.isSafeInteger(Number(json)) ? Number(json) : json;
}

/** From a schema's output, whose keys are in the schema's order; absent options have no key. */
export function jsonOf(plain: unknown): Json {
  if (Array.isArray(plain)) return plain.map(jsonOf);
  if (typeof plain === 'object' && plain !== null)
    return new Map(Object.entries(plain).flatMap(([key, value]) => (value === undefined ? [] : [[key, jsonOf(value)] as const])));
  if (typeof plain === 'number') return BigInt(plain);
  if (typeof plain === 'string' || typeof plain === 'boolean' || plain === null) return plain;
  throw new TypeError(`${typeof plain} has no place in an action`);
}

/** Some clients hash fields that no schema has, so they are stored; this bounds what a client can make the database store. */
const MAX_UNKNOWN_BYTES = 1_024;

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
function refuseUnknown(canonical: Json, sent: Json): void {
  if (unknownBytes(canonical, sent) <= MAX_UNKNOWN_BYTES) return;
  throw new GatewayError('VALIDATION_ERROR', {
    issues: [{ path: 'action', message: `holds more than ${MAX_UNKNOWN_BYTES} bytes under keys that no action has` }],
  });
}

const bytesOf = (text: string): number => Buffer.byteLength(text);
const pairBytes = (key: string, value: Json): number => bytesOf(JSON.stringify(key)) + 1 + bytesOf(writeOrderedJson(value));

/** As compact JSON, keys included; whitespace is not stored and does not count. */
function unknownBytes(canonical: Json, sent: Json): number {
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
