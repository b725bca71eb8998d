import type { ChainEvent, OrderKey, Replaced, Requested, Rested } from '../domain/chain-event.js';
import { foldOrder } from '../domain/fold-order.js';
import { shapeOfEvent } from '../domain/order-shape.js';
import type { Order } from '../domain/order.js';
import { tagsIn } from '../orders/tag.js';
import type { Address, Hex } from '../ports.js';
import { orderRefKey, type KnownTag, type LinkedEvent, type OrderRef, type StoredOrder } from './tracking-store.js';

/**
 * Which order an event is about. An order made here is known again by the tag in its transaction's input; all others by their place on
 * chain. Pure: it works on the rows as they are before the events, and says what they are after each.
 */

export interface LinkInput {
  /** Oldest first. */
  readonly events: readonly ChainEvent[];
  readonly orders: readonly StoredOrder[];
  readonly tags: readonly KnownTag[];
  /** Inputs of the transactions that began an order, by hash. */
  readonly inputs: ReadonlyMap<Hex, Hex>;
  /** At least as many as `beginnings` counts. */
  readonly newIds: readonly bigint[];
}

/** An order's row before and after one event. */
export interface Step extends LinkedEvent {
  readonly before: Order | null;
  readonly after: StoredOrder | null;
}

export interface Linked {
  readonly steps: readonly Step[];
  readonly orders: readonly StoredOrder[];
  readonly hashes: readonly { readonly orderId: bigint; readonly hash: Hex; readonly at: number }[];
  /** Places whose events had been taken for another order's. */
  readonly moved: readonly (OrderRef & { readonly from: bigint; readonly to: bigint })[];
}

type Begun = Requested | Rested;

const isBegun = (event: ChainEvent): event is Begun => event.kind === 'requested' || event.kind === 'rested';
/** No order by decision: what it tells is told by another event. */
const NO_ORDER = 0n;

/** How many orders these events can make at most: each that begins, and each execution at a place where nobody stands. */
export function beginnings(events: readonly ChainEvent[], orders: readonly StoredOrder[]): number {
  const begun = events.filter(isBegun);
  const held = new Set(
    [...refsOf(begun), ...orders.flatMap(({ trader, orderKey }) => (orderKey ? [{ trader, orderKey }] : []))].map(orderRefKey),
  );
  const overAtOnce = refsOf(events.filter(({ kind }) => kind === 'executed')).filter((ref) => !held.has(orderRefKey(ref)));
  return begun.length + overAtOnce.length;
}

export const refsOf = (events: readonly ChainEvent[]): OrderRef[] => [
  ...new Map(
    events.flatMap(({ trader, orderKey }) => (orderKey === null ? [] : [{ trader, orderKey }])).map((ref) => [orderRefKey(ref), ref]),
  ).values(),
];

export function linkOrders(input: LinkInput): Linked {
  const book = createBook(input);
  const steps = input.events.map((event): Step => {
    const told = book.replacement(event) ?? event;
    const row = told === NOTHING ? null : book.orderOf(told);
    if (told === NOTHING) return { event, orderId: NO_ORDER, before: null, after: null };
    if (!row) return { event: told, orderId: null, before: null, after: null };
    const after = book.put({ ...row, orderKey: told.orderKey, order: foldOrder(row.order, told) });
    return { event: told, orderId: row.id, before: row.order, after };
  });
  return { steps, ...book.result() };
}

const NOTHING = Symbol('told by another event');

function createBook({ events, orders, tags, inputs, newIds }: LinkInput) {
  const byId = new Map(orders.map((row) => [row.id, row]));
  const holders = new Map(
    orders.flatMap(({ id, trader, orderKey }) => (orderKey ? [[orderRefKey({ trader, orderKey }), id] as const] : [])),
  );
  const homes = new Map(
    orders.flatMap(({ id, trader, homeKey }) => (homeKey ? [[orderRefKey({ trader, orderKey: homeKey }), id] as const] : [])),
  );
  const known = new Map(tags.map((tag) => [tag.tag, tag]));
  const touched = new Set<bigint>();
  const hashes: { orderId: bigint; hash: Hex; at: number }[] = [];
  const moved: { trader: Address; orderKey: OrderKey; from: bigint; to: bigint }[] = [];
  const spare = [...newIds];

  const holderOf = ({ trader, orderKey }: ChainEvent): StoredOrder | undefined =>
    orderKey === null ? undefined : byId.get(holders.get(orderRefKey({ trader, orderKey })) ?? -1n);

  /** Tags whose bytes stand in the event's transaction, in the order of the input. */
  function tagsOf({ place, trader }: ChainEvent, purpose: KnownTag['purpose']): { tag: KnownTag; row: StoredOrder }[] {
    const input = place.txHash === null ? undefined : inputs.get(place.txHash);
    if (input === undefined) return [];
    return tagsIn(input).flatMap((text) => {
      const tag = known.get(text);
      const row = tag && byId.get(tag.orderId);
      return tag?.purpose === purpose && row?.trader === trader && holds(input, tag.data) ? [{ tag, row }] : [];
    });
  }

  function put(row: StoredOrder): StoredOrder {
    const before = byId.get(row.id);
    if (before?.orderKey && before.orderKey !== row.orderKey) holders.delete(orderRefKey({ ...before, orderKey: before.orderKey }));
    byId.set(row.id, row);
    touched.add(row.id);
    if (row.orderKey) holders.set(orderRefKey({ ...row, orderKey: row.orderKey }), row.id);
    return row;
  }

  /** Whoever stood there only because the beginning came late makes room. */
  function takePlace(event: Begun, row: StoredOrder): StoredOrder {
    const other = holderOf(event);
    if (other && other.id !== row.id) {
      moved.push({ trader: event.trader, orderKey: event.orderKey, from: other.id, to: row.id });
      put({ ...other, orderKey: null, order: null });
    }
    if (event.place.txHash) hashes.push({ orderId: row.id, hash: event.place.txHash, at: event.place.at });
    return row;
  }

  function elsewhere(event: Begun | Extract<ChainEvent, { kind: 'executed' }>, repeatOf: bigint | null): StoredOrder | undefined {
    const { trader, orderKey } = event;
    const atHome = orderKey === null ? undefined : byId.get(homes.get(orderRefKey({ trader, orderKey })) ?? -1n);
    if (atHome?.order === null) return { ...atHome, repeatOf };
    const id = spare.shift();
    if (id === undefined) return undefined; // an execution at a place that was left in the same breath: nothing the contract does
    return { id, trader, orderKey: null, homeKey: atHome ? null : orderKey, agent: null, repeatOf, order: null };
  }

  function begin(event: Begun): StoredOrder | undefined {
    const mine = tagsOf(event, 'place');
    const shape = shapeOfEvent(event);
    const linked = mine.find(({ tag, row }) => tag.shape === shape && isUnplaced(row));
    if (linked) return takePlace(event, linked.row);
    return holderOf(event) ?? elsewhere(event, mine.find(({ tag }) => tag.shape === shape)?.row.id ?? null);
  }

  return {
    put,
    orderOf(event: ChainEvent): StoredOrder | undefined {
      if (event.orderKey === null) return undefined;
      if (event.kind === 'replaced') return byId.get(holders.get(orderRefKey({ trader: event.trader, orderKey: event.formerKey })) ?? -1n);
      if (isBegun(event)) return begin(event);
      return holderOf(event) ?? (event.kind === 'executed' ? elsewhere(event, null) : undefined);
    },
    /** A withdrawal and the new order that takes its place are one step of the same order, if its tag says so. */
    replacement(event: ChainEvent): Replaced | typeof NOTHING | null {
      if (event.kind !== 'withdrawn' && event.kind !== 'rested') return null;
      const pair = pairOf(event);
      if (!pair) return null;
      if (event.kind === 'withdrawn') return NOTHING;
      const { orderKey, trader, tradeIndex, place, type, terms, slippageP, sizeCollateral, sizeToken } = event;
      const size = { sizeCollateral, sizeToken };
      return { kind: 'replaced', formerKey: pair, orderKey, trader, tradeIndex, place, type, terms, slippageP, ...size };
    },
    result: () => ({ orders: [...touched].flatMap((id) => byId.get(id) ?? []), hashes, moved }),
  };

  /** The place that is given up in the replacement this event is part of. */
  function pairOf(event: ChainEvent): OrderKey | null {
    for (const { tag, row } of tagsOf(event, 'replace')) {
      if (row.order?.status !== 'open' || row.orderKey === null) continue;
      const own = events.filter(({ place, trader }) => place.txHash === event.place.txHash && trader === event.trader);
      const gone = own.find(({ kind, orderKey }) => kind === 'withdrawn' && orderKey === row.orderKey);
      const next = own.find((other): other is Rested => other.kind === 'rested' && shapeOfEvent(other) === tag.shape);
      if (gone && next && (event === gone || event === next)) return row.orderKey;
    }
    return null;
  }
}

/** Nothing of it is on chain. */
const isUnplaced = ({ order, orderKey }: StoredOrder): boolean =>
  orderKey === null && (order?.status === 'prepared' || order?.status === 'expired');

/** The bytes stand in the input, at a whole byte. */
function holds(input: Hex, data: Hex): boolean {
  const [text, wanted] = [input.toLowerCase(), data.slice(2).toLowerCase()];
  for (let at = text.indexOf(wanted, 2); at !== -1; at = text.indexOf(wanted, at + 1)) if (at % 2 === 0) return true;
  return false;
}
