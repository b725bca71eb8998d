import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import { placeOffChain, type Lapsed, type OwnEvent, type Prepared, type Sent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import type { Order } from '../../domain/order.js';
import type { StoredOrder } from '../../tracking/tracking-store.js';
import type { Told } from './journal-rows.js';
import { appendEvents, ORDER_COLUMNS, saveOrders, storedOrder, type OrderRow } from './order-rows.js';
import { ownEventKey } from './tracking-rows.js';

/** Steps of an order that happen with us and not on chain. Whoever takes one holds the order's row. */

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
  return rows.flatMap((row): LockedOrder[] => {
    const stored = storedOrder(row);
    return stored.order === null ? [] : [{ ...stored, order: stored.order, isSent: row.is_sent }];
  });
}

type Happened =
  | (Pick<Prepared, 'kind' | 'order' | 'steps'> & { readonly number: number })
  | (Pick<Sent, 'kind' | 'hash'> & { readonly number: string })
  | (Pick<Lapsed, 'kind' | 'because'> & { readonly number: number });

/** What to tell the account; nothing when it changes nothing. */
export async function moveOrder(
  trx: Knex.Transaction,
  chain: ChainSlug,
  row: StoredOrder,
  { happened, at }: { readonly happened: Happened; readonly at: number },
): Promise<Told[]> {
  const { number, ...what } = happened;
  const event: OwnEvent = { ...what, trader: row.trader, orderKey: null, tradeIndex: null, place: placeOffChain(at) };
  await appendEvents(trx, chain, [{ event, orderId: row.id, key: ownEventKey(row.id, event.kind, number) }]);
  const order = foldOrder(row.order, event);
  if (order === null || order === row.order) return [];
  await saveOrders(trx, chain, [{ ...row, order }]);
  return [{ trader: row.trader, fact: { kind: 'order', id: row.id, order } }];
}

/** How often this has happened to the order; its row is locked, so nobody counts the same. */
export async function timesHappened(trx: Knex.Transaction, id: bigint, kind: OwnEvent['kind']): Promise<number> {
  const sql = 'select count(*)::int as times from chain_events where order_id = :id and kind = :kind';
  const { rows } = await trx.raw<{ rows: { times: number }[] }>(sql, { id, kind } as never);
  return rows[0]?.times ?? 0;
}
