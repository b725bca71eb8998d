import { candleCount, ceilTo, floorTo, intervalMs, join, MINUTE_MS, type Candle, type CandleInterval } from '../domain/candle.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { groupOf, type MarketConfig, type Pair, pairOf } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { StoredCandle } from '../ports/stores/candles.js';
import { PRICE_SCALE } from './market-data.js';

export interface ShownCandle {
  time: number;
  open: Decimal;
  high: Decimal;
  low: Decimal;
  close: Decimal;
}

export interface CandlesInput {
  readonly interval?: CandleInterval | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

interface Range {
  readonly pair: Pair;
  readonly interval: CandleInterval;
  readonly sizeMs: number;
  /** Multiples of the size: the first candle's opening, and the end of the last one's. */
  readonly from: number;
  readonly to: number;
}

export const CANDLES = { usual: 500, most: 5_000, interval: '1h' } as const;
/** Longest range served from the own store while the charts are unavailable: a week. */
const OWN_MINUTES = 7 * 24 * 60;

export const getCandles = async (
  gateway: Pick<Gateway, 'store'>,
  venue: Venue,
  symbol: string,
  input: CandlesInput,
): Promise<ShownCandle[]> => (await readCandles(gateway, venue, symbol, input)).map(showCandle);

/** Oldest first: candles of the charts, extended with recorded minutes of the price stream up to now. */
export async function readCandles(
  { store }: Pick<Gateway, 'store'>,
  venue: Venue,
  symbol: string,
  input: CandlesInput,
): Promise<readonly Candle[]> {
  const config = venue.feed.config();
  const range = rangeOf(pairOf(config, symbol), input, venue.clock.now());
  if (range.from >= range.to) return [];
  return fromCharts(store, venue, range).catch(async (error: unknown) => {
    const own = isOutage(error) ? await fromOwn(store, venue, config, range) : null;
    if (own === null) throw error;
    return own;
  });
}

const isOutage = (error: unknown): boolean => error instanceof GatewayError && error.code === 'UPSTREAM_UNAVAILABLE';

/** `to` is exclusive and may be in the future. */
function rangeOf(pair: Pair, input: CandlesInput, now: number): Range {
  const interval = input.interval ?? CANDLES.interval;
  const sizeMs = intervalMs(interval);
  const to = input.to ?? now;
  const from = input.from ?? Math.max(0, to - CANDLES.usual * sizeMs);
  if (from >= to) refuse(`must be before to, which is ${to}`);
  const count = candleCount(from, to, sizeMs);
  if (count > CANDLES.most) refuse(tooMany(count, interval, ceilTo(to, sizeMs) - CANDLES.most * sizeMs));
  return { pair, interval, sizeMs, from: ceilTo(from, sizeMs), to: Math.min(ceilTo(to, sizeMs), floorTo(now, sizeMs) + sizeMs) };
}

const tooMany = (count: number, interval: CandleInterval, earliest: number): string =>
  `asks for ${count} candles of ${interval}, but a call gives at most ${CANDLES.most}; begin at ${earliest} or later, or take a longer interval`;

function refuse(message: string): never {
  throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'from', message }] });
}

async function fromCharts(store: Gateway['store'], venue: Venue, range: Range): Promise<readonly Candle[]> {
  const { pair, interval, from, to, sizeMs } = range;
  const charts = await venue.feed.candles({ pairIndex: pair.index, interval, from, to });
  const live = venue.candles.recent(pair.index, floorTo(charts.knownUntil, MINUTE_MS));
  const shown = overlay(charts.candles, live, range);
  // Older candles that upstream does not have.
  const end = Math.min(shown[0]?.time ?? to, to);
  if (end <= from) return shown;
  const older = await store.candles.read({ chain: venue.definition.slug, pairIndex: pair.index, from, to: end, sizeMs });
  return [...older, ...shown];
}

/** Merges recorded minutes into the candles of the charts. */
function overlay(candles: readonly Candle[], live: readonly Candle[], { from, to, sizeMs }: Range): Candle[] {
  const shown = new Map(candles.map((candle) => [candle.time, candle]));
  for (const minute of live) {
    const time = floorTo(minute.time, sizeMs);
    if (time < from || time >= to) continue;
    const known = shown.get(time);
    shown.set(time, known ? join(known, minute) : { ...minute, time });
  }
  return [...shown.values()].sort((a, b) => a.time - b.time);
}

/** Only if the store has every minute of a market that never closes; otherwise an incomplete chart would look complete. */
async function fromOwn(store: Gateway['store'], venue: Venue, config: MarketConfig, range: Range): Promise<readonly StoredCandle[] | null> {
  const { pair, from, to, sizeMs } = range;
  const running = floorTo(venue.clock.now(), MINUTE_MS);
  const hasRunning = running < to && venue.candles.recent(pair.index, running).length > 0;
  const expected = (Math.min(to, running) - from) / MINUTE_MS + (hasRunning ? 1 : 0);
  const isAlwaysOpen = groupOf(config.groups[pair.groupIndex]?.name ?? '') === 'crypto';
  if (!isAlwaysOpen || expected > OWN_MINUTES) return null;
  await venue.candles.flush();
  const own = await store.candles.read({ chain: venue.definition.slug, pairIndex: pair.index, from, to, sizeMs });
  return own.reduce((sum, { minutes }) => sum + minutes, 0) >= expected ? own : null;
}

export const showCandle = ({ time, open, high, low, close }: Candle): ShownCandle => ({
  time,
  open: decimal(open, PRICE_SCALE),
  high: decimal(high, PRICE_SCALE),
  low: decimal(low, PRICE_SCALE),
  close: decimal(close, PRICE_SCALE),
});
