import { symbolOf } from '../domain/market.js';
import type { MarketTrade } from '../domain/market-trade.js';
import type { Venue } from '../gateway.js';
import { pairOf } from '../markets/directory.js';
import { describeTrade, type ShownTrade } from '../markets/recent-trades.js';
import type { Cancel } from '../types.js';
import { createTopic } from './topic.js';

export interface TradeSource {
  /** What was executed lately, newest first, then each execution as it happens: none is missing between the two, none comes twice. */
  follow(limit: number, listener: TradeListener): Cancel;
  readonly stop: Cancel;
}

export interface TradeListener {
  readonly onPast: (trades: readonly ShownTrade[]) => void;
  readonly onTrade: (trade: ShownTrade) => void;
  /** The past could not be read; nothing more is told. */
  readonly onFault: (error: unknown) => void;
}

interface Told {
  readonly trade: MarketTrade;
  readonly shown: ShownTrade;
}

export function createTradeSource(venue: Venue, symbol: string): TradeSource {
  const pair = pairOf(venue.feed.config(), symbol);
  const topic = createTopic<Told>('trades', venue.log);
  const show = (trade: MarketTrade): ShownTrade => describeTrade(symbolOf(pair), trade);
  const stop = venue.feed.on('trade', (trade) => {
    if (trade.pairIndex === pair.index) topic.tell({ trade, shown: show(trade) });
  });

  return {
    stop,
    follow(limit, { onPast, onTrade, onFault }) {
      /** What happens while the past is being read; null once it is told. */
      let meanwhile: Told[] | null = [];
      const cancel = topic.listen((told) => (meanwhile === null ? onTrade(told.shown) : meanwhile.push(told)));
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
