import type { SeenOrder } from '../../core/facade/history-store.js';
import type { ExchangeRecord } from '../../core/relay/exchange-store.js';
import { sizeOfFills, type OrderFills } from './order-fills.js';
import { askedSize, showRecord, statusOf, type HlStatus } from './order-shapes.js';
import type { OrderWithStatus, Whose } from './order-status.js';

/**
 * A bot's order from all of ours that it became: open while one of them is. One that was executed for all it asked is filled; one that was
 * executed for less is canceled, with the rest as its size. An execution too small to show is one all the same.
 */
export function recordStatus(
  { universe }: Whose,
  record: ExchangeRecord,
  orders: readonly SeenOrder[],
  fills: OrderFills,
): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  if (!asset || orders.length === 0) return null;
  const states = orders.map(({ order }) => statusOf(order));
  const reached = ORDER_OF_WEIGHT.find((candidate) => states.includes(candidate)) ?? 'canceled';
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
