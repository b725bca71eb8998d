import type { SeenOrder } from '../../core/facade/history-store.js';
import type { ExchangeRecord } from '../../core/relay/exchange-store.js';
import { showRecord, statusOf, type HlStatus } from './order-shapes.js';
import type { OrderWithStatus, Whose } from './order-status.js';

/** A bot's order from all of ours that it became: open while one of them is, filled as soon as one was and none is left. */
export function recordStatus({ universe }: Whose, record: ExchangeRecord, orders: readonly SeenOrder[]): OrderWithStatus | null {
  const asset = universe.assets[record.pairIndex];
  if (!asset || orders.length === 0) return null;
  const states = orders.map(({ order }) => statusOf(order));
  const status = ORDER_OF_WEIGHT.find((candidate) => states.includes(candidate)) ?? 'canceled';
  const sizes = new Map(record.legs.map(({ orderId, sizeBase }) => [orderId, sizeBase]));
  const left = orders.filter(({ order }) => order.status !== 'filled').reduce((sum, { id }) => sum + (sizes.get(id) ?? 0n), 0n);
  return {
    order: showRecord(asset, record, { left: status === 'filled' ? 0n : left }),
    status,
    statusTimestamp: Math.max(...orders.map(({ order }) => order.updatedAt)),
  };
}

const ORDER_OF_WEIGHT: readonly HlStatus[] = ['open', 'filled', 'reduceOnlyRejected', 'rejected', 'canceled'];
