import {
  comparePlaces,
  isFillAction,
  isWithdrawal,
  type ChainEvent,
  type OrderKey,
  type Replaced,
  type Requested,
  type Rested,
} from '../domain/chain-event.js';
import type { SizeUnits } from '../domain/net-position.js';
import type { Order } from '../domain/order.js';
import { foldPosition, type PositionState } from '../domain/position.js';
import { tagsIn } from '../trading/encode-intent.js';
import { TRIGGER_EVENTS } from '../domain/triggers.js';
import type { Address, Hex } from '../types.js';
import {
  NO_CHANGES,
  type Changes,
  type NewJournalEntry,
  tradeRefKey,
  type StoredEvent,
  type StoredOrder,
  type TrackingUnit,
  type TradeRef,
  orderRefKey,
  type KnownTag,
  type OrderRef,
} from '../ports/stores/tracking.js';
import { type Linked, createBook, isUnplaced, type Book, type LinkInput, type Step } from './link-book.js';
import { foldOrder, placeAfter, shapeOfEvent } from '../domain/order-machine.js';
import { foldFresh, outdatedByUndoing, refoldNets, tradersOf } from './net-positions.js';
import { levelChanges, levelRefs, setsLevel } from './link-levels.js';

/** What is known besides the events. */
export interface Known {
  readonly inputs?: ReadonlyMap<Hex, Hex>;
  /** Null before the collaterals are loaded. */
  readonly units?: SizeUnits | null;
}

const NO_INPUTS: ReadonlyMap<Hex, Hex> = new Map();
const NO_UNITS: SizeUnits = [];

/** Applies events newer than all stored ones: affected rows are folded forward from their stored state. */
export async function applyFresh(unit: TrackingUnit, events: readonly ChainEvent[], known: Known = {}): Promise<Changes> {
  const { inputs = NO_INPUTS, units = NO_UNITS } = known;
  const added = (await unit.unknown(events)).sort((a, b) => comparePlaces(a.place, b.place));
  if (added.length === 0) return NO_CHANGES;
  const linked = await link(unit, added, inputs);
  if (linked.moved.length > 0) return foldLinked(unit, linked, units);
  const nets = await foldFresh(unit, added, units);
  const steps = linked.steps.map((step) => ({ ...step, net: nets.of.get(step.event) }));
  const stored = new Map((await unit.append(steps)).map((one) => [one.event, one]));
  unit.saveOrders(linked.orders);
  unit.noteHashes(linked.hashes);
  const trades = await moveTrades(unit, added);
  await unit.refoldTriggers(tradersWithTriggers(added), oldestBlock(added));
  await refoldNets(unit, nets.outdated, units);
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
export async function applyLate(unit: TrackingUnit, events: readonly ChainEvent[], known: Known = {}): Promise<Changes> {
  const { inputs = NO_INPUTS, units = NO_UNITS } = known;
  const added = (await unit.unknown(events)).sort((a, b) => comparePlaces(a.place, b.place));
  return added.length === 0 ? NO_CHANGES : foldLinked(unit, await link(unit, added, inputs), units);
}

async function foldLinked(unit: TrackingUnit, linked: LinkedRows, units: SizeUnits | null): Promise<Changes> {
  const stored = await unit.append(linked.steps);
  for (const { trader, orderKey, to } of linked.moved) unit.moveEvents({ trader, orderKey }, to);
  const events = linked.steps.map(({ event }) => event);
  const orders = linked.orders.map((row) => ({ ...row, order: linked.before.get(row.id) ?? null }));
  const changes = await foldAgain(unit, { orders, trades: tradesOf(events) }, 'update');
  unit.noteHashes(linked.hashes);
  // An execution may be linked to another order now, whose triggers came with it.
  const relinked = linked.moved.map(({ trader }) => trader);
  await unit.refoldTriggers([...new Set([...tradersWithTriggers(events), ...relinked])], oldestBlock(events));
  await refoldNets(unit, tradersOf(events), units);
  // Order entries precede fill entries, as in applyFresh.
  return { ...changes, events, journalEntries: [...changes.journalEntries, ...stored.flatMap(fillOf)] };
}

const tradesOf = (events: readonly ChainEvent[]): TradeRef[] => [
  ...new Map(
    events.flatMap(({ trader, tradeIndex }) => (tradeIndex === null ? [] : [{ trader, tradeIndex }])).map((ref) => [tradeRefKey(ref), ref]),
  ).values(),
];

const SETS_TRIGGERS: ReadonlySet<ChainEvent['kind']> = new Set(TRIGGER_EVENTS);

const tradersWithTriggers = (events: readonly ChainEvent[]): Address[] => [
  ...new Set(events.flatMap(({ kind, trader }) => (SETS_TRIGGERS.has(kind) ? [trader] : []))),
];

const oldestBlock = (events: readonly ChainEvent[]): bigint =>
  events.reduce((oldest, { place }) => (place.blockNumber < oldest ? place.blockNumber : oldest), events[0]?.place.blockNumber ?? 0n);

/** Reverts all events above the block, folds the affected rows again and returns corrections for what was published. */
export async function revertAbove(unit: TrackingUnit, block: bigint, units: SizeUnits | null = NO_UNITS): Promise<Changes> {
  const orphaned = await unit.orphanAbove(block);
  const orders = await unit.orders({ refs: orphaned.places, ids: orphaned.orderIds });
  const changes = await foldAgain(unit, { orders, trades: orphaned.trades }, 'correction');
  await unit.refoldTriggers(orphaned.traders);
  await refoldNets(unit, await outdatedByUndoing(unit, orphaned.events), units);
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
async function foldAgain(unit: TrackingUnit, { orders, trades }: Rows, as: 'update' | 'correction'): Promise<Changes> {
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
    if (before === null || (as === 'update' && order !== null))
      return order === null ? [] : [{ trader, fact: { kind: 'order', id, order } }];
    return [{ trader, fact: { kind: 'correction', of: { kind: 'order', id, order, before } } }];
  });
  return { events: [], orders: rows, positions: positions.rows, journalEntries: [...entries, ...positions.entries] };
}

async function foldTradesAgain(unit: TrackingUnit, refs: readonly TradeRef[], as: 'update' | 'correction') {
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
    if (was === null || (as === 'update' && position !== null))
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

/**
 * Links events to orders. An order prepared by this gateway is recognised by the tag in its transaction's input, all others by their order
 * key on chain. Pure: takes the stored rows and returns them as they are after each event.
 */

type Begun = Requested | Rested;

const isBegun = (event: ChainEvent): event is Begun => event.kind === 'requested' || event.kind === 'rested';
/** Marks an event that is deliberately linked to no order, because another event covers it. */
const NO_ORDER = 0n;

/** The maximum number of new orders these events can create: each request, each execution at an order key without an order, each TP/SL set. */
export function beginnings(events: readonly ChainEvent[], orders: readonly StoredOrder[], tags: readonly KnownTag[] = []): number {
  const begun = events.filter(isBegun);
  const held = new Set(
    [...refsOf(begun), ...orders.flatMap(({ trader, orderKey }) => (orderKey ? [{ trader, orderKey }] : []))].map(orderRefKey),
  );
  const overAtOnce = placesOf(events.filter(({ kind }) => kind === 'executed')).filter((ref) => !held.has(orderRefKey(ref)));
  return begun.length + overAtOnce.length + (tags.length === 0 ? 0 : events.filter(setsLevel).length);
}

const placesOf = (events: readonly ChainEvent[]): OrderRef[] =>
  events.flatMap(({ trader, orderKey }) => (orderKey === null ? [] : [{ trader, orderKey }]));

/** Order keys of all orders these events may affect. */
export const refsOf = (events: readonly ChainEvent[]): OrderRef[] => [
  ...new Map([...placesOf(events), ...events.flatMap(levelRefs)].map((ref) => [orderRefKey(ref), ref])).values(),
];

export function linkOrders(input: LinkInput): Linked {
  const book = createBook(input);
  const steps = input.events.flatMap((event) => [stepOf(book, input.events, event), ...levelSteps(book, event)]);
  return { steps, ...book.result() };
}

function stepOf(book: Book, events: readonly ChainEvent[], event: ChainEvent): Step {
  const effective = replacement(book, events, event) ?? event;
  if (effective === NOTHING) return { event, orderId: NO_ORDER, before: null, after: null };
  const row = orderOf(book, effective);
  if (!row) return { event: effective, orderId: null, before: null, after: null };
  const after = book.put({ ...row, orderKey: effective.orderKey, order: foldOrder(row.order, effective) });
  return { event: effective, orderId: row.id, before: row.order, after };
}

/** Steps of the position's TP/SL orders that follow from the event. */
const levelSteps = (book: Book, event: ChainEvent): Step[] =>
  levelChanges(book, event).map(({ event: derived, row }) => {
    const order = foldOrder(row.order, derived);
    const after = book.put({ ...row, orderKey: placeAfter(order, derived.orderKey), order });
    return { event: derived, orderId: row.id, before: row.order, after };
  });

const NOTHING = Symbol('covered by another event');

function orderOf(book: Book, event: ChainEvent): StoredOrder | undefined {
  const { trader, orderKey } = event;
  if (orderKey === null) return undefined;
  if (event.kind === 'replaced') return book.holderAt({ trader, orderKey: event.formerKey });
  if (isBegun(event)) return begin(book, event);
  return book.holderOf(event) ?? (event.kind === 'executed' ? book.newcomer(event, orderKey, null) : undefined);
}

function begin(book: Book, event: Begun): StoredOrder | undefined {
  const shape = shapeOfEvent(event);
  const mine = book.tagsOf(event, 'place').filter(({ tag }) => tag.shape === shape);
  const linked = mine.find(({ row }) => isUnplaced(row));
  if (!linked) return book.holderOf(event) ?? book.newcomer(event, event.orderKey, mine[0]?.row.id ?? null);
  book.evictOldest(event, linked.row);
  book.carriedBy(event, linked.row);
  return linked.row;
}

/** A cancellation and a new order in one transaction are one replacement of the same order if its tag says so. */
function replacement(book: Book, events: readonly ChainEvent[], event: ChainEvent): Replaced | typeof NOTHING | null {
  if (event.kind !== 'withdrawn' && event.kind !== 'rested') return null;
  const pair = pairOf(book, events, event);
  if (!pair) return null;
  if (event.kind === 'withdrawn') return NOTHING;
  const { orderKey, trader, tradeIndex, place, type, terms, slippageP, sizeCollateral, sizeToken } = event;
  const size = { sizeCollateral, sizeToken };
  return { kind: 'replaced', formerKey: pair, orderKey, trader, tradeIndex, place, type, terms, slippageP, ...size };
}

/** The former order key in the replacement this event is part of. */
function pairOf(book: Book, events: readonly ChainEvent[], event: ChainEvent): OrderKey | null {
  for (const { tag, row } of book.tagsOf(event, 'replace')) {
    if (row.order?.status !== 'open' || row.orderKey === null) continue;
    const own = events.filter(({ place, trader }) => place.txHash === event.place.txHash && trader === event.trader);
    const gone = own.find(({ kind, orderKey }) => kind === 'withdrawn' && orderKey === row.orderKey);
    const next = own.find((other): other is Rested => other.kind === 'rested' && shapeOfEvent(other) === tag.shape);
    if (gone && next && (event === gone || event === next)) return row.orderKey;
  }
  return null;
}
