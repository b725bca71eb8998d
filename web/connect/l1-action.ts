import { concatBytes, hexToNumber, keccak256, slice } from 'viem/utils';
import type { Hex } from '@diamond-gateway/client/api';
import { agentFromKey, type TypedData } from '@diamond-gateway/client/agent';
import { hexOf } from './session.js';

/** What Hyperliquid clients send: an action, hashed as MessagePack in the order of its keys, signed as a "phantom agent". */

export type Packable = string | number | boolean | readonly Packable[] | { readonly [key: string]: Packable };

const text = new TextEncoder();
const byte = (...bytes: number[]): Uint8Array => Uint8Array.of(...bytes);

function numberBytes(value: number, size: 1 | 2 | 4 | 8): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(value));
  return new Uint8Array(view.buffer.slice(8 - size));
}

/** A head with the length in it, as short as MessagePack allows. */
function head(
  length: number,
  short: { readonly mask: number; readonly most: number },
  long: readonly (readonly [number, 1 | 2 | 4])[],
): Uint8Array {
  if (length <= short.most) return byte(short.mask | length);
  const [mark, size] = long.find(([, bytes]) => length < 2 ** (8 * bytes)) ?? [0, 4];
  return concatBytes([byte(mark), numberBytes(length, size)]);
}

export function pack(value: Packable): Uint8Array {
  if (typeof value === 'string') {
    const bytes = text.encode(value);
    return concatBytes([
      head(bytes.length, { mask: 0xa0, most: 31 }, [
        [0xd9, 1],
        [0xda, 2],
        [0xdb, 4],
      ]),
      bytes,
    ]);
  }
  if (typeof value === 'boolean') return byte(value ? 0xc3 : 0xc2);
  if (typeof value === 'number') return packNumber(value);
  if (isList(value))
    return concatBytes([
      head(value.length, { mask: 0x90, most: 15 }, [
        [0xdc, 2],
        [0xdd, 4],
      ]),
      ...value.map(pack),
    ]);
  const entries = Object.entries(value);
  return concatBytes([
    head(entries.length, { mask: 0x80, most: 15 }, [
      [0xde, 2],
      [0xdf, 4],
    ]),
    ...entries.flatMap(([key, item]) => [pack(key), pack(item)]),
  ]);
}

const isList = (value: Packable): value is readonly Packable[] => Array.isArray(value);

/** Actions have whole numbers from 0 only: prices and sizes are texts. */
function packNumber(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`An action has no number like ${value}.`);
  const [mark, size] = (
    [
      [0xcc, 1],
      [0xcd, 2],
      [0xce, 4],
      [0xcf, 8],
    ] as const
  ).find(([, bytes]) => value < 2 ** (8 * bytes)) ?? [0xcf, 8];
  return value < 128 ? byte(value) : concatBytes([byte(mark), numberBytes(value, size)]);
}

export interface WireSignature {
  readonly r: Hex;
  readonly s: Hex;
  readonly v: number;
}

export const wireSignature = (signature: Hex): WireSignature => ({
  r: slice(signature, 0, 32),
  s: slice(signature, 32, 64),
  v: hexToNumber(slice(signature, 64, 65)),
});

const NO_CONTRACT = '0x0000000000000000000000000000000000000000';
const NO_VAULT = byte(0);

/** `isTestnet` is the word under which a client signs; nothing else depends on it. */
export const connectionId = (action: Packable, nonce: number): Hex =>
  keccak256(concatBytes([pack(action), numberBytes(nonce, 8), NO_VAULT]));

/** The body of `POST /exchange`. The key signs here, and is not part of it. */
export async function signedAction(agentKey: Hex, action: Packable, nonce: number, isTestnet: boolean): Promise<object> {
  const data: TypedData = {
    domain: { name: 'Exchange', version: '1', chainId: 1337, verifyingContract: NO_CONTRACT },
    types: {
      Agent: [
        { name: 'source', type: 'string' },
        { name: 'connectionId', type: 'bytes32' },
      ],
    },
    primaryType: 'Agent',
    message: { source: isTestnet ? 'b' : 'a', connectionId: connectionId(action, nonce) },
  };
  return { action, nonce, signature: wireSignature(await agentFromKey(agentKey).signTypedData(data)) };
}

export interface Approval {
  readonly agent: Hex;
  readonly name: string;
  readonly nonce: number;
  readonly chainId: number;
  readonly isTestnet: boolean;
}

/** What the master wallet signs, field by field, to approve an agent of the Hyperliquid API. */
export const approvalTypedData = ({ agent, name, nonce, chainId, isTestnet }: Approval): TypedData => ({
  domain: { name: 'HyperliquidSignTransaction', version: '1', chainId, verifyingContract: NO_CONTRACT },
  types: {
    'HyperliquidTransaction:ApproveAgent': [
      { name: 'hyperliquidChain', type: 'string' },
      { name: 'agentAddress', type: 'address' },
      { name: 'agentName', type: 'string' },
      { name: 'nonce', type: 'uint64' },
    ],
  },
  primaryType: 'HyperliquidTransaction:ApproveAgent',
  message: { hyperliquidChain: isTestnet ? 'Testnet' : 'Mainnet', agentAddress: agent.toLowerCase(), agentName: name, nonce },
});

export const approvalBody = ({ agent, name, nonce, chainId, isTestnet }: Approval, signature: Hex): object => ({
  action: {
    type: 'approveAgent',
    signatureChainId: hexOf(chainId),
    hyperliquidChain: isTestnet ? 'Testnet' : 'Mainnet',
    agentAddress: agent.toLowerCase(),
    agentName: name,
    nonce,
  },
  nonce,
  signature: wireSignature(signature),
});
