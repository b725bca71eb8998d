import type { Candle } from '../../core/domain/candle.js';
import type { Cancel } from '../../core/types.js';
import type { ShownCandle } from '../../core/markets/get-candles.js';
import { createTopic } from '../../core/stream/bus.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import { CANDLE_SHAPES, joinCandles, showCandle, unitsOf, type SnapshotInterval } from '../info/candles.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';
import { isFillAction } from '../../core/domain/chain-event.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import { readTape, recentTrades, type TapeTrade } from '../info/tape.js';

export interface ChartKey {
  readonly asset: Asset;
  readonly interval: SnapshotInterval;
}

interface CandleFrame {
  /** Identifies the candle; a later frame of it replaces an earlier one. */
  readonly key: string;
  readonly text: string;
}

export interface CandleFeed {
  /** Sends the forming candle as soon as it is known, then each new or changed one. */
  follow(listener: (frame: CandleFrame) => void): Cancel;
  readonly stop: Cancel;
}

const RETRY_MS = 5_000;

/** One market's candles of one interval, built from the charts' candles. */
export function createCandleFeed(stream: VenueStream, { asset, interval }: ChartKey): CandleFeed {
  const { venue } = stream;
  const shape = CANDLE_SHAPES[interval];
  const topic = createTopic<CandleFrame>('facade candles', venue.log);
  const { part, release } = stream.candles(asset.symbol, shape.from);
  let parts = new Map<number, Candle>();
  let latest: CandleFrame | null = null;
  let cancel: Cancel = () => undefined;

  const publish = (start: number): void => {
    const own = [...parts.values()].filter(({ time }) => shape.start(time) === start).sort((a, b) => a.time - b.time);
    const [candle] = joinCandles(own, shape);
    if (candle === undefined) return;
    latest = { key: String(start), text: frameText('candle', showCandle(asset, interval, candle)) };
    topic.publish(latest);
  };

  const change = (changed: readonly ShownCandle[]): void => {
    for (const candle of changed) parts.set(candle.time, unitsOf(candle));
    for (const start of new Set(changed.map(({ time }) => shape.start(time)).sort((a, b) => a - b))) publish(start);
    const begun = Math.max(...[...parts.keys()].map((time) => shape.start(time)));
    for (const time of parts.keys()) if (shape.next(shape.start(time)) < begun) parts.delete(time);
  };

  const begin = (past: readonly ShownCandle[]): void => {
    parts = new Map(past.map((candle) => [candle.time, unitsOf(candle)]));
    const last = past.at(-1);
    if (last !== undefined) change([last]);
  };

  const start = (): void => {
    cancel = part.follow({
      onPast: begin,
      onChange: change,
      onFault: (error) => {
        venue.log.warn('facade.candles-not-read', { coin: asset.coin, interval, error });
        cancel = venue.clock.after(RETRY_MS, start);
      },
    });
  };
  start();

  return {
    follow(listener) {
      if (latest !== null) listener(latest);
      return topic.listen(listener);
    },
    stop() {
      cancel();
      release();
    },
  };
}

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
