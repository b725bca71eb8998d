import { add, compare, formatDecimal, type Decimal } from './decimal.js';
import { GatewayError } from '../errors.js';

export const AGENT_STATUSES = ['pending_delegation', 'active', 'expired', 'revoked'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** `self`: the agent broadcasts; `relayed`: registered through the facade, the relayer is the delegate. */
export const AGENT_MODES = ['self', 'relayed'] as const;
export type AgentMode = (typeof AGENT_MODES)[number];

export const PERMISSIONS = ['trade', 'read'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Off-chain limits of an agent; null = no limit. */
export interface Scope {
  readonly markets: 'all' | readonly string[];
  readonly maxLeverage: Decimal | null;
  readonly dailySpendCapUsd: Decimal | null;
  /** Epoch ms. */
  readonly expiresAt: number | null;
  readonly permissions: Permission;
}

export interface Agent {
  readonly agent: `0x${string}`;
  readonly trader: `0x${string}`;
  readonly name: string;
  readonly scope: Scope;
  readonly mode: AgentMode;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** Incremented with every change of the registration; cached rows of another version are stale. */
  readonly version: bigint;
}

/**
 * `sender` broadcasts the trades: the agent itself, or the relayer for facade agents; null without a relayer.
 * Addresses are compared in lower case.
 */
export function agentStatus(agent: Agent, sender: string | null, delegate: string | null, now: number): AgentStatus {
  if (agent.revokedAt !== null) return 'revoked';
  if (isExpired(agent.scope, now)) return 'expired';
  const delegated = sender !== null && (same(sender, agent.trader) || (delegate !== null && same(sender, delegate)));
  return delegated ? 'active' : 'pending_delegation';
}

export const isExpired = ({ expiresAt }: Pick<Scope, 'expiresAt'>, now: number): boolean => expiresAt !== null && expiresAt <= now;

/** Neither revoked nor expired. */
export const isInForce = ({ revokedAt, scope }: Pick<Agent, 'revokedAt' | 'scope'>, now: number): boolean =>
  revokedAt === null && !isExpired(scope, now);

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The limits of an agent's scope, checked before anything is prepared. null = no limit. */

const DAY_MS = 86_400_000;

/** Spending is counted per UTC day; days are numbered since the epoch. */
export const utcDay = (at: number): number => Math.floor(at / DAY_MS);

export function checkMayTrade({ permissions }: Pick<Scope, 'permissions'>, agent: string): void {
  if (permissions !== 'trade') throw new GatewayError('SCOPE_READ_ONLY', { agent });
}

/** `market` is the canonical symbol, as stored in scopes. */
export function checkMarket({ markets }: Pick<Scope, 'markets'>, market: string): void {
  if (markets !== 'all' && !markets.includes(market)) throw new GatewayError('SCOPE_MARKET_NOT_ALLOWED', { market });
}

/** For every open, increase and leverage change. */
export function checkLeverage({ maxLeverage }: Pick<Scope, 'maxLeverage'>, leverage: Decimal): void {
  if (maxLeverage === null || compare(leverage, maxLeverage) <= 0) return;
  throw new GatewayError('SCOPE_LEVERAGE_EXCEEDED', { leverage: formatDecimal(leverage), maxLeverage: formatDecimal(maxLeverage) });
}

export const isWithinCap = (capUsd: Decimal | null, spentUsd: Decimal, requestedUsd: Decimal): boolean =>
  capUsd === null || compare(add(spentUsd, requestedUsd), capUsd) <= 0;

export const capExceeded = (capUsd: Decimal, spentUsd: Decimal, requestedUsd: Decimal): GatewayError =>
  new GatewayError('SCOPE_SPEND_CAP_EXCEEDED', {
    requestedUsd: formatDecimal(requestedUsd),
    spentUsd: formatDecimal(spentUsd),
    capUsd: formatDecimal(capUsd),
  });

/** Characters that a reader does not see: those that control a line could forge one of a log, those of direction show another name. */
export const HAS_UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
