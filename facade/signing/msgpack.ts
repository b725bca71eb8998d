import { Encoder } from '@msgpack/msgpack';
import type { Json } from './ordered-json.js';

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
