import type { Cancel, Clock } from '../../core/ports.js';
import { createNoise, type Noise } from './noise.js';
import { gridOf, priceUnits, snap } from './price-grid.js';
import type { PriceWalk, WalkMarket } from './price-walk.js';

export interface Candle {
  /** Epoch ms of its first moment. */
  readonly time: number;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
}

export interface CandleBook {
  /** Ascending, gaps left as they are; `resolution` in minutes, times in epoch ms, `to` exclusive. */
  read(query: { readonly pairIndex: number; readonly from: number; readonly to: number; readonly resolution: number }): Candle[];
  /** The running day of a market, for the snapshot of all markets. */
  today(pairIndex: number): Candle | null;
  stop(): void;
}

export interface CandleBookOptions {
  readonly walk: PriceWalk;
  readonly markets: readonly (WalkMarket | null)[];
  readonly clock: Clock;
  /** Past minutes in which the market was closed have no candle. */
  readonly isOpen: (pairIndex: number, at: number) => boolean;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
const KEPT_MINUTES = 30 * DAY_MINUTES;
/** Streams of the past lie apart from those of the live walk. */
const PAST = 1_000_000;

/**
 * One-minute candles: those before the walk began are made backwards from its first price, from the same seed and the absolute minute,
 * on first use; those since are recorded from its ticks.
 */
export function createCandleBook({ walk, markets, clock, isOpen }: CandleBookOptions): CandleBook {
  const noise = createNoise(walk.seed);
  const beganAt = floorTo(clock.now(), MINUTE_MS);
  const firstPrices = walk.prices();
  const pasts = new Map<number, readonly Candle[]>();
  const lives = new Map<number, Candle[]>();

  const record = (pairIndex: number, price: bigint, at: number): void => {
    const live = lives.get(pairIndex) ?? [];
    lives.set(pairIndex, live);
    const time = floorTo(at, MINUTE_MS);
    const last = live.at(-1);
    if (last?.time === time) live[live.length - 1] = extend(last, price);
    else
      live.push({
        time,
        open: last?.close ?? price,
        high: max(last?.close ?? price, price),
        low: min(last?.close ?? price, price),
        close: price,
      });
    if (live.length > KEPT_MINUTES) live.splice(0, DAY_MINUTES);
  };

  const unsubscribe: Cancel = walk.onTick(({ pairIndex, price, at }) => record(pairIndex, price, at));

  const pastOf = (pairIndex: number): readonly Candle[] => {
    const market = markets[pairIndex];
    const anchor = firstPrices.get(pairIndex);
    if (!market || anchor === undefined) return [];
    const made = pasts.get(pairIndex) ?? makePast({ noise, market, pairIndex, anchor, until: beganAt, isOpen });
    pasts.set(pairIndex, made);
    return made;
  };

  const minutes = (pairIndex: number, from: number, to: number): Candle[] => [
    ...(from < beganAt ? between(pastOf(pairIndex), from, to) : []),
    ...between(lives.get(pairIndex) ?? [], from, to),
  ];

  return {
    read: ({ pairIndex, from, to, resolution }) => {
      const size = resolution * MINUTE_MS;
      return merge(minutes(pairIndex, floorTo(from, size), to), size);
    },
    today(pairIndex) {
      const now = clock.now();
      const dayMs = DAY_MINUTES * MINUTE_MS;
      return merge(minutes(pairIndex, floorTo(now, dayMs), now + 1), dayMs).at(-1) ?? null;
    },
    stop: unsubscribe,
  };
}

interface Past {
  readonly noise: Noise;
  readonly market: WalkMarket;
  readonly pairIndex: number;
  readonly anchor: bigint;
  readonly until: number;
  readonly isOpen: (pairIndex: number, at: number) => boolean;
}

function makePast({ noise, market, pairIndex, anchor, until, isOpen }: Past): Candle[] {
  const sigma = market.volatilityPercent / 100 / Math.sqrt(DAY_MINUTES);
  const grid = gridOf(priceUnits(market.startPrice));
  const candles: Candle[] = [];
  let closeLevel = Number(anchor);
  for (let time = until - MINUTE_MS; time >= until - KEPT_MINUTES * MINUTE_MS; time -= MINUTE_MS) {
    if (!isOpen(pairIndex, time)) continue;
    const minute = time / MINUTE_MS;
    const openLevel = closeLevel / Math.exp(sigma * noise.gaussian(PAST + pairIndex, minute));
    const wick = (salt: number): number => (Math.abs(noise.gaussian(PAST * salt + pairIndex, minute)) * sigma) / 2;
    candles.push({
      time,
      open: snap(openLevel, grid),
      high: snap(Math.max(openLevel, closeLevel) * (1 + wick(2)), grid),
      low: snap(Math.min(openLevel, closeLevel) * (1 - wick(3)), grid),
      close: snap(closeLevel, grid),
    });
    closeLevel = openLevel;
  }
  return candles.reverse();
}

const floorTo = (value: number, size: number): number => Math.floor(value / size) * size;
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const extend = (candle: Candle, price: bigint): Candle => ({
  ...candle,
  high: max(candle.high, price),
  low: min(candle.low, price),
  close: price,
});

const between = (candles: readonly Candle[], from: number, to: number): Candle[] => candles.filter(({ time }) => time >= from && time < to);

function merge(minutes: readonly Candle[], size: number): Candle[] {
  const merged: Candle[] = [];
  for (const candle of minutes) {
    const time = floorTo(candle.time, size);
    const last = merged.at(-1);
    if (last?.time === time)
      merged[merged.length - 1] = { ...last, high: max(last.high, candle.high), low: min(last.low, candle.low), close: candle.close };
    else merged.push({ ...candle, time });
  }
  return merged;
}
