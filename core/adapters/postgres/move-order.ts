import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import { placeOffChain, type Lapsed, type OwnEvent, type Prepared, type Sent } from '../../domain/chain-event.js';
import { foldOrder, shapeOf } from '../../domain/order-machine.js';
import type { Order } from '../../domain/order.js';
import type { StoredOrder } from '../../ports/stores/tracking.js';
import { appendJournal, journalStatements, type NewJournalEntry } from './journal-rows.js';
import {
  appending,
  eventRows,
  givenEvents,
  givenOrders,
  ORDER_COLUMNS,
  orderRows,
  ownEventKey,
  saving,
  storedOrder,
  type KeyedEvent,
  type OrderRow,
} from './tracking-rows.js';
import { isNamed, lockIn, ordersLock, runAll, statement, type Steps } from './statement.js';
import type { Address, Hex } from '../../types.js';
import type { Draft, HandedOut, Placed } from '../../ports/stores/orders.js';
import { knownById, placeOthers } from './place-order.js';
import { unsentOf } from './place-statement.js';
import { createSpendStore } from './spend-store.js';

/** Order steps that happen off chain. The caller holds the lock of the order's row. */

export interface LockedOrder extends StoredOrder {
  readonly order: Order;
  readonly isSent: boolean;
}

interface LockedRow extends OrderRow {
  readonly is_sent: boolean;
}

export async function lockOrders(
  trx: Knex.Transaction,
  chain: ChainSlug,
  condition: string,
  values: Readonly<Record<string, unknown>>,
): Promise<LockedOrder[]> {
  const sql = `select ${ORDER_COLUMNS}, is_sent from orders where chain = :chain and state is not null and ${condition}`;
  const { rows } = await trx.raw<{ rows: LockedRow[] }>(sql, { chain, ...values } as never);
  return lockedOrders(rows);
}

const lockedOrders = (rows: readonly LockedRow[]): LockedOrder[] =>
  rows.flatMap((row): LockedOrder[] => {
    const stored = storedOrder(row);
    return stored.order === null ? [] : [{ ...stored, order: stored.order, isSent: row.is_sent }];
  });

type Happened =
  | (Pick<Prepared, 'kind' | 'order' | 'steps'> & { readonly number: number })
  | (Pick<Sent, 'kind' | 'hash'> & { readonly number: string })
  | (Pick<Lapsed, 'kind' | 'because'> & { readonly number: number });

interface Move {
  readonly row: StoredOrder;
  readonly happened: Happened;
}

/** Applies all moves in a fixed number of statements. Returns the journal entries of the orders that changed. */
export async function moveOrders(trx: Knex.Transaction, chain: ChainSlug, moves: readonly Move[], at: number): Promise<NewJournalEntry[]> {
  const steps = moves.map(({ row, happened: { number, ...what } }) => {
    const event: OwnEvent = { ...what, trader: row.trader, orderKey: null, tradeIndex: null, place: placeOffChain(at) };
    return { row, event, key: ownEventKey(row.id, event.kind, number), order: foldOrder(row.order, event) };
  });
  const events = steps.map(({ row, event, key }) => ({ event, orderId: row.id, key }));
  const moved = steps.flatMap(({ row, order }) => (order === null || order === row.order ? [] : [{ ...row, order }]));
  await runAll(trx, [...(events.length === 0 ? [] : [appending(chain, events)]), ...saving(chain, moved)]);
  return moved.map(({ id, trader, order }) => ({ trader, fact: { kind: 'order', id, order } }));
}

/** How often this event has happened to each of the orders; their rows are locked, so the numbers are unique. */
export async function timesHappened(
  trx: Knex.Transaction,
  ids: readonly bigint[],
  kind: OwnEvent['kind'],
): Promise<(id: bigint) => number> {
  if (ids.length === 0) return () => 0;
  const sql = `
    select order_id, count(*)::int as times from chain_events where order_id = any(cast(:ids as bigint[])) and kind = :kind group by order_id`;
  const { rows } = await trx.raw<{ rows: { order_id: bigint; times: number }[] }>(sql, { ids: ids.map(String), kind } as never);
  const times = new Map(rows.map((row) => [row.order_id, row.times]));
  return (id) => times.get(id) ?? 0;
}

interface SentHash {
  readonly id: bigint;
  readonly hash: Hex;
}

/** Stores the hashes of transactions that are about to be sent or were reported, in two round trips; idempotent. */
export async function recordHashes(steps: Steps, chain: ChainSlug, sent: readonly SentHash[], at: number): Promise<void> {
  const hashes = new Map(sent.map(({ id, hash }) => [id, hash.toLowerCase() as Hex]));
  const given = JSON.stringify([...hashes].map(([id, hash]) => ({ id: id.toString(), hash })));
  steps.leave({ asked: LOCK, values: { chain, given } });
  const fresh = lockedOrders(await steps.ask<LockedRow>(FRESH, { chain, given }));
  if (fresh.length === 0) return;
  const events: KeyedEvent[] = [];
  const published: NewJournalEntry[] = [];
  const moved: LockedOrder[] = [];
  for (const row of fresh) {
    moved.push(row);
    if (isOnChain(row)) continue;
    const hash = hashes.get(row.id) ?? '0x';
    const event: OwnEvent = { kind: 'sent', hash, trader: row.trader, orderKey: null, tradeIndex: null, place: placeOffChain(at) };
    events.push({ event, orderId: row.id, key: ownEventKey(row.id, event.kind, hash) });
    const order = foldOrder(row.order, event) ?? row.order;
    moved.splice(-1, 1, { ...row, order });
    if (order !== row.order) published.push({ trader: row.trader, fact: { kind: 'order', id: row.id, order } });
  }
  const values = { chain, at, given, events: eventRows(events), orders: orderRows(moved) };
  steps.leave({ asked: RECORD, values }, ...journalStatements(chain, at, published));
}

/** A replacement may be signed while its predecessor is mined: chain events come after our own steps. */
const isOnChain = ({ order: { status } }: LockedOrder): boolean => status !== 'prepared' && status !== 'expired';

const GIVEN = 'jsonb_to_recordset(:given::jsonb) as given(id bigint, hash text)';

const LOCK = statement(`
  select 1 from orders where chain = :chain and ${isNamed('id', GIVEN)} and state is not null order by id for update`);

/** Orders whose hash is not stored. Must be read under their locks, since a concurrent transaction may be about to store it. */
const FRESH = statement(`
  select ${ORDER_COLUMNS}, is_sent from orders
  where chain = :chain and state is not null and id = any(array(
    select given.id from ${GIVEN} where not exists (select from order_hashes as kept where kept.order_id = given.id and kept.hash = given.hash)))`);

/** Sending changes neither key nor status of an order, only its state document and `is_sent`. */
const RECORD = statement(`
  with moved as materialized (
    select * from ${givenOrders(':orders')}
  ), happened as (
    insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event)
    select cast(:chain as text), event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event::jsonb
    from ${givenEvents(':events')} on conflict (chain, event_key) do nothing
  ), kept as (
    insert into order_hashes (chain, order_id, hash, seen_at)
    select cast(:chain as text), given.id, given.hash, cast(:at as bigint) from ${GIVEN} join moved on moved.id = given.id on conflict (order_id, hash) do nothing
  )
  update orders set is_sent = true, state = moved.state::jsonb from moved where orders.chain = cast(:chain as text) and orders.id = moved.id
    and ${isNamed('orders.id', 'moved')}`);

/** Prepares an unsent expired order again under its id, and the further orders of its new transaction. */
export async function renewOrder(
  trx: Knex.Transaction,
  id: bigint,
  draft: Draft,
  others: readonly Draft[],
): Promise<Placed | { readonly kind: 'moved-on' }> {
  const { chain, order } = draft;
  await lockIn(trx, ordersLock(chain, order.trader));
  const [row] = await lockOrders(trx, chain, 'id = :id and trader = :trader for update', { id, trader: order.trader });
  if (row?.order.status !== 'expired' || row.isSent) return { kind: 'moved-on' };
  const renewed = await prepareAgain(trx, draft, { row, kind: 'renewed' });
  return renewed.kind === 'placed' ? { ...renewed, others: await placeOthers(trx, others) } : renewed;
}

interface Renewal {
  readonly row: StoredOrder;
  readonly kind: 'renewed';
}

async function prepareAgain(trx: Knex.Transaction, draft: Draft, { row, kind }: Renewal): Promise<Placed> {
  const { chain, agent, order, fingerprint, spend, maxUnsent, steps } = draft;
  const at = order.createdAt;
  const unsent = await countUnsent(trx, chain, agent, at);
  if (unsent.count >= maxUnsent) return { kind: 'too-many', earliestExpiry: unsent.earliestExpiry };
  const overCap = spend === null ? null : await reserve(trx, row.id, spend);
  if (overCap !== null) return overCap;
  const timesOf = await timesHappened(trx, [row.id], kind);
  const happened = { kind, order, ...(steps && { steps }), number: timesOf(row.id) };
  const entries = await moveOrders(trx, chain, [{ row, happened }], at);
  await trx('orders').where({ chain, id: row.id }).update({ fingerprint, agent });
  await keepTag(trx, chain, row.id, { purpose: 'place', transaction: draft, order });
  await appendJournal(trx, chain, at, entries);
  return { kind: 'placed', stored: await knownById(trx, chain, row.id), others: [] };
}

async function reserve(trx: Knex.Transaction, id: bigint, spend: NonNullable<Draft['spend']>): Promise<Placed | null> {
  const store = createSpendStore(trx);
  const isReserved = await store.reserve({ ...spend.account, id: id.toString(), usd: spend.usd }, spend.capUsd);
  return isReserved ? null : { kind: 'over-cap', spentUsd: await store.spent(spend.account) };
}

async function countUnsent(trx: Knex.Transaction, chain: ChainSlug, agent: Address, now: number) {
  const { rows } = await trx.raw<{ rows: [{ count: number; earliest: bigint | null }] }>(
    `select count(*)::int as count, min(expires_at) as earliest from orders
     where ${unsentOf}`,
    { chain, agent, now },
  );
  return { count: rows[0].count, earliestExpiry: Number(rows[0].earliest ?? now) };
}

export async function keepTag(
  trx: Knex,
  chain: ChainSlug,
  id: bigint,
  given: { readonly purpose: 'place' | 'replace'; readonly transaction: HandedOut; readonly order: Order },
): Promise<void> {
  const { tag, data, gas } = given.transaction;
  const row = { chain, tag: tag.toLowerCase(), order_id: id, purpose: given.purpose, shape: shapeOf(given.order), data, gas };
  await trx('order_tags').insert(row).onConflict(['chain', 'tag']).ignore();
}
