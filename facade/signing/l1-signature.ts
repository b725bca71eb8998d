import { hexToBytes } from 'viem/utils';
import type { Keccak, Crypto, RecoverableSignature } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import { Encoder } from '@msgpack/msgpack';
import type { Json } from './ordered-json.js';
import type { Decoded, Form, HashExtras } from './read-body.js';

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

/** A 32-byte word of EIP-712. */
export function wordOf(value: bigint): Uint8Array {
  return hexToBytes(`0x${value.toString(16).padStart(64, '0')}`);
}

/** The network the client signs for; nothing else of a signature depends on it. */
export const NETWORK_WORDS = ['a', 'b'] as const;
export type NetworkWord = (typeof NETWORK_WORDS)[number];

export interface PhantomDomain {
  readonly name: string;
  readonly chainId: bigint;
}

export const L1_DOMAIN: PhantomDomain = { name: 'Exchange', chainId: 1337n };

const utf8 = new TextEncoder();

/** What an agent signs: a "phantom agent" message that contains the hash of the action. */
export type PhantomDigest = (connectionId: Uint8Array, source: string) => Uint8Array;

/** Encoded by hand with all constants hashed once: it runs up to four times per action. */
export function createPhantomDigest(keccak: Keccak, { name, chainId }: PhantomDomain = L1_DOMAIN): PhantomDigest {
  const text = (value: string): Uint8Array => keccak(utf8.encode(value));
  const domain = keccak(
    join([
      text('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
      text(name),
      text('1'),
      wordOf(chainId),
      wordOf(0n),
    ]),
  );
  const type = text('Agent(string source,bytes32 connectionId)');
  return (connectionId, source) => keccak(join([Uint8Array.of(0x19, 0x01), domain, keccak(join([type, text(source), connectionId]))]));
}

/** A possible signer: the form and the network under which the signature is theirs. */
export interface SignerCandidate {
  readonly signer: Address;
  readonly form: Form;
  readonly network: NetworkWord;
  readonly actionHash: Uint8Array;
}

export type RecoverSigners = (forms: Decoded<unknown>['forms'], extras: HashExtras, signature: RecoverableSignature) => SignerCandidate[];

/** Recovers all possible signers of an L1 signature, likeliest first: two forms on two networks, so at most four recoveries. */
export function createRecoverSigners({ keccak, recover }: Crypto): RecoverSigners {
  const digest: PhantomDigest = createPhantomDigest(keccak);
  return (forms, extras, signature) => {
    const candidates = forms.flatMap(({ form, json }) => {
      const hash = actionHash(keccak, json, extras);
      return NETWORK_WORDS.map((network) => ({ signer: recover(digest(hash, network), signature), form, network, actionHash: hash }));
    });
    return candidates.filter((candidate): candidate is SignerCandidate => candidate.signer !== null);
  };
}
