import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { shapeOf } from '../../domain/order-shape.js';
import type { Order } from '../../domain/order.js';
import type { Draft, HandedOut, Placed } from '../../orders/orders-store.js';
import type { Address } from '../../ports.js';
import type { StoredOrder } from '../../tracking/tracking-store.js';
import { appendJournal } from './journal-rows.js';
import { knownOrders } from './known-orders.js';
import { lockOrders, moveOrder, timesHappened } from './move-order.js';
import { createSpendStore } from './spend-store.js';

/** Every rule that only holds if nobody else writes meanwhile: one clientId one order, so many unsent, so much a day. */

export async function placeOrder(trx: Knex.Transaction, draft: Draft): Promise<Placed> {
  const { chain, order } = draft;
  await lockTrader(trx, chain, order.trader);
  const known = order.clientId === null ? null : await knownByClientId(trx, chain, order.trader, order.clientId);
  if (known) return { kind: 'known', stored: known };
  const { rows } = await trx.raw<{ rows: [{ id: bigint }] }>(`select nextval('entity_ids') as id`);
  const fresh = { trader: order.trader, orderKey: null, homeKey: null, agent: draft.agent, repeatOf: null, order: null };
  return handOut(trx, draft, { row: { id: rows[0].id, ...fresh }, kind: 'prepared' });
}

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
  readonly kind: 'prepared' | 'renewed';
}

async function handOut(trx: Knex.Transaction, draft: Draft, { row, kind }: Handing): Promise<Placed> {
  const { chain, agent, order, fingerprint, spend, maxUnsent, steps } = draft;
  const at = order.createdAt;
  const unsent = await countUnsent(trx, chain, agent, at);
  if (unsent.count >= maxUnsent) return { kind: 'too-many', earliestExpiry: unsent.earliestExpiry };
  if (spend !== null) {
    const store = createSpendStore(trx);
    const reservation = { ...spend.account, id: row.id.toString(), usd: spend.usd };
    if (!(await store.reserve(reservation, spend.capUsd))) return { kind: 'over-cap', spentUsd: await store.spent(spend.account) };
  }
  const number = await timesHappened(trx, row.id, kind);
  const told = await moveOrder(trx, chain, row, { happened: { kind, order, ...(steps && { steps }), number }, at });
  await trx('orders').where({ chain, id: row.id }).update({ fingerprint, agent });
  await keepTag(trx, chain, row.id, { purpose: 'place', transaction: draft, order });
  await appendJournal(trx, chain, at, told);
  const [stored] = await knownOrders(trx, chain, 'id = :id', { id: row.id });
  if (!stored) throw new Error(`order ${row.id} was stored and is not there`);
  return { kind: 'placed', stored };
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
     where chain = :chain and agent = :agent and status = 'prepared' and not is_sent and expires_at > :now`,
    { chain, agent, now },
  );
  return { count: rows[0].count, earliestExpiry: Number(rows[0].earliest ?? now) };
}
