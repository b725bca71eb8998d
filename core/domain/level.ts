import {
  LEVELS,
  type ChainEvent,
  type Level,
  type LevelEvent,
  type LevelKey,
  type OrderKey,
  type Requested,
  type Rested,
} from './chain-event.js';
import type { Order, OrderType } from './order.js';

/** A resting reduce-only order is the TP or SL of its position: a limit the take profit, a stop the stop loss. */

export const LEVEL_OF_TYPE = { market: null, limit: 'tp', stop: 'sl' } as const satisfies Record<OrderType, Level | null>;
export const TYPE_OF_LEVEL = { tp: 'limit', sl: 'stop' } as const satisfies Record<Level, OrderType>;

/** null for an order that is not a TP/SL. */
export const levelOf = ({ action, type }: Pick<Order, 'action' | 'type'>): Level | null =>
  action === 'close' ? LEVEL_OF_TYPE[type] : null;

export const levelKey = (level: Level, tradeIndex: number): LevelKey => `${level}:${tradeIndex}`;

export const isLevelKey = (key: OrderKey | null): boolean => LEVELS.some((level) => key?.startsWith(`${level}:`));

/** A position has one TP and one SL, so an order that is no longer open loses its key to the next one. */
export const placeAfter = (order: Pick<Order, 'status'> | null, key: OrderKey | null): OrderKey | null =>
  isLevelKey(key) && order?.status !== 'open' ? null : key;

export const isLevelEvent = (event: ChainEvent): event is LevelEvent =>
  event.kind === 'guarded' || event.kind === 'guardMoved' || event.kind === 'guardHit' || event.kind === 'guardGone';

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
