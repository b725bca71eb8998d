import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { Draft } from '../../ports/stores/orders.js';
import type { Address } from '../../types.js';
import { statement, type Question } from './statement.js';

/** Serialises the preparation of one trader's orders across replicas. */
export const lockName = ({ chain, order }: Draft): string => `diamond-gateway orders ${chain} ${order.trader}`;

const LOCK = 'pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0))';
/** The lock function never returns null, so no row is returned. */
const LOCK_FIRST = statement(`select 1 where ${LOCK} is null`);

const lockNamed = (name: string): Question => ({ asked: LOCK_FIRST, values: { name } });

export const lockFirst = (draft: Draft): Question => lockNamed(lockName(draft));

/** Lets only one job be queued for the same cancel, across replicas. */
export const lockCancels = (chain: ChainSlug, trader: Address | null): Question => lockNamed(`diamond-gateway cancels ${chain} ${trader}`);

export const lockTrader = (trx: Knex.Transaction, draft: Draft): Knex.Raw => trx.raw(`select ${LOCK}`, { name: lockName(draft) });

/** Locks an agent key across chains: a concurrent approval of it waits here, and then finds the first one's row. */
export async function lockAgent(trx: Knex.Transaction, agent: Address): Promise<void> {
  await trx.raw(`select ${LOCK}`, { name: `diamond-gateway agent ${agent}` });
}

/** Serialises registrations of one trader's agents and keys, so that their count holds until the commit. */
export async function lockAccess(trx: Knex.Transaction, chain: ChainSlug, trader: Address): Promise<void> {
  await trx.raw(`select ${LOCK}`, { name: `diamond-gateway access ${chain} ${trader}` });
}
