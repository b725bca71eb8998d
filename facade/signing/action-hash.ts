import { hexToBytes } from 'viem/utils';
import type { Keccak } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import { Encoder } from '@msgpack/msgpack';
import type { Json } from './ordered-json.js';

/** The fields hashed after the action. */
export interface HashExtras {
  readonly nonce: bigint;
  readonly vault: Address | null;
  readonly expiresAfter: bigint | null;
}

/** The connection id of an L1 action. The flag before the expiry is 0x00, unlike the one before a vault. */
export const actionHash = (keccak: Keccak, action: Packable, extras: HashExtras): Uint8Array => keccak(hashedBytes(action, extras));

export function hashedBytes(action: Packable, { nonce, vault, expiresAfter }: HashExtras): Uint8Array {
  const parts = [packMessage(action), uint64(nonce), vaultBytes(vault)];
  if (expiresAfter !== null) parts.push(Uint8Array.of(0), uint64(expiresAfter));
  return join(parts);
}

export const vaultBytes = (vault: Address | null): Uint8Array =>
  vault === null ? Uint8Array.of(0) : join([Uint8Array.of(1), hexToBytes(vault)]);

export function uint64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value);
  return bytes;
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** The range of MessagePack integers: signed 64 bits below zero, unsigned above. */
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;
/** The encoder writes a number of this range in its shortest form, and a bigint always in 64 bits. */
const MIN_NUMBER = -(2n ** 31n);
const MAX_NUMBER = 2n ** 32n - 1n;
/** The encoder's own limit. The reader of bodies allows a third of it. */
const MAX_DEPTH = 100;
/** A plain object moves such a key before all others, whatever the order in which it was signed. */
const INTEGER_KEY = /^(?:0|[1-9]\d*)$/;

/** The value cannot be packed as clients pack it: no action contains it. */
export class UnpackableError extends Error {
  override readonly name = 'UnpackableError';
}

/** Integers are bigints. A number stands for a client that packs one instead of a text; no valid action contains it. */
export type Packable = Json | number | Uint8Array | readonly Packable[] | ReadonlyMap<string, Packable>;

/** One encoder keeps its buffer: with a new one for every message, a short action takes twice as long (`npm run bench:hash`). */
const encoder = new Encoder({ useBigInt64: true, maxDepth: MAX_DEPTH });

/** MessagePack as Hyperliquid's clients write it: maps in the order of their keys, every integer in its shortest form. */
export const packMessage = (message: Packable): Uint8Array => encoder.encode(encodable(message, 1));

/** The message in the types of the encoder, which knows no Map. */
function encodable(message: Packable, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new UnpackableError(`more than ${MAX_DEPTH} levels`);
  if (typeof message === 'bigint') return encodableInteger(message);
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array) return message;
  if (isList(message)) return message.map((item) => encodable(item, depth + 1));
  if (!isMap(message)) throw new UnpackableError('a number that is no integer');
  const object = Object.create(null) as Record<string, unknown>; // in which __proto__ is a key like any other
  for (const [key, value] of message) {
    if (INTEGER_KEY.test(key)) throw new UnpackableError(`a key that is an integer, "${key.slice(0, 64)}"`);
    object[key] = encodable(value, depth + 1);
  }
  return object;
}

const isMap = (message: object): message is ReadonlyMap<string, Packable> => message instanceof Map;
const isList = (message: object): message is readonly Packable[] => Array.isArray(message);

function encodableInteger(value: bigint): bigint | number {
  if (value >= MIN_NUMBER && value <= MAX_NUMBER) return Number(value);
  if (value < MIN_INTEGER || value > MAX_INTEGER) throw new UnpackableError('an integer of more than 64 bits');
  return value;
}
