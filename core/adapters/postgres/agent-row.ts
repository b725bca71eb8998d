import type { Agent, AgentMode, Permission, Scope } from '../../domain/agent.js';
import { formatDecimal, parseDecimal, type Decimal } from '../../domain/decimal.js';
import type { Address } from '../../types.js';

/** A row of `agents` as the driver returns it. */
export interface AgentRow {
  readonly agent: Address;
  readonly trader: Address;
  readonly name: string;
  readonly mode: AgentMode;
  readonly markets: readonly string[] | null;
  readonly max_leverage: string | null;
  readonly daily_spend_cap_usd: string | null;
  readonly expires_at: bigint | null;
  readonly permissions: Permission;
  readonly created_at: bigint;
  readonly revoked_at: bigint | null;
  readonly version: bigint;
}

/** For statements that join an agent. */
export const AGENT_COLUMNS = [
  'agent',
  'trader',
  'name',
  'mode',
  'markets',
  'max_leverage',
  'daily_spend_cap_usd',
  'expires_at',
  'permissions',
  'created_at',
  'revoked_at',
  'version',
] as const satisfies readonly (keyof AgentRow)[];

export const agentOf = (row: AgentRow): Agent => ({
  agent: row.agent,
  trader: row.trader,
  name: row.name,
  mode: row.mode,
  scope: {
    markets: row.markets ?? 'all',
    maxLeverage: bound(row.max_leverage),
    dailySpendCapUsd: bound(row.daily_spend_cap_usd),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    permissions: row.permissions,
  },
  createdAt: Number(row.created_at),
  revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  version: row.version,
});

export const scopeColumns = ({ markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions }: Scope) => ({
  markets: markets === 'all' ? null : [...markets],
  max_leverage: maxLeverage === null ? null : formatDecimal(maxLeverage),
  daily_spend_cap_usd: dailySpendCapUsd === null ? null : formatDecimal(dailySpendCapUsd),
  expires_at: expiresAt,
  permissions,
});

const bound = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));
