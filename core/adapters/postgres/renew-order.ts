import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { Draft, Placed } from '../../ports/stores/orders.js';
import type { Address } from '../../types.js';
import type { StoredOrder } from '../../ports/stores/tracking.js';
import { appendJournal } from './journal-rows.js';
import { knownById } from './known-orders.js';
import { lockOrders, moveOrders, timesHappened } from './move-order.js';
import { keepTag } from './order-tags.js';
import { unsentOf } from './place-statement.js';
import { createSpendStore } from './spend-store.js';
import { lockTrader } from './trader-lock.js';

/** Prepares an unsent expired order again under its id. */
export async function renewOrder(trx: Knex.Transaction, id: bigint, draft: Draft): Promise<Placed | { readonly kind: 'moved-on' }> {
  const { chain, order } = draft;
  await lockTrader(trx, draft);
  const [row] = await lockOrders(trx, chain, 'id = :id and trader = :trader for update', { id, trader: order.trader });
  if (row?.order.status !== 'expired' || row.isSent) return { kind: 'moved-on' };
  return prepareAgain(trx, draft, { row, kind: 'renewed' });
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
  return { kind: 'placed', stored: await knownById(trx, chain, row.id) };
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
