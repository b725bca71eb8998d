import { Wallet, type TypedDataDomain, type TypedDataField } from 'ethers';
import type { Reply, TestVenue } from '../venue/own-venue.js';

/** The structs as a client of ours would write them down from the documentation, signed by an independent implementation. */
const TYPES: Record<string, TypedDataField[]> = {
  AgentAuthorization: fields(
    'address agent',
    'string name',
    'string markets',
    'string maxLeverage',
    'string dailySpendCapUsd',
    'uint256 expiresAt',
    'string permissions',
    'uint256 timestamp',
  ),
  AgentRevocation: fields('address agent', 'uint256 timestamp'),
  ApiKeyIssue: fields('string label', 'uint256 timestamp'),
};

function fields(...lines: string[]): TypedDataField[] {
  return lines.map((line) => {
    const [type = '', name = ''] = line.split(' ');
    return { name, type };
  });
}

export interface ScopeBody {
  markets: 'all' | string[];
  maxLeverage?: string | null;
  dailySpendCapUsd?: string | null;
  expiresAt?: number | null;
  permissions: string;
}

export interface AuthorizationBody {
  trader: string;
  agent: string;
  name?: string;
  scope: ScopeBody;
  timestamp: number;
  signature: string;
  agentSignature?: string;
}

export const EVERYTHING: ScopeBody = {
  markets: 'all',
  maxLeverage: null,
  dailySpendCapUsd: null,
  expiresAt: null,
  permissions: 'trade',
};

export type Sign = (primaryType: string, message: Record<string, unknown>) => Promise<string>;

/** Domains are read from `GET /v1/{chain}`, as a client does. */
export async function domainOf(sandbox: TestVenue, chain = 'arbitrum-sepolia'): Promise<TypedDataDomain> {
  return ((await sandbox.get(`/v1/${chain}`)).body as { signing: { domain: TypedDataDomain } }).signing.domain;
}

export const signWith =
  (wallet: Pick<Wallet, 'signTypedData'>, domain: TypedDataDomain): Sign =>
  (primaryType, message) =>
    wallet.signTypedData(domain, { [primaryType]: TYPES[primaryType] ?? [] }, message);

export interface AuthorizationOptions {
  readonly trader: string;
  readonly agent: string;
  readonly name?: string;
  readonly scope?: ScopeBody;
  readonly timestamp?: number;
  /** The agent's key, when it consents. */
  readonly agentWallet?: Wallet;
}

export async function authorization(domain: TypedDataDomain, sign: Sign, options: AuthorizationOptions): Promise<AuthorizationBody> {
  const { trader, agent, name, scope = EVERYTHING, timestamp = Date.now(), agentWallet } = options;
  const message = {
    agent,
    name: name ?? '',
    markets: scope.markets === 'all' ? '*' : scope.markets.join(','),
    maxLeverage: scope.maxLeverage ?? '',
    dailySpendCapUsd: scope.dailySpendCapUsd ?? '',
    expiresAt: scope.expiresAt ?? 0,
    permissions: scope.permissions,
    timestamp,
  };
  const body = { trader, agent, scope, timestamp, signature: await sign('AgentAuthorization', message) };
  return {
    ...body,
    ...(name === undefined ? {} : { name }),
    ...(agentWallet === undefined ? {} : { agentSignature: await signWith(agentWallet, domain)('AgentAuthorization', message) }),
  };
}

export interface RevocationBody {
  trader: string;
  timestamp: number;
  signature: string;
}

export const revocation = async (sign: Sign, trader: string, agent: string, timestamp = Date.now()): Promise<RevocationBody> => ({
  trader,
  timestamp,
  signature: await sign('AgentRevocation', { agent, timestamp }),
});

export const keyIssue = async (sign: Sign, trader: string, label: string, timestamp = Date.now()) => ({
  trader,
  label,
  timestamp,
  signature: await sign('ApiKeyIssue', { label, timestamp }),
});

/** Agents of one chain, as a client sees them. */
export function agentsOf(sandbox: TestVenue, chain = 'arbitrum-sepolia') {
  const path = `/v1/${chain}/agents`;
  return {
    create: (body: unknown): Promise<Reply> => sandbox.post(path, body),
    get: (agent: string): Promise<Reply> => sandbox.get(`${path}/${agent}`),
    async revoke(agent: string, body: unknown): Promise<Reply> {
      const response = await fetch(`${sandbox.url}${path}/${agent}`, {
        method: 'DELETE',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  };
}
