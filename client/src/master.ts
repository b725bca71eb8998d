import { decodeFunctionData, encodeFunctionData } from 'viem/utils';
import type { ApiKeyRequest, CreateAgentRequest, Hex, MasterTransaction, ScopeRequest } from './api.js';
import type { TypedData } from './agent.js';
import type { ChainFacts } from './chains.js';
import { DIAMOND_ABI } from './diamond-abi.js';
import { requireSame, VerificationError } from './errors.js';

/**
 * What the master wallet signs and sends. All of it is made here, from what the user asked for; of the gateway only the name of its signing
 * domain is taken. None of these messages can move funds: they name an agent and its scope, or a label of an API key.
 */

const field = (name: string, type: string) => ({ name, type });

/** The signed fields, in their order. */
export const MASTER_TYPES = {
  AgentAuthorization: [
    field('agent', 'address'),
    field('name', 'string'),
    field('markets', 'string'),
    field('maxLeverage', 'string'),
    field('dailySpendCapUsd', 'string'),
    field('expiresAt', 'uint256'),
    field('permissions', 'string'),
    field('timestamp', 'uint256'),
  ],
  AgentRevocation: [field('agent', 'address'), field('timestamp', 'uint256')],
  ApiKeyIssue: [field('label', 'string'), field('timestamp', 'uint256')],
  ApiKeyRevocation: [field('label', 'string'), field('timestamp', 'uint256')],
} as const;

export type MasterType = keyof typeof MASTER_TYPES;

export interface MasterDomain {
  /** `signing.domain.name` of the gateway. */
  readonly serviceName: string;
  readonly chain: Pick<ChainFacts, 'chainId' | 'diamond'>;
}

/** What the user wants to happen. `contract` names the account of a contract wallet, which signs one more field. */
export type MasterWish = { readonly timestamp: number; readonly contract?: Hex | undefined } & (
  | { readonly type: 'AgentAuthorization'; readonly agent: Hex; readonly name?: string | undefined; readonly scope: ScopeRequest }
  | { readonly type: 'AgentRevocation'; readonly agent: Hex }
  | { readonly type: 'ApiKeyIssue'; readonly label: string; readonly expiresAt?: number | undefined }
  | { readonly type: 'ApiKeyRevocation'; readonly label: string }
);

/** An absent bound is signed as an empty text, all markets as a star, no expiry as 0. */
function fieldsOf(wish: MasterWish): Record<string, unknown> {
  switch (wish.type) {
    case 'AgentAuthorization': {
      const { markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions } = wish.scope;
      return {
        agent: wish.agent,
        name: wish.name ?? '',
        markets: typeof markets === 'string' ? '*' : markets.join(','),
        maxLeverage: maxLeverage ?? '',
        dailySpendCapUsd: dailySpendCapUsd ?? '',
        expiresAt: String(expiresAt ?? 0),
        permissions,
      };
    }
    case 'AgentRevocation':
      return { agent: wish.agent };
    case 'ApiKeyIssue':
    case 'ApiKeyRevocation':
      return { label: wish.label };
  }
}

/** EIP-712 data for `signTypedData` of any wallet; numbers are texts, so that it can be passed on as JSON. */
export function masterTypedData({ serviceName, chain }: MasterDomain, wish: MasterWish): TypedData {
  const hasExpiry = wish.type === 'ApiKeyIssue' && wish.expiresAt !== undefined;
  const types = [
    ...MASTER_TYPES[wish.type],
    ...(hasExpiry ? [field('expiresAt', 'uint256')] : []),
    ...(wish.contract === undefined ? [] : [field('trader', 'address')]),
  ];
  return {
    domain: { name: serviceName, version: '1', chainId: chain.chainId, verifyingContract: chain.diamond },
    types: { [wish.type]: types },
    primaryType: wish.type,
    message: {
      ...fieldsOf(wish),
      timestamp: String(wish.timestamp),
      ...(hasExpiry ? { expiresAt: String(wish.expiresAt) } : {}),
      ...(wish.contract === undefined ? {} : { trader: wish.contract }),
    },
  };
}

const DOMAIN_TYPE = 'EIP712Domain';
/** What a wallet hashes of the domain follows this list where it is given: with a field less, another domain would be signed. */
const DOMAIN_FIELDS = 'string name,string version,uint256 chainId,address verifyingContract';

/**
 * Refuses typed data from another source that is not exactly what the user wants: another domain, another primary type (a permit or
 * an order would be one), more or other fields, another agent, a wider scope, a later expiry.
 */
export const verifyTypedData = (given: TypedData, domain: MasterDomain, wish: MasterWish): void =>
  requireTypedData(masterTypedData(domain, wish), given);

/** The same for typed data of any kind that the caller has made. */
export function requireTypedData(wanted: TypedData, given: TypedData): void {
  requireSame('PRIMARY_TYPE', 'the wallet would sign another message', wanted.primaryType, given.primaryType);
  requireFields('DOMAIN', wanted.domain, given.domain);
  const described = Object.keys(given.types).filter((name) => name !== DOMAIN_TYPE);
  requireSame('TYPES', 'the message has other types', wanted.primaryType, described.join(','));
  const show = ({ types }: TypedData, type: string): string => (types[type] ?? []).map(({ name, type: of }) => `${of} ${name}`).join(',');
  requireSame('TYPES', 'the message has other fields', show(wanted, wanted.primaryType), show(given, wanted.primaryType));
  if (DOMAIN_TYPE in given.types) requireSame('TYPES', 'the domain has other fields', DOMAIN_FIELDS, show(given, DOMAIN_TYPE));
  requireFields('MESSAGE', wanted.message, given.message);
}

/** Wallets take numbers as texts, numbers or bigints. */
const shown = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null);

function requireFields(
  reason: 'DOMAIN' | 'MESSAGE',
  wanted: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, unknown>>,
): void {
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(given)]))
    requireSame(reason, `${name} is another`, shown(wanted[name]), shown(given[name]));
}

/** The body of `createAgent`, once the wallet has signed. */
export const agentRequest = (
  wish: Extract<MasterWish, { type: 'AgentAuthorization' }>,
  { trader, signature }: { readonly trader: Hex; readonly signature: Hex },
): CreateAgentRequest => ({
  trader,
  agent: wish.agent,
  name: wish.name ?? '',
  scope: wish.scope,
  timestamp: wish.timestamp,
  signature,
});

/** The body of `issueApiKey`, once the wallet has signed. */
export const apiKeyRequest = (
  { label, timestamp, expiresAt }: Extract<MasterWish, { type: 'ApiKeyIssue' }>,
  { trader, signature }: { readonly trader: Hex; readonly signature: Hex },
): ApiKeyRequest => ({ trader, label, timestamp, signature, ...(expiresAt === undefined ? {} : { expiresAt }) });

const APPROVE_ABI = [
  {
    type: 'function',
    name: 'approve',
    stateMutability: 'nonpayable',
    inputs: [
      { name: 'spender', type: 'address' },
      { name: 'amount', type: 'uint256' },
    ],
    outputs: [{ type: 'bool' }],
  },
] as const;

/** What the master wallet is meant to send. */
export type MasterTransactionWish =
  | { readonly type: 'delegate'; readonly agent: Hex }
  | { readonly type: 'undelegate' }
  /** `token` is known beforehand, or read from the chain; `amount` in token units of 10^-decimals. */
  | { readonly type: 'approve'; readonly token: Hex; readonly amount: bigint };

/** The transaction as the client makes it; none of them has a value. */
export function masterTransaction(
  { chainId, diamond }: Pick<ChainFacts, 'chainId' | 'diamond'>,
  wish: MasterTransactionWish,
): MasterTransaction {
  switch (wish.type) {
    case 'delegate':
      return {
        to: diamond,
        data: encodeFunctionData({ abi: DIAMOND_ABI, functionName: 'setTradingDelegate', args: [wish.agent] }),
        chainId,
      };
    case 'undelegate':
      return { to: diamond, data: encodeFunctionData({ abi: DIAMOND_ABI, functionName: 'removeTradingDelegate' }), chainId };
    case 'approve':
      return {
        to: wish.token,
        data: encodeFunctionData({ abi: APPROVE_ABI, functionName: 'approve', args: [diamond, wish.amount] }),
        chainId,
      };
  }
}

const TRANSACTION_FIELDS: readonly string[] = ['to', 'data', 'chainId', 'value'];

/** Refuses a transaction for the master wallet (`delegationTx`, `revocationTx`, a fix of `getReadiness`) that does anything else. */
export function verifyMasterTransaction(
  chain: Pick<ChainFacts, 'chainId' | 'diamond'>,
  wish: MasterTransactionWish,
  given: MasterTransaction & { readonly value?: string | number | bigint | undefined },
): void {
  const wanted = masterTransaction(chain, wish);
  // A fee or an access list that the gateway chose would be sent along.
  for (const name of Object.keys(given))
    if (!TRANSACTION_FIELDS.includes(name)) throw new VerificationError('FIELD', `the transaction must not set ${name}`, null, name);
  requireSame('CHAIN_ID', 'the transaction is for another chain', wanted.chainId, given.chainId);
  requireSame('TO', 'the transaction goes to another contract', wanted.to, given.to);
  if (given.value !== undefined && String(given.value) !== '0' && String(given.value) !== '0x0')
    throw new VerificationError('VALUE', 'no step of setting up sends native coins', '0', String(given.value));
  if (wanted.data.toLowerCase() === given.data.toLowerCase()) return;
  requireSame('FUNCTION', 'the transaction calls another function', wanted.data.slice(0, 10), given.data.slice(0, 10));
  if (wish.type !== 'approve') throw new VerificationError('DELEGATE', 'the transaction names another delegate', wanted.data, given.data);
  const [spender, amount] = decodeApproval(given.data);
  requireSame('TO', 'the approval is for another spender than the Diamond', chain.diamond, spender);
  requireSame('AMOUNT', 'the approved amount is another', wish.amount, amount);
  throw new VerificationError('ENCODING', 'the approval contains bytes that are not part of the call');
}

function decodeApproval(data: Hex): readonly [Hex, bigint] {
  try {
    return decodeFunctionData({ abi: APPROVE_ABI, data }).args;
  } catch {
    throw new VerificationError('ENCODING', 'the approval cannot be decoded', null, data);
  }
}
