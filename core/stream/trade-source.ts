import { symbolOf } from '../domain/market.js';
import type { MarketTrade } from '../domain/market-trade.js';
import type { Venue } from '../gateway.js';
import { pairOf } from '../markets/directory.js';
import { describeTrade, type ShownTrade } from '../markets/recent-trades.js';
import type { Cancel } from '../types.js';
import { createTopic } from './topic.js';

export interface TradeSource {
  /** Recent executions, newest first, then each new one; without gap or repeat in between. */
  follow(limit: number, listener: TradeListener): Cancel;
  readonly stop: Cancel;
}

export interface TradeListener {
  readonly onPast: (trades: readonly ShownTrade[]) => void;
  readonly onTrade: (trade: ShownTrade) => void;
  /** The history could not be read; nothing more is sent. */
  readonly onFault: (error: unknown) => void;
}

interface TopicItem {
  readonly trade: MarketTrade;
  readonly shown: ShownTrade;
}

export function createTradeSource(venue: Venue, symbol: string): TradeSource {
  const pair = pairOf(venue.feed.config(), symbol);
  const topic = createTopic<TopicItem>('trades', venue.log);
  const show = (trade: MarketTrade): ShownTrade => describeTrade(symbolOf(pair), trade);
  const stop = venue.feed.on('trade', (trade) => {
    if (trade.pairIndex === pair.index) topic.publish({ trade, shown: show(trade) });
  });

  return {
    stop,
    follow(limit, { onPast, onTrade, onFault }) {
      /** Trades that arrive while the history is read; null once it is delivered. */
      let meanwhile: TopicItem[] | null = [];
      const cancel = topic.listen((item) => (meanwhile === null ? onTrade(item.shown) : meanwhile.push(item)));
      let isCancelled = false;
      const begin = (past: readonly MarketTrade[]): void => {
        if (isCancelled) return;
        onPast(past.map(show));
        const known = new Set(past);
        const missed = (meanwhile ?? []).filter(({ trade }) => !known.has(trade));
        meanwhile = null;
        for (const { shown } of missed) onTrade(shown);
      };
      venue.feed
        .recentTrades({ pairIndex: pair.index, limit })
        .then(begin)
        .catch((error: unknown) => !isCancelled && onFault(error));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}
