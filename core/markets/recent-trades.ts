import { decimal, type Decimal } from '../domain/decimal.js';
import { symbolOf } from '../domain/market.js';
import type { MarketTrade, TradeAction } from '../domain/market-trade.js';
import type { Venue } from '../gateway.js';
import { pairOf } from './directory.js';
import { PRICE_SCALE } from './list-prices.js';

export interface ShownTrade {
  market: string;
  price: Decimal;
  sizeUsd: Decimal;
  side: 'long' | 'short';
  action: TradeAction;
  timestamp: number;
  txHash: string;
}

const USUAL_LIMIT = 100;
const USD_SCALE = 18;

/** Newest first; may be fewer than `limit`. */
export async function getRecentTrades({ feed }: Venue, symbol: string, limit: number = USUAL_LIMIT): Promise<ShownTrade[]> {
  const pair = pairOf(feed.config(), symbol);
  const trades = await feed.recentTrades({ pairIndex: pair.index, limit });
  return trades.map((trade) => describeTrade(symbolOf(pair), trade));
}

export const describeTrade = (market: string, { price, sizeUsd, side, action, at, txHash }: MarketTrade): ShownTrade => ({
  market,
  price: decimal(price, PRICE_SCALE),
  sizeUsd: decimal(sizeUsd, USD_SCALE),
  side,
  action,
  timestamp: at,
  txHash,
});
