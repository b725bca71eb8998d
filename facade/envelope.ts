import { hexToBytes } from 'viem/utils';
import type { RecoverableSignature } from '../core/access/signature.js';
import { GatewayError, type Issue } from '../core/errors.js';
import type { Address } from '../core/types.js';
import type { HashExtras } from './signing/action-hash.js';
import { isObject, type Json, type JsonObject } from './signing/ordered-json.js';

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
