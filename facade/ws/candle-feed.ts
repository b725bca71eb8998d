import type { Candle } from '../../core/domain/candle.js';
import type { Cancel } from '../../core/types.js';
import type { ShownCandle } from '../../core/markets/get-candles.js';
import { createTopic } from '../../core/stream/bus.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import { CANDLE_SHAPES, joinCandles, showCandle, unitsOf, type SnapshotInterval } from '../info/candles.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';

export interface ChartKey {
  readonly asset: Asset;
  readonly interval: SnapshotInterval;
}

export interface CandleFrame {
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
