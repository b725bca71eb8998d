import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import { placeOffChain, type Lapsed, type OwnEvent, type Prepared, type Sent } from '../../domain/chain-event.js';
import { foldOrder } from '../../domain/fold-order.js';
import type { Order } from '../../domain/order.js';
import type { StoredOrder } from '../../ports/stores/tracking.js';
import type { NewJournalEntry } from './journal-rows.js';
import { appending, ORDER_COLUMNS, saving, storedOrder, type OrderRow } from './order-rows.js';
import { runAll } from './statement.js';
import { ownEventKey } from './tracking-rows.js';

/** Order steps that happen off chain. The caller holds the lock of the order's row. */

export interface LockedOrder extends StoredOrder {
  readonly order: Order;
  readonly isSent: boolean;
}

export interface LockedRow extends OrderRow {
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

export const lockedOrders = (rows: readonly LockedRow[]): LockedOrder[] =>
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
