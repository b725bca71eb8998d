import type { WatchedTrade } from './order-book.js';

export interface Trigger {
  /** The contract's PendingOrderType. */
  readonly orderType: number;
  readonly name: 'limit' | 'stop' | 'take profit' | 'stop loss' | 'liquidation';
}

/** Reached by a market price at the level, or beyond it on this side. */
export interface Level {
  readonly side: 'below' | 'above';
  readonly level: bigint;
}

export interface TriggerLevel extends Level {
  readonly trigger: Trigger;
}

type Triggered = Pick<WatchedTrade, 'tradeType' | 'long' | 'openPrice' | 'tp' | 'sl'>;

const LIMIT: Trigger = { orderType: 2, name: 'limit' };
const STOP: Trigger = { orderType: 3, name: 'stop' };
const TAKE_PROFIT: Trigger = { orderType: 4, name: 'take profit' };
const STOP_LOSS: Trigger = { orderType: 5, name: 'stop loss' };

export const isReached = ({ side, level }: Level, price: bigint): boolean => (side === 'below' ? price <= level : price >= level);

/** The levels of a trade, by priority. A limit waits for a better price, a stop for a worse one. */
export function levelsOf({ tradeType, long, openPrice, tp, sl }: Triggered): TriggerLevel[] {
  const [worse, better] = long ? (['below', 'above'] as const) : (['above', 'below'] as const);
  if (tradeType === 1) return [{ trigger: LIMIT, side: worse, level: openPrice }];
  if (tradeType === 2) return [{ trigger: STOP, side: better, level: openPrice }];
  const stopLoss: TriggerLevel = { trigger: STOP_LOSS, side: worse, level: sl };
  const takeProfit: TriggerLevel = { trigger: TAKE_PROFIT, side: better, level: tp };
  return [stopLoss, takeProfit].filter(({ level }) => level > 0n);
}

/** Which trigger of the trade the market price has reached, if any. */
export function firesAt(trade: Triggered, marketPrice: bigint): Trigger | null {
  return levelsOf(trade).find((level) => isReached(level, marketPrice))?.trigger ?? null;
}
