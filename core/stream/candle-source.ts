import { floorTo, intervalMs, MINUTE_MS, type Candle, type CandleInterval } from '../domain/candle.js';
import { compare } from '../domain/decimal.js';
import type { Gateway, Venue } from '../gateway.js';
import { pairOf } from '../domain/market.js';
import { CANDLES, getCandles, showCandle, type ShownCandle } from '../markets/get-candles.js';
import type { Cancel } from '../types.js';
import { createTopic } from './bus.js';

export interface CandleSource {
  follow(listener: CandleListener): Cancel;
  readonly stop: Cancel;
}

export interface CandleListener {
  /** Oldest first; the last one may still grow. */
  readonly onPast: (candles: readonly ShownCandle[]) => void;
  /** Candles that are new or became different. */
  readonly onChange: (candles: readonly ShownCandle[]) => void;
  /** The history could not be read; nothing more is sent. */
  readonly onFault: (error: unknown) => void;
}

/** A gap without prices longer than this means the price stream was interrupted, so the candles are read again. */
const GAP_MS = 2 * MINUTE_MS;

/** One market's candles of one interval: the history is read once for all subscribers, then every price extends it. */
export function createCandleSource(gateway: Gateway, venue: Venue, symbol: string, interval: CandleInterval): CandleSource {
  const { clock, feed, log } = venue;
  const pair = pairOf(feed.config(), symbol);
  const topic = createTopic<readonly ShownCandle[]>('candles', log);
  const sizeMs = intervalMs(interval);
  let candles = new Map<number, ShownCandle>();
  /** The latest minute contained in `candles`. */
  let minuteSeen = 0;
  let loaded: Promise<void> | null = null;
  let isReady = false;

  const read = async (): Promise<ShownCandle[]> => {
    const began = floorTo(clock.now(), MINUTE_MS);
    const found = await getCandles(gateway, venue, symbol, { interval });
    minuteSeen = began;
    return found;
  };

  const load = (): Promise<void> =>
    (loaded ??= read().then(
      (found) => {
        candles = new Map(found.map((candle) => [candle.time, candle]));
        isReady = true;
      },
      (error: unknown) => {
        loaded = null;
        throw error;
      },
    ));

  const apply = (changed: readonly ShownCandle[]): void => {
    for (const candle of changed) candles.set(candle.time, candle);
    for (const time of candles.keys()) if (candles.size > CANDLES.usual) candles.delete(time);
    if (changed.length > 0) topic.publish(changed);
  };

  const reload = (): void => {
    isReady = false;
    read()
      .then((found) => apply(found.filter((candle) => !isSame(candles.get(candle.time), candle))))
      .catch((error: unknown) => log.warn('stream.candles-not-read', { market: symbol, interval, error }))
      .finally(() => (isReady = true));
  };

  const extend = (): void => {
    if (!isReady) return;
    const minutes = venue.candles.recent(pair.index, minuteSeen);
    const youngest = minutes.at(-1);
    if (!youngest) return;
    if (minutes.length === 1 && youngest.time - minuteSeen > GAP_MS) return reload();
    minuteSeen = youngest.time;
    apply(joinMinutes(candles, minutes, sizeMs));
  };

  // The recorder handles the same price event, before or after this listener; the microtask runs when the minute is complete.
  const cancel = feed.on('price', (pairs) => pairs.includes(pair.index) && queueMicrotask(extend));

  return {
    stop: cancel,
    follow({ onPast, onChange, onFault }) {
      let stopListening: Cancel = () => undefined;
      let isCancelled = false;
      const begin = (): void => {
        if (isCancelled) return;
        onPast([...candles.values()]);
        stopListening = topic.listen(onChange);
      };
      load()
        .then(begin)
        .catch((error: unknown) => !isCancelled && onFault(error));
      return () => {
        isCancelled = true;
        stopListening();
      };
    },
  };
}

/** Idempotent: merging the same minute again as it grows changes only the fields that grew. */
function joinMinutes(candles: ReadonlyMap<number, ShownCandle>, minutes: readonly Candle[], sizeMs: number): ShownCandle[] {
  const changed = new Map<number, ShownCandle>();
  for (const minute of minutes) {
    const time = floorTo(minute.time, sizeMs);
    const known = changed.get(time) ?? candles.get(time);
    const next = known ? grow(known, showCandle(minute)) : { ...showCandle(minute), time };
    if (!isSame(known, next)) changed.set(time, next);
  }
  return [...changed.values()];
}

const grow = (known: ShownCandle, minute: ShownCandle): ShownCandle => ({
  ...known,
  high: compare(minute.high, known.high) > 0 ? minute.high : known.high,
  low: compare(minute.low, known.low) < 0 ? minute.low : known.low,
  close: minute.close,
});

const isSame = (a: ShownCandle | undefined, b: ShownCandle): boolean =>
  a !== undefined && (['open', 'high', 'low', 'close'] as const).every((field) => compare(a[field], b[field]) === 0);
