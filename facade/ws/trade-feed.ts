import type { Venue } from '../../core/gateway.js';
import type { Cancel } from '../../core/ports.js';
import { createTopic } from '../../core/stream/topic.js';
import { isExecution, recentTrades, showTrade } from '../info/market-types.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';

export interface TradeFeed {
  /** What was executed lately, then each execution as it happens: none is missing between the two, none comes twice. */
  follow(listener: (text: string) => void): Cancel;
  readonly stop: Cancel;
}

interface Told {
  readonly tid: number;
  readonly text: string;
}

/** Executions of one market; clients take an empty list badly, so none is ever sent. */
export function createTradeFeed(venue: Venue, asset: Asset): TradeFeed {
  const topic = createTopic<Told>('facade trades', venue.log);
  const stop = venue.feed.on('trade', (trade) => {
    if (trade.pairIndex !== asset.id || !isExecution(trade)) return;
    const shown = showTrade(asset, trade);
    topic.tell({ tid: shown.tid, text: frameText('trades', [shown]) });
  });
  return {
    stop,
    follow(listener) {
      /** What happens while the past is being read; null once it is told. */
      let meanwhile: Told[] | null = [];
      let isCancelled = false;
      const cancel = topic.listen((told) => (meanwhile === null ? listener(told.text) : void meanwhile.push(told)));
      const begin = (past: Awaited<ReturnType<typeof recentTrades>>): void => {
        if (isCancelled) return;
        if (past.length > 0) listener(frameText('trades', past));
        const known = new Set(past.map(({ tid }) => tid));
        for (const { tid, text } of meanwhile ?? []) if (!known.has(tid)) listener(text);
        meanwhile = null;
      };
      // Without a past there still is a present.
      recentTrades(venue, asset).then(begin, () => begin([]));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}
