import { encode } from '@msgpack/msgpack';
import { concatBytes, hexToNumber, keccak256, numberToBytes, numberToHex, slice } from 'viem/utils';
import type { Hex } from '@diamond-gateway/client/api';
import { agentFromKey, type TypedData } from '@diamond-gateway/client/agent';

/** What Hyperliquid clients send: an action, hashed as MessagePack in the order of its keys, signed as a "phantom agent". */

export type Packable = string | number | boolean | readonly Packable[] | { readonly [key: string]: Packable };

/** Actions have whole numbers from 0 only: prices and sizes are texts. */
export const pack = (action: Packable): Uint8Array => encode(action);

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
const NO_VAULT = Uint8Array.of(0);

/** `isTestnet` is the word under which a client signs; nothing else depends on it. */
export const connectionId = (action: Packable, nonce: number): Hex =>
  keccak256(concatBytes([pack(action), numberToBytes(nonce, { size: 8 }), NO_VAULT]));

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
    signatureChainId: numberToHex(chainId),
    hyperliquidChain: isTestnet ? 'Testnet' : 'Mainnet',
    agentAddress: agent.toLowerCase(),
    agentName: name,
    nonce,
  },
  nonce,
  signature: wireSignature(signature),
});
