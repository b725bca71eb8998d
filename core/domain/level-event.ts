import type { AboutOrder, Size, Terms, TradeFigures } from './chain-event.js';
import type { OrderFill } from './order.js';

/** Orders that are a level of a position, and what happens to them because something happened to it. */

/** What closes a position by itself: its take profit, its stop loss. */
export const LEVELS = ['tp', 'sl'] as const;
export type Level = (typeof LEVELS)[number];
export type LevelKey = `${Level}:${number}`;

export interface HeldTrade {
  readonly trade: TradeFigures;
  readonly slippageP: bigint;
}

/** What happens to an order because something happened to the position whose level it is; the log tells the position's part. */
interface AboutLevel extends AboutOrder {
  readonly orderKey: LevelKey;
  readonly tradeIndex: number;
  readonly level: Level;
}

/** It became the level of the position; or the level, or the position it will close, changed. `terms.openPrice` is the level. */
export interface Guarded extends AboutLevel, Size {
  readonly kind: 'guarded' | 'guardMoved';
  readonly terms: Terms;
  readonly slippageP: bigint;
}

/** The price reached it and the position was closed by it. */
export interface GuardHit extends AboutLevel {
  readonly kind: 'guardHit';
  readonly fill: OrderFill;
}

/** The position has another level now, none, or is closed. */
export interface GuardGone extends AboutLevel {
  readonly kind: 'guardGone';
  readonly because: 'replaced' | 'removed' | 'closed';
}

export type LevelEvent = Guarded | GuardHit | GuardGone;
