import type { ChainDefinition } from '../chains/chains.js';
import type { Keccak } from './signature.js';
import { REQUEST_FIELDS, signingDomain } from './typed-data.js';

/** Body and path exactly as received; the operation's id is the primary type. */
export interface SignedRequest {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly timestamp: number;
  /** Decimal digits, 0 to 2^256-1. */
  readonly nonce: string;
}

export type RequestDigest = (chain: ChainDefinition, request: SignedRequest) => Uint8Array;

const WORD = 32;
const FIELDS = REQUEST_FIELDS.map(({ name, type }) => `${type} ${name}`).join(',');
const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const encoder = new TextEncoder();

/**
 * The EIP-712 digest of a signed request, encoded by hand with a type hash cached per operation and a domain separator cached per chain. A
 * general encoder would take longer than the signature recovery.
 */
export function createRequestDigest(keccak: Keccak, serviceName: string): RequestDigest {
  const textHash = (text: string): Uint8Array => keccak(encoder.encode(text));
  const typeHash = memoize((operationId: string) => textHash(`${operationId}(${FIELDS})`));
  const methodHash = memoize(textHash);
  const domainSeparator = memoize((chain: ChainDefinition) => separator(keccak, serviceName, chain));
  const struct = new Uint8Array(6 * WORD);
  const envelope = new Uint8Array(2 + 2 * WORD);
  envelope.set([0x19, 0x01]);

  return (chain, { operationId, method, path, body, timestamp, nonce }) => {
    struct.set(typeHash(operationId), 0);
    struct.set(methodHash(method), WORD);
    struct.set(textHash(path), 2 * WORD);
    struct.set(keccak(body), 3 * WORD);
    writeInteger(struct, 4 * WORD, BigInt(timestamp));
    writeInteger(struct, 5 * WORD, BigInt(nonce));
    envelope.set(domainSeparator(chain), 2);
    envelope.set(keccak(struct), 2 + WORD);
    return keccak(envelope);
  };
}

/** Unbounded, so only for keys from our own tables, not from clients. */
function memoize<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = make(key);
    known.set(key, made);
    return made;
  };
}

function separator(keccak: Keccak, serviceName: string, chain: ChainDefinition): Uint8Array {
  const { name, version, chainId, verifyingContract } = signingDomain({ serviceName }, chain);
  const words = new Uint8Array(5 * WORD);
  [DOMAIN_TYPE, name, version].forEach((text, index) => words.set(keccak(encoder.encode(text)), index * WORD));
  writeInteger(words, 3 * WORD, BigInt(chainId));
  writeInteger(words, 4 * WORD, BigInt(verifyingContract));
  return keccak(words);
}

function writeInteger(target: Uint8Array, offset: number, value: bigint): void {
  const view = new DataView(target.buffer, target.byteOffset + offset, WORD);
  for (let limb = 0; limb < 4; limb += 1) view.setBigUint64(limb * 8, BigInt.asUintN(64, value >> BigInt(192 - 64 * limb)));
}
