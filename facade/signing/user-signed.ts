import { wordOf, actionHash, join } from './l1-signature.js';
import type { HashExtras } from './read-body.js';
import { bytesToHex, hexToBytes } from 'viem/utils';
import type { Keccak } from '../../core/access/signature.js';
import { GatewayError, type Issue } from '../../core/errors.js';
import type { Json, JsonObject } from './ordered-json.js';

const FIELD_TYPES = ['string', 'address', 'bool', 'uint32', 'uint64', 'bytes', 'bytes32'] as const;
type FieldType = (typeof FIELD_TYPES)[number];

export interface UserSignedField {
  readonly name: string;
  readonly type: FieldType;
}

/** An EIP-712 type that a wallet displays and signs: the name of the transaction and its fields in order. */
export interface UserSignedType {
  readonly name: string;
  readonly fields: readonly UserSignedField[];
}

/** `userSigned('UsdSend', 'string hyperliquidChain', …)`. */
export const userSigned = (name: string, ...fields: readonly `${FieldType} ${string}`[]): UserSignedType => ({
  name,
  fields: fields.map((field) => {
    const [type = 'string', key = ''] = field.split(' ');
    return { name: key, type: FIELD_TYPES.find((known) => known === type) ?? 'string' };
  }),
});

export interface UserSigned {
  /** The chain id in the signature's domain; clients use whatever chain the wallet is on. */
  readonly signatureChainId: bigint;
  /** Texts, numbers and flags by field name; addresses in lower case. */
  readonly values: ReadonlyMap<string, string | bigint | boolean>;
}

const MAX_UINT64 = 2n ** 64n - 1n;
const SIGNATURE_CHAIN = /^0x[0-9a-f]{1,16}$/i;

/** Fields that clients omit, or send as null, if the text is empty; the empty text is signed then. */
const MAY_BE_ABSENT = new Set(['agentName']);

/** Throws VALIDATION_ERROR for fields that are missing or of another type; unsigned fields are ignored. */
export function readUserSigned({ fields }: UserSignedType, action: JsonObject): UserSigned {
  const issues: Issue[] = [];
  const values = new Map<string, string | bigint | boolean>();
  for (const { name, type } of fields) {
    const value = READERS[type](action.get(name) ?? (MAY_BE_ABSENT.has(name) ? '' : undefined));
    if (value === null) issues.push({ path: `action.${name}`, message: `must be a ${type}` });
    else values.set(name, value);
  }
  const network = action.get('hyperliquidChain');
  if (network !== 'Mainnet' && network !== 'Testnet')
    issues.push({ path: 'action.hyperliquidChain', message: 'must be Mainnet or Testnet' });
  const chain = action.get('signatureChainId');
  const isChain = typeof chain === 'string' && SIGNATURE_CHAIN.test(chain);
  if (!isChain) issues.push({ path: 'action.signatureChainId', message: 'must be a chain id in hex' });
  if (issues.length > 0 || !isChain) throw new GatewayError('VALIDATION_ERROR', { issues });
  return { signatureChainId: BigInt(chain), values };
}

type Read = (json: Json | undefined) => string | bigint | boolean | null;

const text =
  (pattern: RegExp, isLower: boolean): Read =>
  (json) =>
    typeof json !== 'string' || !pattern.test(json) ? null : isLower ? json.toLowerCase() : json;
const unsigned =
  (most: bigint): Read =>
  (json) =>
    typeof json === 'bigint' && json >= 0n && json <= most ? json : null;

/** An address in a `string` field is signed with its letter case; in an `address` field the case has no meaning. */
const READERS: Readonly<Record<FieldType, Read>> = {
  string: text(/^/, false),
  address: text(/^0x[0-9a-f]{40}$/i, true),
  bool: (json) => (typeof json === 'boolean' ? json : null),
  uint32: unsigned(2n ** 32n - 1n),
  uint64: unsigned(MAX_UINT64),
  bytes: text(/^0x(?:[0-9a-f]{2})*$/i, true),
  bytes32: text(/^0x[0-9a-f]{64}$/i, true),
};

const encoder = new TextEncoder();

/** The digest of a user-signed action, in the domain that the action names. */
export function userSignedDigest(keccak: Keccak, { name, fields }: UserSignedType, { signatureChainId, values }: UserSigned): Uint8Array {
  const hashText = (value: string): Uint8Array => keccak(encoder.encode(value));
  const encode = ({ name: key, type }: UserSignedField): Uint8Array => {
    const value = values.get(key) ?? '';
    if (type === 'string') return hashText(String(value));
    if (type === 'bytes') return keccak(hexToBytes(`0x${String(value).slice(2)}`));
    if (type === 'bool') return wordOf(value === true ? 1n : 0n);
    return wordOf(BigInt(value));
  };
  const signature = `HyperliquidTransaction:${name}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})`;
  const struct = keccak(join([hashText(signature), ...fields.map(encode)]));
  const domain = keccak(
    join([
      hashText('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
      hashText('HyperliquidSignTransaction'),
      hashText('1'),
      wordOf(signatureChainId),
      wordOf(0n),
    ]),
  );
  return keccak(join([Uint8Array.of(0x19, 0x01), domain, struct]));
}

const SEND_MULTI_SIG = userSigned('SendMultiSig', 'string hyperliquidChain', 'bytes32 multiSigActionHash', 'uint64 nonce');
/** Clients sign these envelopes for this chain, whatever wallet they use. */
const DEFAULT_CHAIN = 0x66een;

/** The digests that the sender of a multi-sig action signs: the hash of the wrapper without its type, on either network. */
export function multiSigDigests(keccak: Keccak, action: JsonObject, extras: HashExtras): Uint8Array[] {
  const wrapper = new Map([...action].filter(([key]) => key !== 'type'));
  const multiSigActionHash = bytesToHex(actionHash(keccak, wrapper, extras));
  const chain = action.get('signatureChainId');
  const signatureChainId = typeof chain === 'string' && /^0x[0-9a-f]{1,16}$/i.test(chain) ? BigInt(chain) : DEFAULT_CHAIN;
  return ['Mainnet', 'Testnet'].map((hyperliquidChain) =>
    userSignedDigest(keccak, SEND_MULTI_SIG, {
      signatureChainId,
      values: new Map<string, string | bigint>([
        ['hyperliquidChain', hyperliquidChain],
        ['multiSigActionHash', multiSigActionHash],
        ['nonce', extras.nonce],
      ]),
    }),
  );
}
