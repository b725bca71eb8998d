import { isFillAction } from '../../core/domain/chain-event.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import { createTopic } from '../../core/stream/bus.js';
import type { Cancel } from '../../core/types.js';
import { readTape, recentTrades, type TapeTrade } from '../info/tape.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';

export interface TradeFeed {
  /** Sends recent executions, then each one as it happens: none is missing between the two, and none is sent twice. */
  follow(listener: (text: string) => void): Cancel;
  readonly stop: Cancel;
}

interface Framed {
  readonly tid: number;
  readonly text: string;
}

/** Earlier executions of the same orders are read too: an order's size is shared by all of its fills. */
const READ_ALONG = 50;

/** Executions of one market, from the journal on every replica; an empty list is never sent, as some clients fail on it. */
export function createTradeFeed(gateway: Gateway, venue: Venue, asset: Asset): TradeFeed {
  const topic = createTopic<Framed>('facade trades', venue.log);
  const sent = new Set<number>();
  let reading = Promise.resolve();

  const read = async (count: number, since: number): Promise<void> => {
    const trades = await readTape(gateway, venue, asset, count + READ_ALONG);
    for (const trade of trades.toReversed()) if (trade.time >= since) publish(trade);
  };
  const publish = (trade: TapeTrade): void => {
    if (sent.has(trade.tid)) return;
    sent.add(trade.tid);
    const [oldest] = sent.size > MAX_SENT ? sent : [];
    if (oldest !== undefined) sent.delete(oldest);
    topic.publish({ tid: trade.tid, text: frameText('trades', [trade]) });
  };
  const stop = gateway.bus.on('journal', ({ venue: where, entries }) => {
    const times = where === venue ? entries.flatMap((entry) => executedAt(entry, asset)) : [];
    if (times.length === 0) return;
    reading = reading
      .then(() => read(times.length, Math.min(...times)))
      .catch((error: unknown) => venue.log.warn('facade.tape-not-read', { error }));
  });
  return {
    stop,
    follow(listener) {
      /** Executions that arrive while the past is read; null once the past is sent. */
      let meanwhile: Framed[] | null = [];
      /** Ids already sent: a later execution of the same second causes that second to be read again. */
      const known = new Set<number>();
      let isCancelled = false;
      const push = ({ tid, text }: Framed): void => {
        if (!known.has(tid)) listener(text);
      };
      const cancel = topic.listen((each) => (meanwhile === null ? push(each) : void meanwhile.push(each)));
      const begin = (past: readonly TapeTrade[]): void => {
        if (isCancelled) return;
        if (past.length > 0) listener(frameText('trades', past));
        for (const { tid } of past) known.add(tid);
        for (const each of meanwhile ?? []) push(each);
        meanwhile = null;
      };
      // If the past cannot be read, new executions are still sent.
      recentTrades(gateway, venue, asset).then(begin, () => begin([]));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}

const MAX_SENT = 2_000;

/** The block times of executions in this market. */
function executedAt({ fact }: JournalEntry, asset: Asset): number[] {
  if (fact.kind !== 'fill' || fact.executed.terms.pairIndex !== asset.id) return [];
  const { action, place } = fact.executed;
  return isFillAction(action) && action !== 'leverage' ? [place.at] : [];
}
