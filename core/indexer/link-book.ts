import type { ChainEvent, Executed, OrderKey, PositionEdited, Requested, Rested } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import { tagsIn } from '../trading/encode-intent.js';
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
  /** Order keys whose events had been linked to another order. */
  readonly moved: readonly (OrderRef & { readonly from: bigint; readonly to: bigint })[];
}

/** A tag found in a transaction's input, and the order it was prepared for. */
export interface Tagged {
  readonly tag: KnownTag;
  readonly row: StoredOrder;
}

export type Book = ReturnType<typeof createBook>;

/** Order rows by id and order key, updated in memory with every linked event. */
export function createBook({ orders, tags, inputs, newIds }: LinkInput) {
  const byId = new Map(orders.map((row) => [row.id, row]));
  const holders = new Map(
    orders.flatMap(({ id, trader, orderKey }) => (orderKey ? [[orderRefKey({ trader, orderKey }), id] as const] : [])),
  );
  const byFirstKey = new Map(
    orders.flatMap(({ id, trader, firstKey }) => (firstKey ? [[orderRefKey({ trader, orderKey: firstKey }), id] as const] : [])),
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

    /** Tags whose calldata is part of the event's transaction, in the order of the input. */
    tagsOf({ place, trader }: ChainEvent, purpose: KnownTag['purpose']): Tagged[] {
      const input = place.txHash === null ? undefined : inputs.get(place.txHash);
      if (input === undefined) return [];
      return tagsIn(input).flatMap((text) => {
        const tag = known.get(text);
        const row = tag && byId.get(tag.orderId);
        return tag?.purpose === purpose && row?.trader === trader && holds(input, tag.data) ? [{ tag, row }] : [];
      });
    },

    /** Records the event's transaction as the order's. */
    carriedBy({ place }: ChainEvent, { id }: StoredOrder): void {
      if (place.txHash) hashes.push({ orderId: id, hash: place.txHash, at: place.at });
    },

    /** Detaches an order that holds the key only because the event that began the tagged order was read late. */
    evictOldest(event: Requested | Rested, row: StoredOrder): void {
      const other = holderAt(event);
      if (!other || other.id === row.id) return;
      moved.push({ trader: event.trader, orderKey: event.orderKey, from: other.id, to: row.id });
      put({ ...other, orderKey: null, order: null });
    },

    /** Creates a row for an order that was not prepared by this gateway, or was repeated. After a reorganisation it gets its former id back. */
    newcomer(
      { trader }: Requested | Rested | Executed | PositionEdited,
      firstKey: OrderKey | null,
      repeatOf: bigint | null,
    ): StoredOrder | undefined {
      const former = firstKey === null ? undefined : byId.get(byFirstKey.get(orderRefKey({ trader, orderKey: firstKey })) ?? -1n);
      if (former?.order === null) return { ...former, repeatOf };
      const id = spare.shift();
      if (id === undefined) return undefined; // `beginnings` counts every case the contract can produce
      return { id, trader, orderKey: null, firstKey: former ? null : firstKey, agent: null, repeatOf, order: null };
    },

    result: () => ({ orders: [...touched].flatMap((id) => byId.get(id) ?? []), hashes, moved }),
  };
}

/** The order was prepared here and has no effect on chain. */
export const isUnplaced = ({ order, orderKey }: StoredOrder): boolean =>
  orderKey === null && (order?.status === 'prepared' || order?.status === 'expired');

/** Whether the input contains the data, aligned to a byte. */
function holds(input: Hex, data: Hex): boolean {
  const [text, wanted] = [input.toLowerCase(), data.slice(2).toLowerCase()];
  for (let at = text.indexOf(wanted, 2); at !== -1; at = text.indexOf(wanted, at + 1)) if (at % 2 === 0) return true;
  return false;
}
