import type { Hex } from './api.js';
import type { TypedData } from './agent.js';
import { requireTypedData } from './master.js';

/** What the master wallet signs on the other API, `/hl/{chain}`: that an agent may trade through the relayer. It cannot move funds. */

const PRIMARY_TYPE = 'HyperliquidTransaction:ApproveAgent';
const NO_CONTRACT: Hex = '0x0000000000000000000000000000000000000000';

export interface AgentApproval {
  /** Of the chain that the wallet is on; every chain is accepted, and part of what is signed. */
  readonly signatureChainId: number;
  /** `Testnet` where `testnet` of the chain is true. */
  readonly network: 'Mainnet' | 'Testnet';
  readonly agent: Hex;
  /** With the gateway's `agentNameTag` at its end, where there is one. */
  readonly name: string;
  /** Epoch ms. */
  readonly nonce: number;
}

export const approvalTypedData = ({ signatureChainId, network, agent, name, nonce }: AgentApproval): TypedData => ({
  domain: { name: 'HyperliquidSignTransaction', version: '1', chainId: signatureChainId, verifyingContract: NO_CONTRACT },
  types: {
    [PRIMARY_TYPE]: [
      { name: 'hyperliquidChain', type: 'string' },
      { name: 'agentAddress', type: 'address' },
      { name: 'agentName', type: 'string' },
      { name: 'nonce', type: 'uint64' },
    ],
  },
  primaryType: PRIMARY_TYPE,
  message: { hyperliquidChain: network, agentAddress: agent, agentName: name, nonce: String(nonce) },
});

/** Refuses typed data from elsewhere that is not exactly this approval. */
export const verifyApproval = (given: TypedData, approval: AgentApproval): void => requireTypedData(approvalTypedData(approval), given);

/** The body for `POST /hl/{chain}/exchange`, once the wallet has signed. */
export function approvalBody({ signatureChainId, network, agent, name, nonce }: AgentApproval, signature: Hex): object {
  return {
    action: {
      type: 'approveAgent',
      hyperliquidChain: network,
      signatureChainId: `0x${signatureChainId.toString(16)}`,
      agentAddress: agent.toLowerCase(),
      agentName: name,
      nonce,
    },
    nonce,
    signature: { r: signature.slice(0, 66), s: `0x${signature.slice(66, 130)}`, v: Number(`0x${signature.slice(130)}`) },
  };
}
