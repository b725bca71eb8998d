import { NEWEST_FILLS, type SeenOrder } from '../../core/ports/stores/history.js';
import { ZERO_TEXT } from '../format.js';
import { readFills, type FillOptions, type ShownFill } from './fills.js';
import type { OrderWithStatus, AccountContext } from './order-shapes.js';
import { fillOfExcess } from './shown-fills.js';

/** The fills of some orders, in the same form as all other replies. */
export interface OrderFills {
  /** By the id of our order. */
  of(orderId: bigint): readonly ShownFill[];
  /** By the id of a bot's order, oldest first. */
  ofRecord(oid: bigint): readonly ShownFill[];
  /** Executions beyond the size of their order since the first of these fills, newest first. */
  readonly excess: readonly ShownFill[];
}

const NO_FILLS: OrderFills = { of: () => [], ofRecord: () => [], excess: [] };
/** Later than any block. */
const FOREVER = Number.MAX_SAFE_INTEGER;
const LAST_OF_SECOND = 999;
/** An order's status shows sizes, prices and times. */
const WITHOUT_RESULTS: FillOptions = { withoutResults: true };

/** `isToNow`: also reads executions after the last of these orders. */
export async function fillsOf(account: AccountContext, orders: readonly Pick<SeenOrder, 'order'>[], isToNow = false): Promise<OrderFills> {
  const times = orders.flatMap(({ order }) => order.fill?.at ?? []);
  if (times.length === 0) return NO_FILLS;
  const to = isToNow ? FOREVER : Math.max(...times) + LAST_OF_SECOND;
  const found = await readFills(account, { from: Math.min(...times), to, limit: NEWEST_FILLS, newestFirst: true }, WITHOUT_RESULTS);
  const byOrder = new Map<bigint, ShownFill[]>();
  for (const shown of found) {
    const id = shown.fill.by?.id;
    if (id !== undefined && !shown.part.isExcess) byOrder.set(id, [shown, ...(byOrder.get(id) ?? [])]);
  }
  return {
    of: (orderId) => byOrder.get(orderId) ?? [],
    ofRecord: (oid) => found.filter(({ record }) => record?.oid === oid).reverse(),
    excess: found.filter(({ part }) => part.isExcess),
  };
}

/** Base units, 1e18. */
export const sizeOfFills = (fills: readonly ShownFill[]): bigint => fills.reduce((sum, { part }) => sum + part.size, 0n);

/** An execution beyond an order's size is shown as an order of its own, which the client did not send and which is filled at once. */
export function excessOrder({ wire, part }: ShownFill): OrderWithStatus {
  const order = {
    coin: wire.coin,
    side: wire.side === 'B' ? 'B' : 'A',
    limitPx: wire.px,
    sz: ZERO_TEXT,
    oid: wire.oid,
    timestamp: part.time,
    origSz: wire.sz,
    triggerCondition: 'N/A',
    isTrigger: false,
    triggerPx: ZERO_TEXT,
    children: [],
    isPositionTpsl: false,
    reduceOnly: wire.dir.startsWith('Close'),
    orderType: 'Market',
    tif: 'FrontendMarket',
    cloid: null,
  } as const;
  return { order, status: 'filled', statusTimestamp: part.time };
}

/** By id; null if no execution of the trader exceeded its order under that id. */
export async function findExcess(account: AccountContext, oid: bigint): Promise<OrderWithStatus | null> {
  const id = fillOfExcess(oid);
  if (id === null) return null;
  const { gateway, venue, trader } = account;
  const at = await gateway.store.facade.history.fillAt(venue.definition.slug, trader, id);
  if (at === null) return null;
  const found = await readFills(account, { from: at, to: at + LAST_OF_SECOND, limit: NEWEST_FILLS, newestFirst: false }, WITHOUT_RESULTS);
  const shown = found.find(({ wire }) => wire.oid === Number(oid));
  return shown ? excessOrder(shown) : null;
}

/** Inserts each before the order it exceeded, or by time if that order is not listed. Both lists are newest first. */
export function withExcess(orders: readonly OrderWithStatus[], excess: readonly ShownFill[]): OrderWithStatus[] {
  const listed = new Set(orders.map(({ order }) => order.oid));
  const waiting = [...excess];
  const merged: OrderWithStatus[] = [];
  const move = (fits: (fill: ShownFill) => boolean): void => {
    for (const fill of waiting.filter(fits)) {
      merged.push(excessOrder(fill));
      waiting.splice(waiting.indexOf(fill), 1);
    }
  };
  for (const order of orders) {
    move(({ executedOid, part }) => !listed.has(Number(executedOid)) && part.time >= order.statusTimestamp);
    move(({ executedOid }) => Number(executedOid) === order.order.oid);
    merged.push(order);
  }
  return [...merged, ...waiting.map(excessOrder)];
}
