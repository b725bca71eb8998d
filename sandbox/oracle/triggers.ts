import type { WatchedTrade } from './order-book.js';

export interface Trigger {
  /** The contract's PendingOrderType. */
  readonly orderType: number;
  readonly name: 'limit' | 'stop' | 'take profit' | 'stop loss' | 'liquidation';
}

const LIMIT: Trigger = { orderType: 2, name: 'limit' };
const STOP: Trigger = { orderType: 3, name: 'stop' };
const TAKE_PROFIT: Trigger = { orderType: 4, name: 'take profit' };
const STOP_LOSS: Trigger = { orderType: 5, name: 'stop loss' };

/** Which trigger of the trade the market price has reached, if any. A limit waits for a better price, a stop for a worse one. */
export function firesAt(trade: Pick<WatchedTrade, 'tradeType' | 'long' | 'openPrice' | 'tp' | 'sl'>, marketPrice: bigint): Trigger | null {
  const { long, openPrice, tp, sl } = trade;
  const below = (level: bigint): boolean => marketPrice <= level;
  const above = (level: bigint): boolean => marketPrice >= level;
  if (trade.tradeType === 1) return (long ? below(openPrice) : above(openPrice)) ? LIMIT : null;
  if (trade.tradeType === 2) return (long ? above(openPrice) : below(openPrice)) ? STOP : null;
  if (sl > 0n && (long ? below(sl) : above(sl))) return STOP_LOSS;
  return tp > 0n && (long ? above(tp) : below(tp)) ? TAKE_PROFIT : null;
}
