import type { ChainSlug } from '../chains/chains.js';
import { floorTo, MINUTE_MS, type Candle } from '../domain/candle.js';
import { groupOf, type MarketConfig, type MarketGroup } from '../domain/market.js';
import { classOpen } from '../domain/schedule.js';
import type { MarketFeed } from '../ports/feed.js';
import type { Logger } from '../ports/log.js';
import type { Clock } from '../ports/clock.js';
import type { Cancel } from '../types.js';
import type { CandleStore, MinuteCandle } from '../ports/stores/candles.js';

export interface CandleRecorder {
  start(): void;
  /** Writes unsaved candles before it resolves. */
  stop(): Promise<void>;
  /** Candles of a pair that this process recorded since a time, ascending; only the last minutes are kept. */
  recent(pairIndex: number, since: number): readonly Candle[];
  /** Resolves when everything recorded so far is in the store. */
  flush(): Promise<void>;
}

export interface CandleRecorderOptions {
  readonly chain: ChainSlug;
  readonly feed: MarketFeed;
  readonly store: CandleStore;
  readonly clock: Clock;
  readonly log: Logger;
}

const FLUSH_MS = 10_000;
/** How long candles stay in memory; a database outage shorter than this loses nothing. */
const REMEMBERED_MS = 20 * MINUTE_MS;
const PRUNE_MS = 60 * MINUTE_MS;
const KEPT_MS = 90 * 24 * 60 * MINUTE_MS;

/** Records minute candles of the feed's price before skew, as the protocol's charts do: in memory first, then in the store. */
export function createCandleRecorder({ chain, feed, store, clock, log }: CandleRecorderOptions): CandleRecorder {
  /** By pair, ascending; `dirty` holds candles whose current form is not stored yet. */
  const minutes = new Map<number, MinuteCandle[]>();
  const dirty = new Map<string, MinuteCandle>();
  const isOpen = openHours();
  let config: MarketConfig | null = null;
  let flushing: Promise<void> = Promise.resolve();
  let cancels: Cancel[] = [];

  const record = (pairIndex: number): void => {
    const point = feed.lastPrice(pairIndex);
    if (!point || !config || !isOpen(config, pairIndex, point.at)) return;
    const list = minutes.get(pairIndex) ?? [];
    minutes.set(pairIndex, list);
    const next = extend(list, { pairIndex, price: point.oracle, at: point.at });
    if (next) dirty.set(`${pairIndex} ${next.time}`, next);
    const forgotten = list.findIndex(({ time }) => time >= clock.now() - REMEMBERED_MS);
    if (forgotten > 0) list.splice(0, forgotten);
  };

  const write = async (): Promise<void> => {
    const batch = [...dirty.values()];
    if (batch.length === 0) return;
    dirty.clear();
    try {
      await store.merge(chain, batch);
    } catch (error) {
      const oldest = clock.now() - REMEMBERED_MS;
      for (const minute of batch) {
        const key = `${minute.pairIndex} ${minute.time}`;
        if (minute.time >= oldest && !dirty.has(key)) dirty.set(key, minute);
      }
      throw error;
    }
  };

  const flush = (): Promise<void> => {
    const turn = flushing.then(write);
    flushing = turn.catch(() => undefined);
    return turn;
  };

  const quietly = (task: () => Promise<void>, event: string) => (): void =>
    void task().catch((error: unknown) => log.warn(event, { error }));

  return {
    flush,
    recent: (pairIndex, since) => (minutes.get(pairIndex) ?? []).filter(({ time }) => time >= since),
    start() {
      cancels = [
        feed.on('config', (next) => void (config = next)),
        feed.on('price', (pairs) => pairs.forEach(record)),
        clock.every(FLUSH_MS, quietly(flush, 'candles.not-written')),
        clock.every(
          PRUNE_MS,
          quietly(() => store.prune(chain, clock.now() - KEPT_MS), 'candles.not-pruned'),
        ),
      ];
    },
    async stop() {
      for (const cancel of cancels) cancel();
      await flush().catch((error: unknown) => log.warn('candles.not-written', { error }));
    },
  };
}

/** The extended minute, or null for a price older than the last minute. */
function extend(list: MinuteCandle[], tick: { pairIndex: number; price: bigint; at: number }): MinuteCandle | null {
  const { pairIndex, price, at } = tick;
  const time = floorTo(at, MINUTE_MS);
  const last = list.at(-1);
  if (last && time < last.time) return null;
  const next =
    last?.time === time
      ? {
          ...last,
          ...(price > last.high && { high: price }),
          ...(price < last.low && { low: price }),
          ...(at >= last.closeAt && { close: price, closeAt: at }),
        }
      : { pairIndex, time, open: price, high: price, low: price, close: price, openAt: at, closeAt: at };
  list[last?.time === time ? list.length - 1 : list.length] = next;
  return next;
}

/** The feed may repeat the last price of a closed market, so opening hours are checked, at most once a minute per group. */
function openHours(): (config: MarketConfig, pairIndex: number, at: number) => boolean {
  const asked = new Map<MarketGroup, { minute: number; config: MarketConfig; isOpen: boolean }>();
  return (config, pairIndex, at) => {
    const pair = config.pairs[pairIndex];
    if (!pair) return false;
    const group = groupOf(config.groups[pair.groupIndex]?.name ?? '');
    const minute = floorTo(at, MINUTE_MS);
    const known = asked.get(group);
    if (known?.minute === minute && known.config === config) return known.isOpen;
    const isOpen = classOpen(config, group, at);
    asked.set(group, { minute, config, isOpen });
    return isOpen;
  };
}
