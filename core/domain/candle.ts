/** Open, high, low and close of one interval, 1e10. */
export interface Candle {
  /** Epoch ms of its start; a multiple of the interval, so that days begin at midnight UTC. */
  readonly time: number;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
}

export const CANDLE_INTERVALS = ['1m', '5m', '15m', '30m', '1h', '4h', '1d'] as const;
export type CandleInterval = (typeof CANDLE_INTERVALS)[number];

export const MINUTE_MS = 60_000;

export const INTERVAL_MINUTES: Readonly<Record<CandleInterval, number>> = {
  '1m': 1,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '1d': 1440,
};

export const intervalMs = (interval: CandleInterval): number => INTERVAL_MINUTES[interval] * MINUTE_MS;

export const floorTo = (at: number, sizeMs: number): number => Math.floor(at / sizeMs) * sizeMs;
export const ceilTo = (at: number, sizeMs: number): number => Math.ceil(at / sizeMs) * sizeMs;

/** How many candles open in [from, to). */
export const candleCount = (from: number, to: number, sizeMs: number): number =>
  Math.max(0, (ceilTo(to, sizeMs) - ceilTo(from, sizeMs)) / sizeMs);

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** The earlier candle followed by the later one, as one candle at the time of the first. */
export const join = (earlier: Candle, later: Candle): Candle => ({
  time: earlier.time,
  open: earlier.open,
  high: max(earlier.high, later.high),
  low: min(earlier.low, later.low),
  close: later.close,
});

/**
 * Candles of `sizeMs` from shorter ones in ascending order, whose length divides it. Intervals without prices, as while a market is closed,
 * have no candle; gaps are not filled.
 */
export function aggregate(candles: readonly Candle[], sizeMs: number): Candle[] {
  const joined: Candle[] = [];
  for (const candle of candles) {
    const time = floorTo(candle.time, sizeMs);
    const last = joined.at(-1);
    if (last?.time === time) joined[joined.length - 1] = join(last, candle);
    // The same object is kept where nothing changes, because results are memoised by object.
    else joined.push(candle.time === time ? candle : { ...candle, time });
  }
  return joined;
}
