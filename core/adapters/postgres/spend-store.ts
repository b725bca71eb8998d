import type { Knex } from 'knex';
import type { Reservation, SpendAccount, SpendStore } from '../../ports/stores/orders.js';
import type { ChainSlug } from '../../chains/chains.js';
import { isWithinCap } from '../../domain/agent.js';
import { formatDecimal, parseDecimal, type Decimal } from '../../domain/decimal.js';
import { tryAgain } from './faults.js';
import { NOW_MS } from './migrations/migration.js';
import { inTransaction, lockIn, ordersLock, statement, type Question } from './statement.js';

/**
 * Reservations are the facts: what an agent has spent on a day is the sum of those that are held. `spend_sums` has some of them added up, and
 * each row says whether it is among them, so that releasing and holding change that row only and no sum. A sum and the day of a reservation
 * change under the lock of the trader's orders.
 * `db` may be a transaction that also stores the order; then the caller repeats it after a conflict.
 */
export function createSpendStore(db: Knex) {
  const within = <Result>(work: (trx: Knex.Transaction) => Promise<Result>): Promise<Result> =>
    isTransaction(db) ? work(db) : inTransaction(db, work);
  return {
    reserve: (reservation: Reservation, capUsd: Decimal | null) => within((trx) => reserve(trx, reservation, capUsd)),

    async releaseUnsent(chain: ChainSlug, now: number): Promise<number> {
      const { rows } = await tryAgain(() => db.raw<{ rows: [{ released: number }] }>(RELEASE_UNSENT, { chain, now }));
      return rows[0].released;
    },

    spent: (account: SpendAccount) => sumOf(db, account),
  } satisfies SpendStore;
}

const isTransaction = (db: Knex): db is Knex.Transaction => db.isTransaction === true;

/** The lock of the reservation's row makes the decision hold: it is released or held elsewhere before it is read, or after it is written. */
async function reserve(trx: Knex.Transaction, reservation: Reservation, capUsd: Decimal | null): Promise<boolean> {
  const { chain, trader, id, usd, expiresAt = null } = reservation;
  await lockIn(trx, ordersLock(chain, trader));
  const known = await trx('spend_reservations').where({ chain, id }).forUpdate().first<KnownRow | undefined>();
  if (known?.held === true) {
    await trx.raw(EXTEND, { chain, id, expiresAt });
    return true;
  }
  if (capUsd !== null && !isWithinCap(capUsd, await sumOf(trx, reservation), usd)) return false;
  if (known?.in_sum === true) await trx.raw(`update spend_sums set usd = usd - :usd where ${DAY}`, { ...dayOf(known), usd: known.usd });
  const row = { ...dayOf(reservation), usd: formatDecimal(usd), held: true, in_sum: false, expires_at: expiresAt };
  await trx('spend_reservations')
    .insert({ id, ...row })
    .onConflict(['chain', 'id'])
    .merge(row);
  return true;
}

interface KnownRow extends SpendAccount {
  readonly usd: string;
  readonly held: boolean;
  readonly in_sum: boolean;
}

const dayOf = ({ chain, agent, trader, day }: SpendAccount) => ({ chain, agent, trader, day });

/** One that is held until its order ends stays so; otherwise the later deadline counts. */
const EXTEND = `
  update spend_reservations set expires_at = greatest(expires_at, cast(:expiresAt as bigint))
  where chain = :chain and id = :id and expires_at is not null`;

async function sumOf(db: Knex, account: SpendAccount): Promise<Decimal> {
  const { rows } = await db.raw<{ rows: [{ spent: string }] }>(SPENT, dayOf(account));
  return parseDecimal(rows[0].spent);
}

const DAY = 'chain = :chain and agent = :agent and trader = :trader and day = :day';

export const SPENT = `
  select (coalesce((select usd from spend_sums where ${DAY}), 0) + coalesce(sum(case when held then usd else -usd end), 0))::text as spent
  from spend_reservations where ${DAY} and held <> in_sum`;

/** Reservations that another transaction has locked are left for the next time: a wait here could be part of a deadlock. */
const RELEASE_UNSENT = `
  with released as (
    update spend_reservations set held = false where chain = :chain and id = any(array(
      select id from spend_reservations where chain = :chain and held and expires_at <= :now for update skip locked
    )) returning 1
  )
  select count(*)::int as released from released`;

interface SpendingOrder {
  readonly id: string;
  readonly holds: boolean;
  /** Size of an order resting on chain; null otherwise. */
  readonly size: string | null;
}

/**
 * Holds or releases the reservations of orders, including those of their size increases. An increase is reserved under the order's id and
 * its new size, so that all of an order changes together. The increase to the current size is on chain and no longer expires; an unsent one
 * counts only while its transaction may be sent.
 */
export function settling(chain: ChainSlug, orders: readonly SpendingOrder[]): Question[] {
  if (orders.length === 0) return [];
  const reached = orders.flatMap(({ id, size }) => (size === null ? [] : [`${id}/${size}`]));
  const ids = orders.map(({ id }) => id);
  const holding = orders.flatMap(({ id, holds }) => (holds ? [id] : []));
  return [
    // A separate statement: the next one must see whether the increase is held now, not before another replica released it.
    ...(reached.length === 0 ? [] : [{ asked: REACH, values: { chain, ids: reached } }]),
    { asked: SETTLE, values: { chain, ids, holding } },
  ];
}

const REACH = statement(`
  update spend_reservations set expires_at = null
  where chain = cast(:chain as text) and id = any(cast(:ids as text[])) and expires_at is not null`);

/** Each condition is about the row itself, so after a wait for its lock it is decided again on what that transaction left. */
export const SETTLE = statement(`
  with increases as (
    update spend_reservations set held = not held
    where chain = cast(:chain as text) and id like '%/%' and split_part(id, '/', 1) = any(cast(:ids as text[]))
      and held <> (split_part(id, '/', 1) = any(cast(:holding as text[])) and (expires_at is null or expires_at > ${NOW_MS}))
  )
  update spend_reservations set held = not held
  where chain = cast(:chain as text) and id = any(cast(:ids as text[])) and held <> (id = any(cast(:holding as text[])))`);
