import type { Order } from '../domain/order.js';
import { foldOrder } from '../domain/fold-order.js';
import { placeAfter } from '../domain/level.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import type { Changes, NewJournalEntry } from './changes.js';
import { tradeRefKey, type StoredOrder, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';

/** Reverts all events above the block, folds the affected rows again and returns corrections for what was published. */
export async function revertAbove(unit: TrackingUnit, block: bigint): Promise<Changes> {
  const orphaned = await unit.orphanAbove(block);
  const orders = await unit.orders({ refs: orphaned.places, ids: orphaned.orderIds });
  const changes = await foldAgain(unit, { orders, trades: orphaned.trades }, 'correction');
  const fills = orphaned.fills.map(({ id, executed }): NewJournalEntry => ({
    trader: executed.trader,
    fact: { kind: 'correction', of: { kind: 'fill', id, executed } },
  }));
  return { ...changes, journalEntries: [...fills, ...changes.journalEntries] };
}

interface Rows {
  readonly orders: readonly StoredOrder[];
  readonly trades: readonly TradeRef[];
}

/** Folds the given rows again from all their events that are not orphaned. */
export async function foldAgain(unit: TrackingUnit, { orders, trades }: Rows, as: 'news' | 'correction'): Promise<Changes> {
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
  const entries = folded.flatMap(({ before, row }): NewJournalEntry[] => {
    if (isSame(before, row.order)) return [];
    const { id, trader, order } = row;
    if (before === null || (as === 'news' && order !== null)) return order === null ? [] : [{ trader, fact: { kind: 'order', id, order } }];
    return [{ trader, fact: { kind: 'correction', of: { kind: 'order', id, order, before } } }];
  });
  return { events: [], orders: rows, positions: positions.rows, journalEntries: [...entries, ...positions.entries] };
}

async function foldTradesAgain(unit: TrackingUnit, refs: readonly TradeRef[], as: 'news' | 'correction') {
  const before = await unit.positions(refs);
  const events = await unit.eventsOfTrades(refs);
  const folded = refs.map((ref) => ({
    ...ref,
    position: (events.get(tradeRefKey(ref)) ?? []).reduce<PositionState | null>(foldPosition, null),
  }));
  // A row that neither existed before nor exists now is not written.
  const rows = await unit.savePositions(folded.filter((row) => row.position !== null || before.has(tradeRefKey(row))));
  const entries = rows.flatMap(({ id, trader, tradeIndex, position }): NewJournalEntry[] => {
    const was = before.get(tradeRefKey({ trader, tradeIndex })) ?? null;
    if (isSame(was, position)) return [];
    if (was === null || (as === 'news' && position !== null))
      return position === null ? [] : [{ trader, fact: { kind: 'position', id, tradeIndex, position } }];
    return [{ trader, fact: { kind: 'correction', of: { kind: 'position', id, tradeIndex, position, before: was } } }];
  });
  return { rows, entries };
}

/** Deep equality of plain values, independent of field order. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  return left.length === right.length && left.every(([name, value]) => name in b && isSame(value, b[name as keyof typeof b]));
}
