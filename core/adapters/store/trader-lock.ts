import type { Knex } from 'knex';
import type { Draft } from '../../orders/orders-store.js';
import { type Question, statement } from './statement.js';

/** Orders of one trader are prepared one after the other, on whichever replica. */
export const lockName = ({ chain, order }: Draft): string => `diamond-gateway orders ${chain} ${order.trader}`;

const LOCK = 'pg_advisory_xact_lock(hashtextextended(cast(:name as text), 0))';
/** The lock is never null, so nothing is answered. */
const LOCK_FIRST = statement(`select 1 where ${LOCK} is null`);

export const lockFirst = (draft: Draft): Question => ({ asked: LOCK_FIRST, values: { name: lockName(draft) } });

export const lockTrader = (trx: Knex.Transaction, draft: Draft): Knex.Raw => trx.raw(`select ${LOCK}`, { name: lockName(draft) });
