import type { Order } from '../domain/order.js';
import { foldOrder } from '../domain/fold-order.js';
import { placeAfter } from '../domain/level.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import type { Changes, Told } from './changes.js';
import { isSame } from './is-same.js';
import { tradeRefKey, type StoredOrder, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';

/** The chain left our branch: everything that was told above the block is taken back, and what is left is true. */
export async function takeBackAbove(unit: TrackingUnit, block: bigint): Promise<Changes> {
  const taken = await unit.orphanAbove(block);
  const orders = await unit.orders({ refs: taken.places, ids: taken.orderIds });
  const changes = await foldAgain(unit, { orders, trades: taken.trades }, 'correction');
  const fills = taken.fills.map(({ id, executed }): Told => ({
    trader: executed.trader,
    fact: { kind: 'correction', of: { kind: 'fill', id, executed } },
  }));
  return { ...changes, told: [...fills, ...changes.told] };
}

interface Again {
  readonly orders: readonly StoredOrder[];
  readonly trades: readonly TradeRef[];
}

/** Rows as they are stored, folded anew from all events that count. */
export async function foldAgain(unit: TrackingUnit, { orders, trades }: Again, as: 'news' | 'correction'): Promise<Changes> {
  const ofOrders = await unit.eventsOfOrders(orders.map(({ id }) => id));
  const folded = orders.map((row) => {
    const events = ofOrders.get(row.id) ?? [];
    const orderKey = events.findLast((event) => event.orderKey !== null)?.orderKey ?? null;
    const order = events.reduce<Order | null>(foldOrder, null);
    return { before: row.order, row: { ...row, orderKey: placeAfter(order, orderKey), order } };
  });
  const rows = folded.map(({ row }) => row);
  unit.saveOrders(rows);
  const positions = await foldTradesAgain(unit, trades, as);
  const told = folded.flatMap(({ before, row }): Told[] => {
    if (isSame(before, row.order)) return [];
    const { id, trader, order } = row;
    if (before === null || (as === 'news' && order !== null)) return order === null ? [] : [{ trader, fact: { kind: 'order', id, order } }];
    return [{ trader, fact: { kind: 'correction', of: { kind: 'order', id, order, before } } }];
  });
  return { events: [], orders: rows, positions: positions.rows, told: [...told, ...positions.told] };
}

async function foldTradesAgain(unit: TrackingUnit, refs: readonly TradeRef[], as: 'news' | 'correction') {
  const before = await unit.positions(refs);
  const events = await unit.eventsOfTrades(refs);
  const folded = refs.map((ref) => ({
    ...ref,
    position: (events.get(tradeRefKey(ref)) ?? []).reduce<PositionState | null>(foldPosition, null),
  }));
  // A row that was never there and is not there now is not written.
  const rows = await unit.savePositions(folded.filter((row) => row.position !== null || before.has(tradeRefKey(row))));
  const told = rows.flatMap(({ id, trader, tradeIndex, position }): Told[] => {
    const was = before.get(tradeRefKey({ trader, tradeIndex })) ?? null;
    if (isSame(was, position)) return [];
    if (was === null || (as === 'news' && position !== null))
      return position === null ? [] : [{ trader, fact: { kind: 'position', id, tradeIndex, position } }];
    return [{ trader, fact: { kind: 'correction', of: { kind: 'position', id, tradeIndex, position, before: was } } }];
  });
  return { rows, told };
}
