import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { Draft } from '../../ports/stores/orders.js';
import type { Address } from '../../types.js';
import { type Question, statement } from './statement.js';

/** Orders of one trader are prepared one after the other, on whichever replica. */
export const lockName = ({ chain, order }: Draft): string => `diamond-gateway orders ${chain} ${order.trader}`;

const LOCK = 'pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0))';
/** The lock is never null, so nothing is answered. */
const LOCK_FIRST = statement(`select 1 where ${LOCK} is null`);

const lockNamed = (name: string): Question => ({ asked: LOCK_FIRST, values: { name } });

export const lockFirst = (draft: Draft): Question => lockNamed(lockName(draft));

/** What takes back the same is queued once, whichever replicas were asked for it at once. */
export const lockCancels = (chain: ChainSlug, trader: Address | null): Question => lockNamed(`diamond-gateway cancels ${chain} ${trader}`);

export const lockTrader = (trx: Knex.Transaction, draft: Draft): Knex.Raw => trx.raw(`select ${LOCK}`, { name: lockName(draft) });

/** Locks a key on all chains at once: a second approval of it waits here, and then finds the first one's row. */
export async function lockAgent(trx: Knex.Transaction, agent: Address): Promise<void> {
  await trx.raw(`select ${LOCK}`, { name: `diamond-gateway agent ${agent}` });
}

/** Agents and keys of one trader are registered one after the other, so that what is counted holds until it is stored. */
export async function lockAccess(trx: Knex.Transaction, chain: ChainSlug, trader: Address): Promise<void> {
  await trx.raw(`select ${LOCK}`, { name: `diamond-gateway access ${chain} ${trader}` });
}
