import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { sizeOfFills, type OrderFills } from './order-fills.js';
import { askedSize, showRecord, statusOf, type AccountContext, type HlStatus, type OrderWithStatus } from './order-shapes.js';

/**
 * The status of a bot's order from all orders of ours that it became: open while one of them is. It is filled if the whole size was
 * executed; if less was, it is canceled, with the rest as its size. An execution too small to show still counts as one.
 */
export function recordStatus(
  { universe, venue }: AccountContext,
  record: ExchangeRecord,
  orders: readonly SeenOrder[],
  fills: OrderFills,
): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  if (!asset || orders.length === 0) return null;
  const states = currentOf(record, orders).map(({ order }) => statusOf(order));
  const ended = ORDER_OF_WEIGHT.find((candidate) => states.includes(candidate)) ?? 'canceled';
  const reached = isAboutToRest(record, orders, venue.clock.now()) ? 'open' : ended;
  const filled = orders.reduce((sum, { id }) => sum + sizeOfFills(fills.of(id)), 0n);
  const rest = askedSize(record) - filled;
  const isShort = reached === 'filled' && filled > 0n && record.order.size > 0n && rest > 0n;
  return {
    order: showRecord(asset, record, { left: reached === 'filled' && !isShort ? 0n : rest }),
    status: isShort ? 'canceled' : reached,
    statusTimestamp: Math.max(...orders.map(({ order }) => order.updatedAt)),
  };
}

const ORDER_OF_WEIGHT: readonly HlStatus[] = ['open', 'filled', 'reduceOnlyRejected', 'rejected', 'canceled'];

/** If an entry missed its price and was placed again to rest, only the resting order counts. */
function currentOf({ legs }: ExchangeRecord, orders: readonly SeenOrder[]): readonly SeenOrder[] {
  const entries = legs.filter(({ role }) => role === 'open');
  const former = new Set(entries.slice(0, -1).map(({ orderId }) => orderId));
  const current = orders.filter(({ id }) => !former.has(id));
  return current.length === 0 ? orders : current;
}

/** An order that missed its price is placed to rest within this time, unless its gateway died. */
const RESTS_WITHIN_MS = 60_000;

/** A good-till-cancelled order that missed its price is placed to rest by the gateway that handles the request, so it is not final yet. */
export function isAboutToRest({ order, manner, answered }: ExchangeRecord, orders: readonly SeenOrder[], now: number): boolean {
  const isGtc = order.style.kind === 'limit' && order.style.tif === 'Gtc' && manner === 'market';
  if (!isGtc || answered !== undefined) return false;
  return orders.every(({ order: own }) => own.status === 'rejected' && own.reason === 'SLIPPAGE' && now - own.updatedAt < RESTS_WITHIN_MS);
}

/** An immediate order whose reply is still pending: it is not listed, and no update reports it as open. */
export const isReplyPending = ({ order, manner, answered }: ExchangeRecord): boolean =>
  manner === 'market' && order.style.kind === 'limit' && order.style.tif !== 'Gtc' && answered !== 'resting';

/** Gives orders canceled by a schedule their own status. A bot's order may be several of ours, each with its own id. */
export async function withCancelWords(
  { gateway, venue, trader }: AccountContext,
  shown: readonly OrderWithStatus[],
): Promise<OrderWithStatus[]> {
  const { slug } = venue.definition;
  const oids = shown.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const records = await gateway.store.exchange.ofOids(slug, trader, oids);
  const idsOf = (oid: bigint): bigint[] => [oid, ...(records.get(oid)?.legs.flatMap(({ orderId }) => orderId ?? []) ?? [])];
  const taken = await gateway.store.facade.history.takenBack(slug, oids.flatMap(idsOf));
  const isScheduled = ({ order, status }: OrderWithStatus): boolean =>
    status === 'canceled' && idsOf(BigInt(order.oid)).some((id) => taken.get(id) === 'scheduled-cancel');
  return shown.map((each) => (isScheduled(each) ? { ...each, status: 'scheduledCancel' } : each));
}
