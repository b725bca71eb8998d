import { comparePlaces, type ChainEvent } from '../domain/chain-event.js';
import type { DiamondLog } from '../domain/diamond-log.js';
import { foldOrder } from '../domain/fold-order.js';
import { interpretLogs } from '../domain/interpret-logs.js';
import type { Order } from '../domain/order.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import {
  orderRefKey,
  tradeRefKey,
  type OrderRef,
  type StoredOrder,
  type StoredPosition,
  type Touched,
  type TrackingUnit,
  type TradeRef,
} from './tracking-store.js';

/** What a change of the chain's story did to what we show. */
export interface Changes {
  readonly events: readonly ChainEvent[];
  readonly orders: readonly StoredOrder[];
  readonly positions: readonly StoredPosition[];
}

export const NO_CHANGES: Changes = { events: [], orders: [], positions: [] };

/** New events on top of all others: the rows they touch move on from where they are. */
export async function applyFresh(unit: TrackingUnit, events: readonly ChainEvent[]): Promise<Changes> {
  const added = (await unit.append(events)).sort((a, b) => comparePlaces(a.place, b.place));
  const touched = touchedBy(added);
  const [orders, positions] = [await unit.orders(touched.orders), await unit.positions(touched.trades)];
  return save(unit, added, {
    orders: touched.orders.map((ref) => ({
      ...ref,
      order: added.filter(about.order(ref)).reduce(foldOrder, orders.get(orderRefKey(ref)) ?? null),
    })),
    positions: touched.trades.map((ref) => ({
      ...ref,
      position: added.filter(about.trade(ref)).reduce(foldPosition, positions.get(tradeRefKey(ref)) ?? null),
    })),
  });
}

/** Events that were overlooked, or taken back: the rows they touch are folded again from all that is left. */
export async function foldAgain(unit: TrackingUnit, touched: Touched, events: readonly ChainEvent[] = []): Promise<Changes> {
  const ofOrders = await unit.eventsOfOrders(touched.orders);
  const ofTrades = await unit.eventsOfTrades(touched.trades);
  return save(unit, events, {
    orders: touched.orders.map((ref) => ({ ...ref, order: (ofOrders.get(orderRefKey(ref)) ?? []).reduce<Order | null>(foldOrder, null) })),
    positions: touched.trades.map((ref) => ({
      ...ref,
      position: (ofTrades.get(tradeRefKey(ref)) ?? []).reduce<PositionState | null>(foldPosition, null),
    })),
  });
}

export async function applyLate(unit: TrackingUnit, events: readonly ChainEvent[]): Promise<Changes> {
  const added = await unit.append(events);
  return added.length === 0 ? NO_CHANGES : foldAgain(unit, touchedBy(added), added);
}

interface Rows {
  readonly orders: readonly (OrderRef & { readonly order: Order | null })[];
  readonly positions: readonly (TradeRef & { readonly position: PositionState | null })[];
}

/** A row that was never there and is not there now is not written. */
async function save(unit: TrackingUnit, events: readonly ChainEvent[], rows: Rows): Promise<Changes> {
  const known = await unit.orders(rows.orders);
  const knownTrades = await unit.positions(rows.positions);
  const orders = await unit.saveOrders(rows.orders.filter((row) => row.order !== null || known.has(orderRefKey(row))));
  const positions = await unit.savePositions(rows.positions.filter((row) => row.position !== null || knownTrades.has(tradeRefKey(row))));
  return { events, orders, positions };
}

const about = {
  order:
    (ref: OrderRef) =>
    ({ trader, orderKey }: ChainEvent): boolean =>
      trader === ref.trader && orderKey === ref.orderKey,
  trade:
    (ref: TradeRef) =>
    ({ trader, tradeIndex }: ChainEvent): boolean =>
      trader === ref.trader && tradeIndex === ref.tradeIndex,
};

export function touchedBy(events: readonly ChainEvent[]): Touched {
  const orders = new Map<string, OrderRef>();
  const trades = new Map<string, TradeRef>();
  for (const { trader, orderKey, tradeIndex } of events) {
    if (orderKey !== null) orders.set(orderRefKey({ trader, orderKey }), { trader, orderKey });
    if (tradeIndex !== null) trades.set(tradeRefKey({ trader, tradeIndex }), { trader, tradeIndex });
  }
  return { orders: [...orders.values()], trades: [...trades.values()] };
}

/** Logs → events, transaction by transaction, each seeing the positions as the ones before left them. */
export function interpretRange(logs: readonly DiamondLog[], known: ReadonlyMap<string, PositionState | null>): ChainEvent[] {
  const positions = new Map(known);
  return transactionsOf(logs).flatMap((transaction) => {
    const events = interpretLogs(transaction, (trader, tradeIndex) => positions.get(tradeRefKey({ trader, tradeIndex })) ?? null);
    for (const event of events) {
      if (event.tradeIndex === null) continue;
      const key = tradeRefKey({ trader: event.trader, tradeIndex: event.tradeIndex });
      positions.set(key, foldPosition(positions.get(key) ?? null, event));
    }
    return events;
  });
}

function transactionsOf(logs: readonly DiamondLog[]): DiamondLog[][] {
  const transactions = new Map<string, DiamondLog[]>();
  for (const log of logs) transactions.set(log.place.txHash, [...(transactions.get(log.place.txHash) ?? []), log]);
  return [...transactions.values()];
}
