import type { Knex } from 'knex';
import type { Reservation, SpendAccount, SpendStore } from '../../ports/stores/orders.js';
import type { ChainSlug } from '../../chains/chains.js';
import { formatDecimal, parseDecimal, ZERO, type Decimal } from '../../domain/decimal.js';
import { isLostRace } from './faults.js';
import { NOW_MS } from './migrations/migration.js';
import { statement, type Question } from './statement.js';

/** A concurrent transaction reserved the same id: as a new row, or as one that was just released. */
const LOST = new Set(['23505', '23514']);

const TRIES = 5;

/** `db` may be a transaction that also stores the order; then the caller repeats it after a conflict. */
export function createSpendStore(db: Knex) {
  return {
    async reserve(reservation: Reservation, capUsd: Decimal | null): Promise<boolean> {
      try {
        return (await again(db, () => reserveOnce(db, reservation, capUsd))) || (await isHeldOn(db, reservation));
      } catch (error) {
        if (isLost(error) && db.isTransaction !== true) return isHeldOn(db, reservation);
        throw error;
      }
    },

    async release(chain: ChainSlug, id: string): Promise<boolean> {
      return again(db, () => changes(db, toggle({ from: true, sign: '-' }), { chain, id }));
    },

    async restore(chain: ChainSlug, id: string): Promise<boolean> {
      return again(db, () => changes(db, toggle({ from: false, sign: '+' }), { chain, id }));
    },

    async releaseUnsent(chain: ChainSlug, now: number): Promise<number> {
      return again(db, async () => (await db.raw<{ rows: [{ released: number }] }>(RELEASE_UNSENT, { chain, now })).rows[0].released);
    },

    async spent({ chain, agent, trader, day }: SpendAccount): Promise<Decimal> {
      const row = await db('agent_spend').where({ chain, agent, trader, day }).first<{ spent_usd: string } | undefined>('spent_usd');
      return row === undefined ? ZERO : parseDecimal(row.spent_usd);
    },
  } satisfies SpendStore;
}

/**
 * One statement. The update of the day's row locks it, and the condition sees the last committed value, so concurrent reservations are
 * serialised and cannot exceed the cap together. If an id is reserved twice at once, the second statement fails as a whole: the table
 * rejects the negative amount.
 */
async function reserveOnce(db: Knex, { usd, expiresAt = null, ...reservation }: ReservationRow, capUsd: Decimal | null): Promise<boolean> {
  return changes(
    db,
    `with asked as (
       select :usd::numeric as usd, :cap::numeric as cap
       where not exists (select 1 from spend_reservations where chain = :chain and id = :id and held)
     ), total as (
       insert into agent_spend as known (chain, agent, trader, day, spent_usd)
       select :chain, :agent, :trader, :day, usd from asked where cap is null or usd <= cap
       on conflict (chain, agent, trader, day) do update set spent_usd = known.spent_usd + excluded.spent_usd
         where :cap::numeric is null or known.spent_usd + excluded.spent_usd <= :cap::numeric
       returning 1
     )
     insert into spend_reservations as known (chain, id, agent, trader, day, usd, expires_at)
     select :chain, :id, :agent, :trader, :day, :usd::numeric, :expiresAt::bigint from total
     on conflict (chain, id) do update set held = true, agent = excluded.agent, trader = excluded.trader, day = excluded.day,
       expires_at = excluded.expires_at,
       usd = case when known.held then -1 else excluded.usd end
     returning id`,
    { ...reservation, expiresAt, usd: formatDecimal(usd), cap: capUsd === null ? null : formatDecimal(capUsd) },
  );
}

async function changes(db: Knex, statement: string, values: Record<string, string | number | null>): Promise<boolean> {
  const { rows } = await db.raw<{ rows: unknown[] }>(statement, values);
  return rows.length > 0;
}

/** Reserving locks the day first, releasing the reservation first; the same id in both at once deadlocks, and one is retried. */
async function again<Result>(db: Knex, work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (db.isTransaction === true || !isLostRace(error) || tries === TRIES) throw error;
    }
  }
}

/** Adds a reservation to the sum of its day or removes it; the row's state makes it idempotent. */
const toggle = ({ from, sign }: { from: boolean; sign: '+' | '-' }): string => `
  with changed as (
    update spend_reservations set held = ${!from} where chain = :chain and id = :id and held = ${from}
    returning chain, agent, trader, day, usd
  )
  update agent_spend as sum set spent_usd = sum.spent_usd ${sign} changed.usd from changed
  where sum.chain = changed.chain and sum.agent = changed.agent and sum.trader = changed.trader and sum.day = changed.day
  returning 1`;

/**
 * Holds or releases the reservations of orders, including those of their size increases. An increase is reserved under the order's id and
 * its new size, so that all of an order changes together. The increase to the current size is on chain and no longer expires; an unsent one
 * counts only while its transaction may be sent.
 */
export function settling(chain: ChainSlug, orders: readonly SpendingOrder[]): Question[] {
  if (orders.length === 0) return [];
  const reached = orders.flatMap(({ id, size }) => (size === null ? [] : [`${id}/${size}`]));
  const rows = JSON.stringify(orders.map(({ id, holds }) => ({ id, holds })));
  return [
    // A separate statement: the next one must see whether the increase is held now, not before another replica released it.
    ...(reached.length === 0 ? [] : [{ asked: REACH, values: { chain, ids: reached } }]),
    { asked: SETTLE, values: { chain, rows } },
  ];
}

interface SpendingOrder {
  readonly id: string;
  readonly holds: boolean;
  /** Size of an order resting on chain; null otherwise. */
  readonly size: string | null;
}

const REACH = statement(`
  update spend_reservations set expires_at = null
  where chain = cast(:chain as text) and id = any(cast(:ids as text[])) and expires_at is not null`);

/** The ids are passed as arrays too: for a JSON document alone the planner would scan every reservation. */
export const SETTLE = statement(`
  with given as materialized (
    select * from jsonb_to_recordset(:rows::jsonb) as row(id text, holds boolean)
  ), wanted as (
    select id, holds from given
    union all
    select grown.id, given.holds and (grown.expires_at is null or grown.expires_at > ${NOW_MS}) from given join spend_reservations as grown
      on grown.chain = cast(:chain as text) and grown.id like '%/%' and split_part(grown.id, '/', 1) = given.id
    where split_part(grown.id, '/', 1) = any(array(select id from given))
  ), changed as (
    update spend_reservations as known set held = wanted.holds from wanted
    where known.chain = cast(:chain as text) and known.id = wanted.id and known.held <> wanted.holds
      and known.id = any(array(select id from wanted))
    returning known.chain, known.agent, known.trader, known.day, case when known.held then known.usd else -known.usd end as usd
  ), sums as (
    select chain, agent, trader, day, sum(usd) as usd from changed group by chain, agent, trader, day
  )
  update agent_spend as known set spent_usd = known.spent_usd + sums.usd from sums
  where known.chain = sums.chain and known.agent = sums.agent and known.trader = sums.trader and known.day = sums.day`);

type ReservationRow = Omit<Reservation, 'expiresAt'> & { readonly expiresAt?: number | null };

/** Whether it is already held; one that expires is extended to the newest deadline. */
async function isHeldOn(db: Knex, { chain, id, expiresAt = null }: ReservationRow): Promise<boolean> {
  const held = `update spend_reservations set expires_at = case when expires_at is null then null else greatest(expires_at, :expiresAt::bigint) end
    where chain = :chain and id = :id and held returning 1`;
  return changes(db, held, { chain, id, expiresAt });
}

const RELEASE_UNSENT = `
  with changed as (
    update spend_reservations set held = false where chain = :chain and held and expires_at <= :now
    returning chain, agent, trader, day, usd
  ), sums as (
    select chain, agent, trader, day, sum(usd) as usd from changed group by chain, agent, trader, day
  ), given_back as (
    update agent_spend as known set spent_usd = known.spent_usd - sums.usd from sums
    where known.chain = sums.chain and known.agent = sums.agent and known.trader = sums.trader and known.day = sums.day
  )
  select count(*)::int as released from changed`;

const isLost = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' && LOST.has(error.code);
