import { bytesToHex } from 'viem/utils';
import type { Address } from '../types.js';
import type { RecoverableSignature } from './signature.js';

/** What a trader signed to approve an agent of the facade. */
export interface SignedApproval {
  readonly signatureChainId: bigint;
  readonly network: 'Mainnet' | 'Testnet';
  readonly agent: Address;
  /** As signed, with its ` valid_until` if it has one. */
  readonly name: string;
  readonly nonce: bigint;
  readonly signature: RecoverableSignature;
}

/** The stored form of an approval: only the signed fields, so that its size does not depend on the request body. */
export function approvalProof({ signatureChainId, network, agent, name, nonce, signature }: SignedApproval): string {
  const { compact, yParity } = signature;
  const action = [
    `"type":"approveAgent","signatureChainId":"0x${signatureChainId.toString(16)}","hyperliquidChain":"${network}"`,
    `"agentAddress":"${agent}","agentName":${JSON.stringify(name)},"nonce":${nonce}`,
  ].join(',');
  const [r, s] = [bytesToHex(compact.subarray(0, 32)), bytesToHex(compact.subarray(32))];
  return `{"action":{${action}},"nonce":${nonce},"signature":{"r":"${r}","s":"${s}","v":${27 + yParity}}}`;
}
