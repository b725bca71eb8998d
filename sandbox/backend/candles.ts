import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';
import { createNoise, gridOf, MAX_PRICE, priceUnits, type Noise, type PriceWalk, type WalkMarket } from './price-walk.js';

export interface Candle {
  /** Epoch ms of its start. */
  readonly time: number;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
}

export interface CandleBook {
  /** Ascending, gaps left as they are; `resolution` in minutes, times in epoch ms, `to` exclusive. */
  read(query: { readonly pairIndex: number; readonly from: number; readonly to: number; readonly resolution: number }): Candle[];
  /** The running day of a market since the walk began, for the snapshot of all markets: the time before it would have to be generated. */
  today(pairIndex: number): Candle | null;
  stop(): void;
}

export interface CandleBookOptions {
  readonly walk: PriceWalk;
  readonly markets: readonly (WalkMarket | null)[];
  readonly clock: Clock;
  /** Past minutes while the market was closed have no candle. */
  readonly isOpen: (pairIndex: number, at: number) => boolean;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
const KEPT_MINUTES = 30 * DAY_MINUTES;
/** Offset of the noise streams for past candles, so that they differ from those of the live walk. */
const PAST = 1_000_000;

/**
 * One-minute candles: those before the walk began are generated backwards from its first price, from the same seed and the absolute
 * minute, on first use; later ones are recorded from its ticks.
 */
export function createCandleBook({ walk, markets, clock, isOpen }: CandleBookOptions): CandleBook {
  const noise = createNoise(walk.seed);
  const now = clock.now();
  const beganAt = floorTo(now, MINUTE_MS);
  const firstPrices = walk.prices();
  const pasts = new Map<number, Past>();
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

  // The first tick may come in a later minute.
  for (const [pairIndex, price] of firstPrices) if (isOpen(pairIndex, now)) record(pairIndex, price, now);
  const unsubscribe: Cancel = walk.onTick(({ pairIndex, price, at }) => record(pairIndex, price, at));

  const pastOf = (pairIndex: number): Past | null => {
    const [market, anchor] = [markets[pairIndex], firstPrices.get(pairIndex)];
    if (!market || anchor === undefined) return null;
    const past = pasts.get(pairIndex) ?? createPast({ noise, market, pairIndex, anchor, until: beganAt, isOpen });
    pasts.set(pairIndex, past);
    return past;
  };

  return {
    read: ({ pairIndex, from, to, resolution }) => {
      const size = resolution * MINUTE_MS;
      const since = floorTo(from, size);
      const past = since < beganAt ? pastOf(pairIndex)?.read({ from: since, to, size }) : undefined;
      return merge([...(past ?? []), ...between(lives.get(pairIndex) ?? [], since, to)], size);
    },
    today(pairIndex) {
      const dayMs = DAY_MINUTES * MINUTE_MS;
      const at = clock.now();
      return merge(between(lives.get(pairIndex) ?? [], floorTo(at, dayMs), at + 1), dayMs).at(-1) ?? null;
    },
    stop: unsubscribe,
  };
}

interface PastOptions {
  readonly noise: Noise;
  readonly market: WalkMarket;
  readonly pairIndex: number;
  readonly anchor: bigint;
  readonly until: number;
  readonly isOpen: (pairIndex: number, at: number) => boolean;
}

/** Generates past candles only as far back as they are requested. */
interface Past {
  /** Ascending; `size` in ms. */
  read(query: { readonly from: number; readonly to: number; readonly size: number }): Candle[];
}

/**
 * Minutes in ascending order, as numbers: a chart of all markets reads half a million of them, which as objects with integer prices
 * would take seconds and slow every garbage collection.
 */
interface PackedMinutes {
  readonly times: Float64Array;
  /** Open, high, low and close of each, in steps of the market's grid. */
  readonly steps: Float64Array;
}

function createPast({ noise, market, pairIndex, anchor, until, isOpen }: PastOptions): Past {
  const sigma = market.volatilityPercent / 100 / Math.sqrt(DAY_MINUTES);
  const grid = gridOf(priceUnits(market.startPrice));
  const gridUnits = Number(grid);
  const oldest = until - KEPT_MINUTES * MINUTE_MS;
  let packs: PackedMinutes[] = [];
  let closeLevel = Number(anchor);
  let next = until - MINUTE_MS;

  const stepsOf = (level: number): number => Math.max(1, Math.round(level / gridUnits));
  const wickOf = (salt: number, minute: number): number => (Math.abs(noise.gaussian(PAST * salt + pairIndex, minute)) * sigma) / 2;

  /** The newest minute comes first, and the close of each. */
  const generate = (from: number): void => {
    const [times, steps]: [number[], number[]] = [[], []];
    for (; next >= Math.max(from, oldest); next -= MINUTE_MS) {
      if (!isOpen(pairIndex, next)) continue;
      const minute = next / MINUTE_MS;
      const close = closeLevel;
      const open = close / Math.exp(sigma * noise.gaussian(PAST + pairIndex, minute));
      const low = Math.min(open, close) * (1 - wickOf(3, minute));
      const high = Math.max(open, close) * (1 + wickOf(2, minute));
      times.push(next);
      steps.push(stepsOf(close), stepsOf(low), stepsOf(high), stepsOf(open));
      closeLevel = open;
    }
    if (times.length > 0) packs = [{ times: Float64Array.from(times).reverse(), steps: Float64Array.from(steps).reverse() }, ...packs];
  };

  return {
    read({ from, to, size }) {
      generate(from);
      return packs.flatMap((pack) => unpack(pack, { from, to, size, grid }));
    },
  };
}

interface Unpacking {
  readonly from: number;
  readonly to: number;
  readonly size: number;
  readonly grid: bigint;
}

/** Candles of `size`; the first and the last may be incomplete. */
function unpack({ times, steps }: PackedMinutes, { from, to, size, grid }: Unpacking): Candle[] {
  const candles: Candle[] = [];
  for (let at = firstSince(times, from); at < times.length;) {
    const time = floorTo(times[at] ?? to, size);
    if ((times[at] ?? to) >= to) break;
    const end = firstSince(times, Math.min(to, time + size));
    const [open, close] = [steps[4 * at] ?? 0, steps[4 * end - 1] ?? 0];
    let [high, low] = [0, Infinity];
    for (; at < end; at += 1) {
      high = Math.max(high, steps[4 * at + 1] ?? 0);
      low = Math.min(low, steps[4 * at + 2] ?? low);
    }
    candles.push({ time, open: priceOf(open, grid), high: priceOf(high, grid), low: priceOf(low, grid), close: priceOf(close, grid) });
  }
  return candles;
}

const priceOf = (steps: number, grid: bigint): bigint => min(BigInt(steps) * grid, MAX_PRICE);

function firstSince(times: Float64Array, from: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return low;
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
  const merged: { -readonly [Key in keyof Candle]: Candle[Key] }[] = [];
  for (const candle of minutes) {
    const time = floorTo(candle.time, size);
    const last = merged.at(-1);
    if (last?.time !== time) {
      merged.push({ ...candle, time });
      continue;
    }
    last.high = max(last.high, candle.high);
    last.low = min(last.low, candle.low);
    last.close = candle.close;
  }
  return merged;
}
