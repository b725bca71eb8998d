import { comparePlaces, isFillAction, isWithdrawal, type ChainEvent } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import { tagsIn } from '../trading/tag.js';
import type { Hex } from '../types.js';
import { NO_CHANGES, type Changes, type NewJournalEntry } from './changes.js';
import { foldAgain } from './fold-again.js';
import type { Linked } from './link-book.js';
import { beginnings, linkOrders, refsOf } from './link-orders.js';
import { tradeRefKey, type StoredEvent, type TrackingUnit, type TradeRef } from '../ports/stores/tracking.js';

const NO_INPUTS: ReadonlyMap<Hex, Hex> = new Map();

/** Applies events newer than all stored ones: affected rows are folded forward from their stored state. */
export async function applyFresh(unit: TrackingUnit, events: readonly ChainEvent[], inputs = NO_INPUTS): Promise<Changes> {
  const added = (await unit.unknown(events)).sort((a, b) => comparePlaces(a.place, b.place));
  if (added.length === 0) return NO_CHANGES;
  const linked = await link(unit, added, inputs);
  if (linked.moved.length > 0) return foldLinked(unit, linked);
  const stored = new Map((await unit.append(linked.steps)).map((one) => [one.event, one]));
  unit.saveOrders(linked.orders);
  unit.noteHashes(linked.hashes);
  const trades = await moveTrades(unit, added);
  const entries = linked.steps.flatMap((step): NewJournalEntry[] => {
    const { trader } = step.event;
    const { before, after } = step;
    const isChanged = after?.order && after.order !== before;
    const order = isChanged ? [{ trader, fact: { kind: 'order', id: after.id, order: after.order } } as const] : [];
    return [...order, ...fillOf(stored.get(step.event)), ...trades.entriesOf(step.event)];
  });
  return { events: linked.steps.map(({ event }) => event), orders: linked.orders, positions: trades.positions, journalEntries: entries };
}

interface LinkedRows extends Linked {
  /** Orders as they are stored. */
  readonly before: ReadonlyMap<bigint, Order | null>;
}

async function link(unit: TrackingUnit, events: readonly ChainEvent[], inputs: ReadonlyMap<Hex, Hex>): Promise<LinkedRows> {
  const tags = await unit.tags([...new Set([...inputs.values()].flatMap(tagsIn))]);
  const orders = await unit.orders({ refs: refsOf(events), ids: [...new Set(tags.map(({ orderId }) => orderId))] });
  const linked = linkOrders({ events, orders, tags, inputs, newIds: await unit.newOrderIds(beginnings(events, orders, tags)) });
  return { ...linked, before: new Map(orders.map(({ id, order }) => [id, order])) };
}

/** A profit withdrawal is journalled as a fill although it trades nothing, because the contract reports it as an execution. */
function fillOf(stored: StoredEvent | undefined): NewJournalEntry[] {
  if (stored?.event.kind !== 'executed' || !(isFillAction(stored.event.action) || isWithdrawal(stored.event))) return [];
  return [{ trader: stored.event.trader, fact: { kind: 'fill', id: stored.id, executed: stored.event } }];
}

/** Folds positions event by event, so that each journal entry carries the position as it was after its event. */
async function moveTrades(unit: TrackingUnit, events: readonly ChainEvent[]) {
  const refs = tradesOf(events);
  const states = new Map<string, PositionState | null>(await unit.positions(refs));
  const after = new Map<ChainEvent, PositionState>();
  for (const event of events) {
    if (event.tradeIndex === null) continue;
    const key = tradeRefKey({ trader: event.trader, tradeIndex: event.tradeIndex });
    const before = states.get(key) ?? null;
    const position = foldPosition(before, event);
    if (position === null || position === before) continue;
    states.set(key, position);
    after.set(event, position);
  }
  const changed = new Set([...after.keys()].map(({ trader, tradeIndex }) => tradeRefKey({ trader, tradeIndex: tradeIndex ?? -1 })));
  const positions = await unit.savePositions(
    refs.filter((ref) => changed.has(tradeRefKey(ref))).map((ref) => ({ ...ref, position: states.get(tradeRefKey(ref)) ?? null })),
  );
  const ids = new Map(positions.map((position) => [tradeRefKey(position), position.id]));
  return {
    positions,
    entriesOf(event: ChainEvent): NewJournalEntry[] {
      const { trader, tradeIndex } = event;
      const position = after.get(event);
      const id = tradeIndex === null ? undefined : ids.get(tradeRefKey({ trader, tradeIndex }));
      return position && id !== undefined && tradeIndex !== null ? [{ trader, fact: { kind: 'position', id, tradeIndex, position } }] : [];
    },
  };
}

/** Applies events found by a reread: affected rows are folded again from all their stored events. */
export async function applyLate(unit: TrackingUnit, events: readonly ChainEvent[], inputs = NO_INPUTS): Promise<Changes> {
  const added = (await unit.unknown(events)).sort((a, b) => comparePlaces(a.place, b.place));
  return added.length === 0 ? NO_CHANGES : foldLinked(unit, await link(unit, added, inputs));
}

async function foldLinked(unit: TrackingUnit, linked: LinkedRows): Promise<Changes> {
  const stored = await unit.append(linked.steps);
  for (const { trader, orderKey, to } of linked.moved) unit.moveEvents({ trader, orderKey }, to);
  const events = linked.steps.map(({ event }) => event);
  const orders = linked.orders.map((row) => ({ ...row, order: linked.before.get(row.id) ?? null }));
  const changes = await foldAgain(unit, { orders, trades: tradesOf(events) }, 'news');
  unit.noteHashes(linked.hashes);
  // Order entries precede fill entries, as in applyFresh.
  return { ...changes, events, journalEntries: [...changes.journalEntries, ...stored.flatMap(fillOf)] };
}

const tradesOf = (events: readonly ChainEvent[]): TradeRef[] => [
  ...new Map(
    events.flatMap(({ trader, tradeIndex }) => (tradeIndex === null ? [] : [{ trader, tradeIndex }])).map((ref) => [tradeRefKey(ref), ref]),
  ).values(),
];
