import { keccak256 } from 'viem/utils';
import type { ChainDefinition } from '../chains/chains.js';

/** The fields of every signed request; the operation's id is the primary type. */
export const REQUEST_FIELDS = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'bodyHash', type: 'bytes32' },
  { name: 'timestamp', type: 'uint256' },
  { name: 'nonce', type: 'uint256' },
] as const;

export interface TypedField {
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
export const TRADER_FIELD = { name: 'trader', type: 'address' } as const satisfies TypedField;

/** `key`: the trader's own key signs. `contract`: the trader is a contract wallet. */
export type MasterForm = 'key' | 'contract';

export function masterFields(primaryType: MasterType, given: readonly string[], form: MasterForm): readonly TypedField[] {
  const optional: readonly TypedField[] = primaryType === 'ApiKeyIssue' ? OPTIONAL_FIELDS.ApiKeyIssue : [];
  const own = [...MASTER_TYPES[primaryType], ...optional.filter(({ name }) => given.includes(name))];
  return form === 'contract' ? [...own, TRADER_FIELD] : own;
}

/** `bodyHash` of a request without a body. */
export const EMPTY_BODY_HASH = keccak256('0x');

export interface SigningDomain {
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
