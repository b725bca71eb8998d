import { keccak256 } from 'viem/utils';
import type { Hex } from './api.js';
import type { Signer, TypedData } from './agent.js';

/** The fields of every signed request; the operation's id is the primary type. */
const REQUEST_FIELDS = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'bodyHash', type: 'bytes32' },
  { name: 'timestamp', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
] as const;

export type SigningDomain = TypedData['domain'];

export interface RequestToSign {
  /** Id of the operation, or `wsAuth`. */
  readonly operation: string;
  readonly method: string;
  /** With its query, exactly as it is sent. */
  readonly path: string;
  /** The very bytes that are sent; empty without a body. */
  readonly body: Uint8Array;
  /** Epoch ms, by the gateway's clock. */
  readonly timestamp: number;
  readonly nonce: bigint;
}

export interface RequestSignature {
  readonly agent: Hex;
  readonly timestamp: string;
  readonly nonce: string;
  readonly signature: Hex;
}

const NONCE_BYTES = 16;

/** Random, so that several processes with one key never use the same. */
export function newNonce(): bigint {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return bytes.reduce((nonce, byte) => (nonce << 8n) | BigInt(byte), 0n);
}

export async function signRequest(
  agent: Pick<Signer, 'address' | 'signTypedData'>,
  domain: SigningDomain,
  { operation, method, path, body, timestamp, nonce }: RequestToSign,
): Promise<RequestSignature> {
  const signature = await agent.signTypedData({
    domain,
    types: { [operation]: REQUEST_FIELDS },
    primaryType: operation,
    message: { method, path, bodyHash: keccak256(body), timestamp: BigInt(timestamp), nonce },
  });
  return { agent: agent.address, timestamp: String(timestamp), nonce: String(nonce), signature };
}

/** The headers of a signed request; an operator may have chosen another prefix. */
export const signatureHeaders = (
  { agent, timestamp, nonce, signature }: RequestSignature,
  prefix = 'X-Service-',
): Readonly<Record<string, string>> => ({
  [`${prefix}Agent`]: agent,
  [`${prefix}Timestamp`]: timestamp,
  [`${prefix}Nonce`]: nonce,
  [`${prefix}Signature`]: signature,
});
