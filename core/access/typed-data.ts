import { keccak256 } from 'viem/utils';
import type { ChainDefinition } from '../chains.js';
import type { Gateway } from '../gateway.js';

/** The fields of every signed request; the operation's id is the primary type. */
export const REQUEST_FIELDS = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'bodyHash', type: 'bytes32' },
  { name: 'timestamp', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
] as const;

/** What the master wallet signs, always in a body; it never signs a trade. */
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
} as const;

export type MasterType = keyof typeof MASTER_TYPES;

/** A request without a body signs the hash of no bytes at all. */
export const EMPTY_BODY_HASH = keccak256('0x');

export interface SigningDomain {
  name: string;
  version: string;
  chainId: number;
  verifyingContract: `0x${string}`;
}

/** Binds a signature to this deployment, this chain and this Diamond. */
export const signingDomain = ({ serviceName }: Pick<Gateway, 'serviceName'>, { chainId, diamond }: ChainDefinition): SigningDomain => ({
  name: serviceName,
  version: '1',
  chainId,
  verifyingContract: diamond,
});
