import { Wallet, keccak256 } from 'ethers';
import { REQUEST_FIELDS, signingDomain } from '../../../core/access/signature.js';
import type { IncomingRequest } from '../../../core/access/authenticate.js';
import type { ChainDefinition } from '../../../core/chains/chains.js';

export interface RequestToSign {
  readonly operationId: string;
  readonly method: string;
  /** With its query, as it is sent. */
  readonly path: string;
  readonly body?: Uint8Array;
  readonly timestamp?: number | string;
  readonly nonce?: bigint | string;
}

let nonces = BigInt(Date.now()) * 1_000_000n;

/** The headers an integrator would send, signed by ethers: an implementation that shares nothing with ours. */
export async function signRequest(
  wallet: Wallet,
  chain: ChainDefinition,
  { operationId, method, path, body = new Uint8Array(), timestamp = Date.now(), nonce = (nonces += 1n) }: RequestToSign,
  { serviceName = 'Diamond Gateway', prefix = 'X-Service-' } = {},
): Promise<Record<string, string>> {
  const signature = await wallet.signTypedData(
    signingDomain({ serviceName }, chain),
    { [operationId]: [...REQUEST_FIELDS] },
    { method, path, bodyHash: keccak256(body), timestamp, nonce },
  );
  return {
    [`${prefix}Agent`]: wallet.address,
    [`${prefix}Timestamp`]: String(timestamp),
    [`${prefix}Nonce`]: String(nonce),
    [`${prefix}Signature`]: signature,
  };
}

/** Headers as Node hands them over. */
export const headerReader = (headers: Readonly<Record<string, string>>): IncomingRequest['header'] => {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => lower.get(name);
};
