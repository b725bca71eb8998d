import type { Requested, Rested } from './chain-event.js';
import { levelKey, levelOf } from './level.js';
import type { Order } from './order.js';

/**
 * A key that an order and the event that begins it on chain have in common. It distinguishes several orders in one transaction; identical
 * orders have the same key, and either may be linked.
 */
export function shapeOf(order: Order): string {
  const level = levelOf(order);
  if (level !== null && order.tradeIndex !== null) return levelKey(level, order.tradeIndex);
  if (order.action === 'open') return opening(order.type, { ...order, amount: order.collateralAmount });
  return `${order.action} ${order.tradeIndex ?? ''}`;
}

export function shapeOfEvent(event: Requested | Rested): string {
  if (event.kind === 'requested' && event.action !== 'open') return `${event.action} ${event.tradeIndex ?? ''}`;
  return opening(event.kind === 'rested' ? event.type : 'market', { ...event.terms, amount: event.terms.collateralAmount });
}

interface Opening extends Pick<Order, 'pairIndex' | 'collateralIndex' | 'long' | 'leverage'> {
  readonly amount: bigint;
}

const opening = (type: Order['type'], { pairIndex, collateralIndex, long, leverage, amount }: Opening): string =>
  `open ${type} ${pairIndex} ${collateralIndex} ${long ? 'long' : 'short'} ${leverage} ${amount}`;
