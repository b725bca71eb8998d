import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { DueWork } from '../../ports/store.js';
import { RECLAIM_AGAIN_MS } from '../../ports/stores/relay.js';
import type { Address } from '../../types.js';
import { DUE_SLIPPAGES } from './facade-store.js';
import { DUE_ORDERS } from './orders-store.js';
import { LOST_REQUESTS } from './relay-sql.js';
import { ask, statement } from './statement.js';
import { SENT_ORDERS } from './tracking-sql.js';
import { switchOf, type SwitchRow } from './switch-store.js';
import { STANDING_COLUMN, standingOf, type StandingRow } from './contract-store.js';

/** Asked once a second for each chain on every replica, and mostly nothing is due: one round trip for all of it. */
export async function dueWork(db: Knex, chain: ChainSlug, wallets: readonly Address[], now: number): Promise<DueWork> {
  const values = { chain, wallets, now, sent: [], triedBefore: now - RECLAIM_AGAIN_MS };
  const [row] = await ask<DueRow>(db, DUE_WORK, values);
  if (!row) throw new Error('The database does not say what is due.');
  return { ...row, switches: row.switches.map(switchOf), contract: standingOf(row.contract) };
}

interface DueRow extends Omit<DueWork, 'switches' | 'contract'> {
  readonly switches: readonly SwitchRow[];
  readonly contract: StandingRow;
}

const chain = 'chain = cast(:chain as text)';
const now = 'cast(:now as bigint)';

/** The earliest time is read from an index; for "any time before" the planner may expect many rows and scan the table. A replica without wallets does no work of the relayer. */
export const DUE_WORK = statement(`
  select
    (select coalesce(jsonb_agg(to_jsonb(relay_switches)), '[]') from relay_switches where ${chain}) as switches,
    array(select wallet from unnest(cast(:wallets as text[])) as known(wallet) where exists (
      select from relay_jobs job where job.${chain} and job.wallet = known.wallet and not job.is_over)) as "busyWallets",
    (select coalesce(jsonb_agg(jsonb_build_object('wallet', wallet, 'since', blocked_since, 'reason', blocked_reason)), '[]')
      from relay_lanes where ${chain} and wallet = any(cast(:wallets as text[])) and blocked_since is not null) as "laneProblems",
    (select block_number from chain_cursors where ${chain}) as "indexedBlock",
    ${STANDING_COLUMN} as contract,
    exists (select from orders where ${chain} and ${DUE_ORDERS}) as orders,
    exists (${SENT_ORDERS}) as "sentOrders",
    coalesce((select min(expires_at) from spend_reservations where ${chain} and held and expires_at is not null) <= ${now}, false) as reservations,
    cardinality(cast(:wallets as text[])) > 0 and coalesce((select min(due_at) from scheduled_cancels where ${chain}) <= ${now}, false) as schedules,
    cardinality(cast(:wallets as text[])) > 0 and exists (${LOST_REQUESTS}) as reclaims,
    cardinality(cast(:wallets as text[])) > 0 and exists (${DUE_SLIPPAGES}) as "closingSlippages"`);
