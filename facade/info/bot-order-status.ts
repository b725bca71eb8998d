import type { SeenOrder } from '../../core/ports/stores/history.js';
import type { ExchangeRecord } from '../../core/ports/stores/exchange.js';
import { sizeOfFills, type OrderFills } from './order-fills.js';
import { askedSize, showRecord, statusOf, type HlStatus, type OrderWithStatus, type Whose } from './order-shapes.js';

/**
 * A bot's order from all of ours that it became: open while one of them is. One that was executed for all it asked is filled; one that was
 * executed for less is canceled, with the rest as its size. An execution too small to show is one all the same.
 */
export function recordStatus(
  { universe, venue }: Whose,
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

/** Of an entry that missed its price and rests at it now, only the one that rests counts. */
function currentOf({ legs }: ExchangeRecord, orders: readonly SeenOrder[]): readonly SeenOrder[] {
  const entries = legs.filter(({ role }) => role === 'open');
  const former = new Set(entries.slice(0, -1).map(({ orderId }) => orderId));
  const current = orders.filter(({ id }) => !former.has(id));
  return current.length === 0 ? orders : current;
}

/** So long at most is an order that missed its price on its way to rest: a gateway that died before cannot say that it does not. */
const RESTS_WITHIN_MS = 60_000;

/** A good-till-cancelled order that missed its price is left to rest at it by the gateway that answers the bot, and is not over before. */
export function isAboutToRest({ order, manner, answered }: ExchangeRecord, orders: readonly SeenOrder[], now: number): boolean {
  const isGtc = order.style.kind === 'limit' && order.style.tif === 'Gtc' && manner === 'market';
  if (!isGtc || answered !== undefined) return false;
  return orders.every(({ order: own }) => own.status === 'rejected' && own.reason === 'SLIPPAGE' && now - own.updatedAt < RESTS_WITHIN_MS);
}

/** An order for immediate execution whose outcome the bot still waits for: it is not listed, and no update says that it is open. */
export const isUnanswered = ({ order, manner, answered }: ExchangeRecord): boolean =>
  manner === 'market' && order.style.kind === 'limit' && order.style.tif !== 'Gtc' && answered !== 'resting';
