import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { ChangeNoted, KnownOrder, OrderChange, OrderHistory, OrdersStore, UnminedOpening } from '../../ports/stores/orders.js';
import type { Address } from '../../types.js';
import { MAY_BE_SENT_MS } from '../../config/relayer.js';
import type { Order } from '../../domain/order.js';
import { PREPARE_CHANGE, RELEASE_CHANGE } from './exchange-sql.js';
import { amendLock, ask, askWithin, encodeExact, inSteps, inTransaction, lock, statement } from './statement.js';
import { appendJournal, type NewJournalEntry } from './journal-rows.js';
import { knownByClientId, knownOrders, orRefused, placeOrders, type PlaceParts } from './place-order.js';
import { createSpendStore } from './spend-store.js';
import { keepTag, lockOrders, moveOrders, recordHashes, renewOrder, timesHappened, type LockedOrder } from './move-order.js';
import { readEvent } from './tracking-rows.js';

/** A job with a nonce is about to be signed. */
const NUMBERED = `
  select from relay_jobs job where job.chain = orders.chain and job.order_id = orders.id and job.nonce is not null and not job.is_over`;

const now = 'cast(:now as bigint)';

export const DUE_ORDERS = `status = 'prepared' and expires_at <= ${now} and (not is_sent or id = any(cast(:sent as bigint[])))
  and not exists (${NUMBERED} and coalesce(job.not_after, ${now}) > ${now} - ${MAY_BE_SENT_MS})`;

const ANY_DUE = statement(`select 1 from orders where chain = :chain and ${DUE_ORDERS} limit 1`);

/** One row with the cursor alone where there are none. An opening whose transaction failed, or is never sent, takes nothing. */
const UNMINED = statement(`
  select (select block_number from chain_cursors where chain = cast(:chain as text)) as indexed, opening.takes, opening.amount, opening.mined
  from (select 1) as one left join (
    select orders.takes, (orders.state -> 'collateralAmount' ->> '$n')::numeric as amount,
      (select max(job.mined_block) from relay_jobs job where job.chain = orders.chain and job.order_id = orders.id) as mined
    from orders
    where orders.chain = cast(:chain as text) and orders.trader = cast(:trader as text)
      and orders.takes is not null and orders.status = 'prepared'
      and (orders.state ->> 'collateralIndex')::integer = cast(:collateralIndex as integer)
      and not exists (
        select from relay_jobs job
        where job.chain = orders.chain and job.order_id = orders.id and job.state in ('refused', 'replaced', 'reverted'))
  ) as opening on true`);

interface UnminedRow {
  readonly indexed: bigint | null;
  readonly takes: string | null;
  readonly amount: string | null;
  readonly mined: bigint | null;
}

/** Orders expired per transaction. */
const EXPIRED_AT_ONCE = 200;

export function createOrdersStore({ db, batcher }: PlaceParts): OrdersStore {
  const one = async (chain: ChainSlug, condition: string, values: Record<string, unknown>): Promise<KnownOrder | null> =>
    (await knownOrders(db, chain, condition, values))[0] ?? null;

  return {
    place: (draft, others = []) => placeOrders({ db, batcher }, draft, others),
    renew: (_chain, id, draft, others = []) => orRefused(() => inTransaction(db, (trx) => renewOrder(trx, id, draft, others))),
    find: (chain, trader, id) => one(chain, 'id = :id and trader = :trader', { id, trader }),
    tagged: (chain, trader, tags) =>
      knownOrders(
        db,
        chain,
        `trader = :trader and orders.id in (select order_id from order_tags where chain = :chain and order_tags.tag = any(:tags)) order by id`,
        { trader, tags: [...tags] },
      ),
    findByClientId: (chain, trader, clientId) => knownByClientId(db, chain, trader, clientId),
    async unminedOpenings(chain, trader, collateralIndex) {
      const rows = await ask<UnminedRow>(db, UNMINED, { chain, trader, collateralIndex });
      return {
        indexedBlock: rows[0]?.indexed ?? null,
        openings: rows.flatMap(({ takes, amount, mined }): UnminedOpening[] =>
          takes === null ? [] : [{ takes: BigInt(takes), amount: BigInt(amount ?? takes), minedBlock: mined }],
        ),
      };
    },
    findByKey: (chain, trader, orderKey) => one(chain, 'trader = :trader and order_key = :orderKey and is_live', { trader, orderKey }),
    pendingOnTrade: (chain, trader, tradeIndex) =>
      knownOrders(
        db,
        chain,
        `trader = :trader and is_live and status in ('pending', 'timed_out') and state->>'tradeIndex' = :tradeIndex order by id`,
        { trader, tradeIndex: tradeIndex.toString() },
      ),
    async prepareChange(chain, change) {
      try {
        return await inTransaction(db, async (trx): Promise<ChangeNoted> => {
          const { growth } = change;
          if (growth && !(await createSpendStore(trx).reserve(growth.reservation, growth.capUsd))) return { kind: 'beyond-cap' };
          await noteChange(trx, chain, change);
          return { kind: 'noted' };
        });
      } catch (error) {
        if (error instanceof OtherChange) return whyNotNoted(db, chain, change);
        throw error;
      }
    },
    releaseChange: async (chain, id, input) => (await ask(db, RELEASE_CHANGE, { chain, id, input: input.toLowerCase() })).length > 0,
    expectReplacement: (chain, id, given, order) => keepTag(db, chain, id, { purpose: 'replace', transaction: given, order }),
    async recordHash(chain, id, hash, at) {
      await inSteps(db, (steps) => recordHashes(steps, chain, [{ id, hash }], at));
      const order = await one(chain, 'id = :id', { id });
      if (!order) throw new Error(`there is no order ${id}`);
      return order;
    },
    async recordHashes(chain, sent, at) {
      if (sent.length > 0) await inSteps(db, (steps) => recordHashes(steps, chain, sent, at));
    },
    giveUp: (chain, trader, id, at) =>
      inTransaction(db, async (trx) => {
        const [row] = await lockOrders(trx, chain, `id = :id and trader = :trader and not exists (${NUMBERED}) for update`, { id, trader });
        if (row?.order.status !== 'prepared' || row.isSent) return false;
        await appendJournal(trx, chain, at, await expireOrders(trx, chain, [row], { because: 'owner', at }));
        return true;
      }),
    async expire(chain, now, sent = []) {
      // Orders of the last look may have been expired by another replica, so they are looked for without a transaction first.
      const [isDue] = await ask(db, ANY_DUE, { chain, now, sent });
      for (let total = 0; isDue !== undefined;) {
        const { looked, expired } = await inTransaction(db, (trx) => expireSome(trx, chain, now, sent));
        total += expired;
        if (looked < EXPIRED_AT_ONCE) return total;
      }
      return 0;
    },
    sent: (chain, limit, after = 0n) =>
      knownOrders(db, chain, `status = 'prepared' and is_sent and id > :after order by id limit :limit`, { limit, after }),
    sentWith: (chain, tags) =>
      knownOrders(
        db,
        chain,
        `status = 'prepared' and is_sent and orders.id in (select order_id from order_tags where chain = :chain and order_tags.tag = any(:tags))`,
        { tags: [...tags] },
      ),
    timeline: (chain, trader, id) => history(db, chain, trader, id),
  };
}

/** Another change is in the way: the transaction with the reservation of this one is rolled back. */
class OtherChange extends Error {}

async function noteChange(
  trx: Knex.Transaction,
  chain: ChainSlug,
  { id, tradeIndex, was, becomes, data, now: at, expiresAt }: OrderChange,
): Promise<void> {
  const { trader } = was;
  const values = {
    chain,
    trader,
    tradeIndex,
    id,
    was: termsOf(was),
    becomes: termsOf(becomes),
    data: data.toLowerCase(),
    now: at,
    expiresAt,
  };
  const noted = await askWithin(trx)(lock(amendLock(chain, trader, tradeIndex)), { asked: PREPARE_CHANGE, values });
  if (noted.length === 0) throw new OtherChange(`order ${id} is being changed`);
}

async function whyNotNoted(db: Knex, chain: ChainSlug, { id, tradeIndex, was, now: at }: OrderChange): Promise<ChangeNoted> {
  const given = await db('prepared_changes')
    .where({ chain, trader: was.trader, trade_index: tradeIndex, order_id: id })
    .first<{ expires_at: bigint } | undefined>('expires_at');
  return given && given.expires_at > at ? { kind: 'prepared', until: Number(given.expires_at) } : { kind: 'changing' };
}

/** What a change of a resting order repeats. */
const termsOf = ({ price, tp, sl, slippageP, collateralAmount }: Order): string =>
  encodeExact({ status: 'open', price, tp, sl, slippageP, collateralAmount });

async function expireSome(
  trx: Knex.Transaction,
  chain: ChainSlug,
  now: number,
  sent: readonly bigint[],
): Promise<{ readonly looked: number; readonly expired: number }> {
  // Locked rows are checked again the next time.
  const locked = await lockOrders(trx, chain, `${DUE_ORDERS} order by id limit ${EXPIRED_AT_ONCE} for update skip locked`, { now, sent });
  if (locked.length === 0) return { looked: 0, expired: 0 };
  // Assigning a nonce locks the row too: the second read sees a nonce assigned since the first, and none can follow.
  const ids = locked.map(({ id }) => String(id));
  const still = await lockOrders(trx, chain, `${DUE_ORDERS} and id = any(cast(:ids as bigint[])) order by id`, { now, sent, ids });
  await appendJournal(trx, chain, now, await expireOrders(trx, chain, still, { because: 'time', at: now }));
  return { looked: locked.length, expired: still.length };
}

async function expireOrders(
  trx: Knex.Transaction,
  chain: ChainSlug,
  rows: readonly LockedOrder[],
  { because, at }: { readonly because: 'time' | 'owner'; readonly at: number },
): Promise<NewJournalEntry[]> {
  const ids = rows.map(({ id }) => id);
  const timesOf = await timesHappened(trx, ids, 'expired');
  const moves = rows.map((row) => ({ row, happened: { kind: 'expired', because, number: timesOf(row.id) } as const }));
  return moveOrders(trx, chain, moves, at);
}

async function history(db: Knex, chain: ChainSlug, trader: Address, id: bigint): Promise<OrderHistory | null> {
  const order = await db('orders').where({ chain, trader, id }).first<{ id: bigint } | undefined>('id');
  if (order === undefined) return null;
  const events = await db.raw<{ rows: { event: string; orphaned: boolean }[] }>(
    'select event::text, orphaned from chain_events where order_id = :id and chain = :chain order by block_number, log_index, id',
    { chain, id } as never,
  );
  const repeats = await db('orders').where({ chain, repeat_of: id }).orderBy('id').pluck<bigint[]>('id');
  return { events: events.rows.map(({ event, orphaned }) => ({ event: readEvent(event), isTakenBack: orphaned })), repeats };
}
