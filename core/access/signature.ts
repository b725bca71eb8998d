import { hexToBytes, keccak256 } from 'viem/utils';
import type { Address } from '../types.js';
import type { ChainDefinition } from '../chains/chains.js';

/** 32 bytes. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

export interface RecoverableSignature {
  /** r and s, 32 bytes each. */
  readonly compact: Uint8Array;
  readonly yParity: 0 | 1;
}

/** The signer in lower case; null for an invalid signature. Never throws. */
export type Recover = (digest: Uint8Array, signature: RecoverableSignature) => Address | null;

export interface Crypto {
  readonly keccak: Keccak;
  readonly recover: Recover;
}

const SHAPE = /^0x[0-9a-fA-F]{130}$/;
const HALF_ORDER = hexToBytes('0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');
const PARITIES: ReadonlyMap<number | undefined, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
]);

/** Null for everything but 65 bytes with v 0, 1, 27 or 28 and s in the lower half, so that a signature is not malleable. */
export function parseSignature(text: string): RecoverableSignature | null {
  if (!SHAPE.test(text)) return null;
  const bytes = Buffer.from(text.slice(2), 'hex'); // the shape is checked above; viem's decoder takes ten times as long
  const yParity = PARITIES.get(bytes[64]);
  if (yParity === undefined || isAboveHalf(bytes.subarray(32, 64))) return null;
  return { compact: bytes.subarray(0, 64), yParity };
}

function isAboveHalf(s: Uint8Array): boolean {
  const at = s.findIndex((byte, index) => byte !== HALF_ORDER[index]);
  return at !== -1 && (s[at] ?? 0) > (HALF_ORDER[at] ?? 0);
}

/** The fields of every signed request; the operation's id is the primary type. */
export const REQUEST_FIELDS = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'bodyHash', type: 'bytes32' },
  { name: 'timestamp', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
] as const;

interface TypedField {
  readonly name: string;
  readonly type: 'address' | 'string' | 'uint256' | 'bytes32';
}

/** Messages signed by the master wallet, sent in a body; it never signs a trade. */
export const MASTER_TYPES = {
  AgentAuthorization: [
    { name: 'agent', type: 'address' },
    { name: 'name', type: 'string' },
    { name: 'markets', type: 'string' },
    { name: 'maxLeverage', type: 'string' },
    { name: 'dailySpendCapUsd', type: 'string' },
    { name: 'expiresAt', type: 'uint256' },
    { name: 'permissions', type: 'string' },
    { name: 'timestamp', type: 'uint256' },
  ],
  AgentRevocation: [
    { name: 'agent', type: 'address' },
    { name: 'timestamp', type: 'uint256' },
  ],
  ApiKeyIssue: [
    { name: 'label', type: 'string' },
    { name: 'timestamp', type: 'uint256' },
  ],
  ApiKeyRevocation: [
    { name: 'label', type: 'string' },
    { name: 'timestamp', type: 'uint256' },
  ],
} as const satisfies Record<string, readonly TypedField[]>;

export type MasterType = keyof typeof MASTER_TYPES;

/** Signed only if the body has them, after the required fields. */
export const OPTIONAL_FIELDS = { ApiKeyIssue: [{ name: 'expiresAt', type: 'uint256' }] } as const satisfies Partial<
  Record<MasterType, readonly TypedField[]>
>;

/**
 * The last field of a message signed by a contract wallet. One key may own several wallets, and each approves what the key signed, so a
 * message without the account would be valid for all of them.
 */
const TRADER_FIELD = { name: 'trader', type: 'address' } as const satisfies TypedField;

/** `key`: the trader's own key signs. `contract`: the trader is a contract wallet. */
export type MasterForm = 'key' | 'contract';

export function masterFields(primaryType: MasterType, given: readonly string[], form: MasterForm): readonly TypedField[] {
  const optional: readonly TypedField[] = primaryType === 'ApiKeyIssue' ? OPTIONAL_FIELDS.ApiKeyIssue : [];
  const own = [...MASTER_TYPES[primaryType], ...optional.filter(({ name }) => given.includes(name))];
  return form === 'contract' ? [...own, TRADER_FIELD] : own;
}

/** `bodyHash` of a request without a body. */
export const EMPTY_BODY_HASH = keccak256('0x');

interface SigningDomain {
  name: string;
  version: string;
  chainId: number;
  verifyingContract: `0x${string}`;
}

/** Binds a signature to this deployment, this chain and this Diamond. */
export const signingDomain = ({ serviceName }: { readonly serviceName: string }, { chainId, diamond }: ChainDefinition): SigningDomain => ({
  name: serviceName,
  version: '1',
  chainId,
  verifyingContract: diamond,
});

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
