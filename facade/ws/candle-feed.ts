import { floorTo, intervalMs, type Candle } from '../../core/domain/candle.js';
import { addVolume, changesSize, NO_VOLUME, type Volume } from '../../core/domain/market-minute.js';
import { onVenue, type Gateway } from '../../core/gateway.js';
import type { ShownCandle } from '../../core/markets/get-candles.js';
import type { JournalEntry } from '../../core/ports/stores/journal.js';
import { createTopic } from '../../core/stream/bus.js';
import { createRefresh } from '../../core/stream/refresh.js';
import type { VenueStream } from '../../core/stream/venue-stream.js';
import type { Cancel } from '../../core/types.js';
import { CANDLE_SHAPES, joinCandles, readVolumes, showCandle, unitsOf, volumeFloor, type SnapshotInterval } from '../info/candles.js';
import type { Asset } from '../universe.js';
import { frameText } from './frames.js';

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
/** Trades that follow each other faster are read together. */
const VOLUME_GAP_MS = 100;

/** One market's candles of one interval, built from the charts' candles and from what was traded in them. */
export function createCandleFeed(gateway: Gateway, stream: VenueStream, { asset, interval }: ChartKey): CandleFeed {
  const { venue } = stream;
  const shape = CANDLE_SHAPES[interval];
  const topic = createTopic<CandleFrame>('facade candles', venue.log);
  const { part, release } = stream.candles(asset.symbol, shape.from);
  let parts = new Map<number, Candle>();
  let latest: { readonly start: number; readonly frame: CandleFrame } | null = null;
  /** What was traded in each of the chart's candles, as last read: a trade changes one of them, however long the candle is that is sent. */
  const volumes = new Map<number, Volume>();
  /** Candles of which all was read. */
  const known = new Set<number>();
  /** What has to be read: its start and its end. */
  const unread = new Map<number, number>();
  const partMs = intervalMs(shape.from);
  let cancel: Cancel = () => undefined;
  let retry: Cancel | null = null;

  const publish = (start: number): void => {
    const own = [...parts.values()].filter(({ time }) => shape.start(time) === start).sort((a, b) => a.time - b.time);
    const [candle] = joinCandles(own, shape);
    const volume = candle === undefined ? null : volumeOf(start);
    if (candle === undefined || volume === null) return;
    const shown = showCandle(asset, interval, candle, volumeFloor(gateway, venue, asset)(shape, start, volume));
    const frame = { key: String(start), text: frameText('candle', shown) };
    if (latest?.frame.text === frame.text) return;
    if (latest === null || start >= latest.start) latest = { start, frame };
    topic.publish(frame);
  };

  /** Null until it is read; a candle that has begun since the last one sent is sent at once. */
  const volumeOf = (start: number): Volume | null => {
    if (known.has(start))
      return [...volumes].filter(([time]) => shape.start(time) === start).reduce((sum, [, each]) => addVolume(sum, each), NO_VOLUME);
    askVolume(start, shape.next(start));
    return latest !== null && start > latest.start ? NO_VOLUME : null;
  };

  const askVolume = (from: number, to: number): void => {
    unread.set(from, Math.max(to, unread.get(from) ?? 0));
    reading.ask();
  };

  const readUnread = async (): Promise<void> => {
    try {
      for (const [from, to] of [...unread].sort(([a], [b]) => a - b)) {
        unread.delete(from);
        await readPart(from, to);
        publish(shape.start(from));
      }
    } catch (error) {
      venue.log.warn('facade.candle-volume-not-read', { coin: asset.coin, interval, error });
      readAllAgain();
    }
  };

  const readPart = async (from: number, to: number): Promise<void> => {
    // A backlog is counted in steps, and the journal has no entry of them. Asked first: what is counted after this answer is read again.
    if (await gateway.store.candles.hasUncounted(venue.definition.slug)) readAllAgain();
    const found = await readVolumes(gateway, venue, asset, { shape: CANDLE_SHAPES[shape.from], from, to });
    for (let time = from; time < to; time += partMs) volumes.set(time, found.get(time) ?? NO_VOLUME);
    if (to === shape.next(from)) known.add(from);
  };

  /** All of the candles that can still be sent. */
  const readAllAgain = (): void => {
    retry ??= venue.clock.after(RETRY_MS, () => {
      retry = null;
      for (const start of new Set([...parts.keys()].map((time) => shape.start(time)))) askVolume(start, shape.next(start));
    });
  };
  const reading = createRefresh(venue.clock, VOLUME_GAP_MS, readUnread);

  const change = (changed: readonly ShownCandle[]): void => {
    for (const candle of changed) parts.set(candle.time, unitsOf(candle));
    for (const start of new Set(changed.map(({ time }) => shape.start(time)).sort((a, b) => a - b))) publish(start);
    const begun = Math.max(...[...parts.keys()].map((time) => shape.start(time)));
    for (const time of parts.keys()) if (shape.next(shape.start(time)) < begun) parts.delete(time);
    for (const time of volumes.keys()) if (shape.next(shape.start(time)) < begun) volumes.delete(time);
    for (const start of known) if (shape.next(start) < begun) known.delete(start);
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

  // The entries are published after the transaction that counted their trades.
  const stopTrades = onVenue(gateway, venue, 'journal', ({ entries }) => {
    for (const time of entries.flatMap((entry) => tradedAt(entry, asset))) askVolume(floorTo(time, partMs), floorTo(time, partMs) + partMs);
  });

  return {
    follow(listener) {
      if (latest !== null) listener(latest.frame);
      return topic.listen(listener);
    },
    stop() {
      [cancel, stopTrades, reading.stop, release].forEach((end) => end());
      retry?.();
    },
  };
}

/** The block time of an execution in this market, or of one that a reorganisation has undone. */
function tradedAt({ fact }: JournalEntry, asset: Asset): number[] {
  const fill = fact.kind === 'correction' ? fact.of : fact;
  if (fill.kind !== 'fill' || fill.executed.terms.pairIndex !== asset.id) return [];
  return changesSize(fill.executed) ? [fill.executed.place.at] : [];
}
