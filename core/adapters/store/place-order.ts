import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { placeOffChain, type OwnEvent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import { shapeOf } from '../../domain/order-shape.js';
import type { Order } from '../../domain/order.js';
import type { Draft, HandedOut, KnownOrder, Placed } from '../../orders/orders-store.js';
import type { Address, Hex } from '../../ports.js';
import type { StoredOrder } from '../../tracking/tracking-store.js';
import { encodeExact } from './exact-json.js';
import { appendJournal, JOURNAL_CHANNEL } from './journal-rows.js';
import { knownOrders } from './known-orders.js';
import { lockOrders, moveOrder, timesHappened } from './move-order.js';
import { givenEvents, givenOrders } from './order-rows.js';
import { guardOpening } from './rules-guard.js';
import { RULES_OF } from './rules-sql.js';
import { createSpendStore } from './spend-store.js';
import { eventRows, orderRows, ownEventKey } from './tracking-rows.js';

const unsentOf = `chain = :chain and agent = :agent and status = 'prepared' and not is_sent and expires_at > :now`;

/** Every rule that only holds if nobody else writes meanwhile: one clientId one order, so many unsent, so much a day. */

/** Four statements, three where nothing is spent, one more where a bound of the operator has to be counted: every one of them is a round trip that other orders of the trader wait for. */
export async function placeOrder(trx: Knex.Transaction, draft: Draft): Promise<Placed> {
  const { chain, agent, order, maxUnsent, spend } = draft;
  await lockTrader(trx, chain, order.trader);
  const { id, known, unsent, earliest, rules } = await lookAround(trx, draft);
  if (known !== null) return { kind: 'known', stored: await knownById(trx, chain, known) };
  if (unsent >= maxUnsent) return { kind: 'too-many', earliestExpiry: Number(earliest ?? order.createdAt) };
  if (draft.guard) await guardOpening(trx, { chain, trader: order.trader }, draft.guard, rules);
  const overCap = spend === null ? null : await reserve(trx, id, spend);
  if (overCap !== null) return overCap;
  const event: OwnEvent = { kind: 'prepared', order, ...(draft.steps && { steps: draft.steps }), ...nowhere(order) };
  const stored = foldOrder(null, event);
  if (stored === null) throw new Error('an order that is prepared is one');
  await write(trx, draft, { id, event, order: stored });
  const { tag, data, gas, fingerprint } = draft;
  return {
    kind: 'placed',
    stored: {
      id,
      order: stored,
      orderKey: null,
      agent,
      fingerprint,
      repeatOf: null,
      transaction: { tag: lower(tag), data, gas },
      formerData: [],
      hashes: [],
    },
  };
}

const nowhere = ({ trader, createdAt }: Order) => ({ trader, orderKey: null, tradeIndex: null, place: placeOffChain(createdAt) });
const lower = (tag: Hex): Hex => tag.toLowerCase() as Hex;

interface Around {
  readonly id: bigint;
  readonly known: bigint | null;
  readonly unsent: number;
  readonly earliest: bigint | null;
  /** What is set for the trader; only read for an opening that the relayer sends. */
  readonly rules: string | null;
}

async function lookAround(trx: Knex.Transaction, { chain, agent, order, guard }: Draft): Promise<Around> {
  const { rows } = await trx.raw<{ rows: [Around] }>(guard ? `${LOOK_AROUND}, ${RULES_OF}` : LOOK_AROUND, {
    chain,
    agent,
    trader: order.trader,
    clientId: order.clientId,
    now: order.createdAt,
  } as never);
  return rows[0];
}

async function reserve(trx: Knex.Transaction, id: bigint, spend: NonNullable<Draft['spend']>): Promise<Placed | null> {
  const store = createSpendStore(trx);
  const isReserved = await store.reserve({ ...spend.account, id: id.toString(), usd: spend.usd }, spend.capUsd);
  return isReserved ? null : { kind: 'over-cap', spentUsd: await store.spent(spend.account) };
}

interface Written {
  readonly id: bigint;
  readonly event: OwnEvent;
  readonly order: Order;
}

async function write(trx: Knex.Transaction, draft: Draft, { id, event, order }: Written): Promise<void> {
  const { chain, agent, fingerprint, tag, data, gas } = draft;
  const row: StoredOrder = { id, trader: order.trader, orderKey: null, homeKey: null, agent, repeatOf: null, order };
  await trx.raw(WRITE, {
    chain,
    id,
    trader: order.trader,
    at: order.createdAt,
    events: eventRows([{ event, orderId: id, key: ownEventKey(id, 'prepared', 0) }]),
    orders: orderRows([row]),
    fingerprint,
    tag: lower(tag),
    shape: shapeOf(order),
    data,
    gas,
    fact: encodeExact({ kind: 'order', id, order }),
    channel: JOURNAL_CHANNEL,
  } as never);
}

const LOOK_AROUND = `
  select nextval('entity_ids') as id,
    (select id from orders where chain = :chain and trader = :trader and client_id = cast(:clientId as text)) as known,
    (select count(*)::int from orders where ${unsentOf}) as unsent,
    (select min(expires_at) from orders where ${unsentOf}) as earliest`;

/** The order, its first event, its bytes and what its account is told: as one statement they cannot be half there. */
const WRITE = `
  with happened as (
    insert into chain_events (chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event)
    select :chain, event_key, trader, kind, order_key, order_id, trade_index, block_number, log_index, is_fill, event::jsonb
    from ${givenEvents(':events')}
  ), placed as (
    insert into orders (id, chain, trader, agent, client_id, fingerprint, status, is_live, expires_at, state)
    select id, :chain, trader, agent, client_id, :fingerprint, status, is_live, expires_at, state::jsonb from ${givenOrders(':orders')}
  ), tagged as (
    insert into order_tags (chain, tag, order_id, purpose, shape, data, gas)
    values (:chain, :tag, :id, 'place', :shape, :data, cast(:gas as bigint))
  ), clock as (
    insert into account_clocks (chain, trader, cursor) values (:chain, :trader, 1)
    on conflict (chain, trader) do update set cursor = account_clocks.cursor + 1 returning cursor
  ), told as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select :chain, :trader, cursor, :at, 'order', :id, cast(:fact as jsonb) from clock returning 1
  )
  select pg_notify(:channel, '') from told`;

export async function renewOrder(trx: Knex.Transaction, id: bigint, draft: Draft): Promise<Placed | { readonly kind: 'moved-on' }> {
  const { chain, order } = draft;
  await lockTrader(trx, chain, order.trader);
  const [row] = await lockOrders(trx, chain, 'id = :id and trader = :trader for update', { id, trader: order.trader });
  if (row?.order.status !== 'expired' || row.isSent) return { kind: 'moved-on' };
  return handOut(trx, draft, { row, kind: 'renewed' });
}

export async function knownByClientId(db: Knex, chain: ChainSlug, trader: Address, clientId: string) {
  return (await knownOrders(db, chain, 'trader = :trader and client_id = :clientId', { trader, clientId }))[0] ?? null;
}

interface Handing {
  readonly row: StoredOrder;
  readonly kind: 'renewed';
}

async function handOut(trx: Knex.Transaction, draft: Draft, { row, kind }: Handing): Promise<Placed> {
  const { chain, agent, order, fingerprint, spend, maxUnsent, steps } = draft;
  const at = order.createdAt;
  const unsent = await countUnsent(trx, chain, agent, at);
  if (unsent.count >= maxUnsent) return { kind: 'too-many', earliestExpiry: unsent.earliestExpiry };
  const overCap = spend === null ? null : await reserve(trx, row.id, spend);
  if (overCap !== null) return overCap;
  const number = await timesHappened(trx, row.id, kind);
  const told = await moveOrder(trx, chain, row, { happened: { kind, order, ...(steps && { steps }), number }, at });
  await trx('orders').where({ chain, id: row.id }).update({ fingerprint, agent });
  await keepTag(trx, chain, row.id, { purpose: 'place', transaction: draft, order });
  await appendJournal(trx, chain, at, told);
  return { kind: 'placed', stored: await knownById(trx, chain, row.id) };
}

async function knownById(trx: Knex.Transaction, chain: ChainSlug, id: bigint): Promise<KnownOrder> {
  const [stored] = await knownOrders(trx, chain, 'id = :id', { id });
  if (!stored) throw new Error(`order ${id} was stored and is not there`);
  return stored;
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

/** Orders of one trader are prepared one after the other, on whichever replica. */
const lockTrader = (trx: Knex.Transaction, chain: ChainSlug, trader: Address): Knex.Raw =>
  trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`diamond-gateway orders ${chain} ${trader}`]);

async function countUnsent(trx: Knex.Transaction, chain: ChainSlug, agent: Address, now: number) {
  const { rows } = await trx.raw<{ rows: [{ count: number; earliest: bigint | null }] }>(
    `select count(*)::int as count, min(expires_at) as earliest from orders
     where ${unsentOf}`,
    { chain, agent, now },
  );
  return { count: rows[0].count, earliestExpiry: Number(rows[0].earliest ?? now) };
}
