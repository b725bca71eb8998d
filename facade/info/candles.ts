import { aggregate, ceilTo, floorTo, intervalMs, type Candle, type CandleInterval } from '../../core/domain/candle.js';
import { toUnits } from '../../core/domain/decimal.js';
import { groupOf } from '../../core/domain/market.js';
import { addVolume, NO_VOLUME, type Volume } from '../../core/domain/market-minute.js';
import { classOpen, nextOpen } from '../../core/domain/schedule.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { CANDLES, readCandles, type ShownCandle } from '../../core/markets/get-candles.js';
import { PRICE_SCALE, formatSize, formatTick } from '../format.js';
import { coinPrice, coinSize, lotOf, type Asset } from '../universe.js';

const DAY_MS = 86_400_000;
/** The first Monday after the epoch; weeks begin on Mondays. */
const FIRST_MONDAY = 4 * DAY_MS;

export const SNAPSHOT_INTERVALS = ['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '12h', '1d', '3d', '1w', '1M'] as const;
export type SnapshotInterval = (typeof SNAPSHOT_INTERVALS)[number];

export interface CandleShape {
  /** The chart interval it is built from. */
  readonly from: CandleInterval;
  readonly start: (at: number) => number;
  /** The start of the next candle. */
  readonly next: (start: number) => number;
}

const every = (from: CandleInterval, sizeMs: number, offset = 0): CandleShape => ({
  from,
  start: (at) => Math.floor((at - offset) / sizeMs) * sizeMs + offset,
  next: (start) => start + sizeMs,
});
const plain = (from: CandleInterval): CandleShape => every(from, intervalMs(from));

const monthOf = (at: number, later: number): number => {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
};

export const CANDLE_SHAPES: Readonly<Record<SnapshotInterval, CandleShape>> = {
  '1m': plain('1m'),
  '3m': every('1m', 180_000),
  '5m': plain('5m'),
  '15m': plain('15m'),
  '30m': plain('30m'),
  '1h': plain('1h'),
  '2h': every('1h', 7_200_000),
  '4h': plain('4h'),
  '8h': every('4h', 28_800_000),
  '12h': every('4h', 43_200_000),
  '1d': plain('1d'),
  '3d': every('1d', 3 * DAY_MS),
  '1w': every('1d', 7 * DAY_MS, FIRST_MONDAY),
  '1M': { from: '1d', start: (at) => monthOf(at, 0), next: (start) => monthOf(start, 1) },
};

export interface SnapshotCandle {
  readonly t: number;
  readonly T: number;
  readonly s: string;
  readonly i: SnapshotInterval;
  readonly o: string;
  readonly c: string;
  readonly h: string;
  readonly l: string;
  readonly v: string;
  readonly n: number;
}

export interface CandleQuery {
  readonly interval: SnapshotInterval;
  readonly startTime: number;
  readonly endTime?: number | null | undefined;
}

const MOST = 5_000;
/** Chart requests per reply. */
const MOST_CALLS = 3;

/** Ascending, the last one still forming; the newest ones if the limit is exceeded. Charts have no volume, so it is that of the contract's trades. */
export async function candleSnapshot(gateway: Gateway, venue: Venue, asset: Asset, query: CandleQuery): Promise<SnapshotCandle[]> {
  const shape = CANDLE_SHAPES[query.interval];
  const sourceMs = intervalMs(shape.from);
  const now = venue.clock.now();
  const to = Math.min(query.endTime ?? now, now) + 1;
  const earliest = to - MOST_CALLS * (CANDLES.most - 1) * sourceMs;
  const from = shape.start(Math.max(query.startTime, earliest, 0));
  if (from >= to) return [];
  const candles = joinCandles(await read(gateway, venue, asset, { interval: shape.from, from, to }), shape);
  const wanted = candles.filter(({ time }) => time >= query.startTime || shape.next(time) > query.startTime).slice(-MOST);
  const [first] = wanted;
  if (!first) return [];
  const volumes = await readVolumes(gateway, venue, asset, { shape, from: first.time, to });
  const floored = volumeFloor(gateway, venue, asset);
  return wanted.map((candle) => showCandle(asset, query.interval, candle, floored(shape, candle.time, volumes.get(candle.time))));
}

interface VolumeRange {
  readonly shape: CandleShape;
  readonly from: number;
  readonly to: number;
}

/** What was traded in the candles of a shape, by their start; those without a trade are missing. */
export async function readVolumes(
  { store }: Pick<Gateway, 'store'>,
  { definition }: Venue,
  asset: Asset,
  { shape, from, to }: VolumeRange,
): Promise<ReadonlyMap<number, Volume>> {
  const sizeMs = intervalMs(shape.from);
  const range = { chain: definition.slug, pairIndex: asset.id, from: floorTo(from, sizeMs), to: ceilTo(to, sizeMs), sizeMs };
  const volumes = new Map<number, Volume>();
  for (const [time, volume] of await store.candles.volumes(range)) {
    const start = shape.start(time);
    volumes.set(start, addVolume(volumes.get(start), volume));
  }
  return volumes;
}

export type VolumeFloor = (shape: CandleShape, start: number, volume: Volume | undefined) => Volume;

/** Less than a lot would be shown as zero, which strategies take for missing data: it is shown as one lot while the market is open. */
export function volumeFloor({ facade }: Pick<Gateway, 'facade'>, { feed, clock }: Venue, asset: Asset): VolumeFloor {
  const config = feed.config();
  const group = groupOf(config.groups[asset.pair?.groupIndex ?? -1]?.name ?? '');
  const now = clock.now();
  const wasOpen = (start: number, end: number): boolean =>
    (nextOpen(group, start) ?? Infinity) < end || (now >= start && now < end && classOpen(config, group, now));
  const lot = lotOf(asset);
  return (shape, start, volume = NO_VOLUME) => {
    const isFloored = facade.floorsCandleVolume && volume.base < lot && wasOpen(start, shape.next(start));
    return isFloored ? { ...volume, base: lot } : volume;
  };
}

interface Stretch {
  readonly interval: CandleInterval;
  readonly from: number;
  readonly to: number;
}

/** The core returns a limited number of candles per call. */
async function read(gateway: Gateway, venue: Venue, asset: Asset, { interval, from, to }: Stretch): Promise<Candle[]> {
  const span = (CANDLES.most - 1) * intervalMs(interval);
  const candles: Candle[] = [];
  for (let start = from; start < to; start += span) {
    const part = await readCandles(gateway, venue, asset.symbol, { interval, from: start, to: Math.min(start + span, to) });
    for (const candle of part) if (candle.time > (candles.at(-1)?.time ?? -1)) candles.push(candle);
  }
  return candles;
}

const u = (price: Parameters<typeof toUnits>[0]): bigint => toUnits(price, PRICE_SCALE, 'half-up');

export const unitsOf = ({ time, open, high, low, close }: ShownCandle): Candle => ({
  time,
  open: u(open),
  high: u(high),
  low: u(low),
  close: u(close),
});

export function joinCandles(candles: readonly Candle[], { start }: CandleShape): Candle[] {
  const groups = new Map<number, Candle[]>();
  for (const candle of candles) {
    const at = start(candle.time);
    groups.set(at, [...(groups.get(at) ?? []), candle]);
  }
  return [...groups].flatMap(([time, group]) =>
    aggregate(
      group.map((candle) => ({ ...candle, time: 0 })),
      1,
    ).map((candle) => ({ ...candle, time })),
  );
}

export function showCandle(
  asset: Asset,
  interval: SnapshotInterval,
  { time, open, high, low, close }: Candle,
  { base, trades }: Volume,
): SnapshotCandle {
  const { next } = CANDLE_SHAPES[interval];
  const px = (price: bigint): string => formatTick(coinPrice(asset, price), asset.szDecimals, 'half-up');
  const prices = { o: px(open), c: px(close), h: px(high), l: px(low) };
  const v = formatSize(coinSize(asset, base), asset.szDecimals, 'down');
  return { t: time, T: next(time) - 1, s: asset.coin, i: interval, ...prices, v, n: trades };
}
