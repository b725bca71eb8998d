import type { ChainEvent, OrderKey, Replaced, Requested, Rested } from '../domain/chain-event.js';
import { foldOrder } from '../domain/order-machine.js';
import { placeAfter, shapeOfEvent } from '../domain/level.js';
import { createBook, isUnplaced, type Book, type Linked, type LinkInput, type Step } from './link-book.js';
import { levelChanges, levelRefs, setsLevel } from './link-levels.js';
import { orderRefKey, type KnownTag, type OrderRef, type StoredOrder } from '../ports/stores/tracking.js';

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
