import type { ChainEvent, Executed, OrderKey, PositionEdited, Requested, Rested } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { tagsIn } from '../trading/tag.js';
import type { Address, Hex } from '../types.js';
import { orderRefKey, type KnownTag, type LinkedEvent, type OrderRef, type StoredOrder } from '../ports/stores/tracking.js';

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

/** Bytes of ours in a transaction, and the order they were handed out for. */
export interface Tagged {
  readonly tag: KnownTag;
  readonly row: StoredOrder;
}

export type Book = ReturnType<typeof createBook>;

/** The rows as they are before the events, and after each that was written down. */
export function createBook({ orders, tags, inputs, newIds }: LinkInput) {
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

  const holderAt = (ref: OrderRef): StoredOrder | undefined => byId.get(holders.get(orderRefKey(ref)) ?? -1n);

  function put(row: StoredOrder): StoredOrder {
    const before = byId.get(row.id);
    if (before?.orderKey && before.orderKey !== row.orderKey) holders.delete(orderRefKey({ ...before, orderKey: before.orderKey }));
    byId.set(row.id, row);
    touched.add(row.id);
    if (row.orderKey) holders.set(orderRefKey({ ...row, orderKey: row.orderKey }), row.id);
    return row;
  }

  return {
    put,
    holderAt,
    holderOf: ({ trader, orderKey }: ChainEvent): StoredOrder | undefined =>
      orderKey === null ? undefined : holderAt({ trader, orderKey }),

    /** Tags whose bytes stand in the event's transaction, in the order of the input. */
    tagsOf({ place, trader }: ChainEvent, purpose: KnownTag['purpose']): Tagged[] {
      const input = place.txHash === null ? undefined : inputs.get(place.txHash);
      if (input === undefined) return [];
      return tagsIn(input).flatMap((text) => {
        const tag = known.get(text);
        const row = tag && byId.get(tag.orderId);
        return tag?.purpose === purpose && row?.trader === trader && holds(input, tag.data) ? [{ tag, row }] : [];
      });
    },

    /** The transaction of the event is the order's. */
    carriedBy({ place }: ChainEvent, { id }: StoredOrder): void {
      if (place.txHash) hashes.push({ orderId: id, hash: place.txHash, at: place.at });
    },

    /** Whoever stood there only because the beginning came late makes room. */
    makeRoom(event: Requested | Rested, row: StoredOrder): void {
      const other = holderAt(event);
      if (!other || other.id === row.id) return;
      moved.push({ trader: event.trader, orderKey: event.orderKey, from: other.id, to: row.id });
      put({ ...other, orderKey: null, order: null });
    },

    /** An order nobody has made here, or not this time. After a reorganisation it gets the id back that it had. */
    newcomer(
      { trader }: Requested | Rested | Executed | PositionEdited,
      home: OrderKey | null,
      repeatOf: bigint | null,
    ): StoredOrder | undefined {
      const atHome = home === null ? undefined : byId.get(homes.get(orderRefKey({ trader, orderKey: home })) ?? -1n);
      if (atHome?.order === null) return { ...atHome, repeatOf };
      const id = spare.shift();
      if (id === undefined) return undefined; // an execution at a place that was left in the same breath: nothing the contract does
      return { id, trader, orderKey: null, homeKey: atHome ? null : home, agent: null, repeatOf, order: null };
    },

    result: () => ({ orders: [...touched].flatMap((id) => byId.get(id) ?? []), hashes, moved }),
  };
}

/** Nothing of it is on chain. */
export const isUnplaced = ({ order, orderKey }: StoredOrder): boolean =>
  orderKey === null && (order?.status === 'prepared' || order?.status === 'expired');

/** The bytes stand in the input, at a whole byte. */
function holds(input: Hex, data: Hex): boolean {
  const [text, wanted] = [input.toLowerCase(), data.slice(2).toLowerCase()];
  for (let at = text.indexOf(wanted, 2); at !== -1; at = text.indexOf(wanted, at + 1)) if (at % 2 === 0) return true;
  return false;
}
