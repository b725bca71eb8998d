import { aggregate, floorTo, INTERVAL_MINUTES, intervalMs, join, MINUTE_MS, type Candle } from '../../domain/candle.js';
import { GatewayError } from '../../errors.js';
import type { Charts, MarketFeed } from '../../ports/feed.js';
import type { Clock } from '../../ports/clock.js';
import { Refused, type Upstream } from './ask-upstream.js';
import { readPrice } from './price-book.js';
import { epochMs, field, ShapeError } from './wire.js';

export interface ChartsOptions {
  readonly pricingUrl: string;
  readonly upstream: Upstream;
  readonly clock: Clock;
}

/** Candles are fetched and cached in aligned pieces, so that clients with different ranges share them. */
interface Piece {
  readonly candles: readonly Candle[];
  readonly askedAt: number;
  readonly isSettled: boolean;
}

const PIECE_CANDLES = 1_000;
const KEPT_PIECES = 100;
/** Limit of requests for one answer: a long range for which upstream only has minutes. */
const MAX_PIECES = 64;
/** Upstream may close a candle a little after its end. */
const GRACE_MS = 5_000;
const MOVING_TTL_MS = 10_000;
const SETTLED_TTL_MS = 3_600_000;
/** While upstream is unavailable, cached candles are served for this many times their TTL. */
const STRETCH = 10;
const REFUSED_MS = 3_600_000;

/** Minutes of every possible resolution, longest first. */
const RESOLUTIONS = Object.values(INTERVAL_MINUTES).sort((a, b) => b - a);

/** Chart history of the pricing host; the resolutions it supports are discovered by requests. */
export function createCharts({ pricingUrl, upstream, clock }: ChartsOptions): Pick<MarketFeed, 'candles'> {
  const pieces = new Map<string, Piece>();
  const underWay = new Map<string, Promise<Piece>>();
  const refusedUntil = new Map<number, number>();

  const keep = (key: string, piece: Piece): void => {
    pieces.delete(key);
    pieces.set(key, piece);
    for (const oldest of [...pieces.keys()].slice(0, Math.max(0, pieces.size - KEPT_PIECES))) pieces.delete(oldest);
  };

  const fetchPiece = async (pairIndex: number, minutes: number, start: number): Promise<Piece> => {
    const [sizeMs, askedAt] = [minutes * MINUTE_MS, clock.now()];
    const end = start + PIECE_CANDLES * sizeMs;
    const until = Math.ceil(Math.min(end, askedAt + 1_000) / 1_000);
    const url = `${pricingUrl}/charts/${pairIndex}/${start / 1_000}/${until}/${minutes}`;
    const isSettled = askedAt - GRACE_MS >= end;
    // Separate queues, so that reading a market's past delays neither its present nor other markets.
    const line = `${pairIndex} ${isSettled ? 'past' : 'present'}`;
    const candles = await upstream.ask(url, (body) => readCandles(body, sizeMs), line);
    return { candles: candles.filter(({ time }) => time >= start && time < end), askedAt, isSettled };
  };

  const pieceAt = async (pairIndex: number, minutes: number, start: number): Promise<Piece> => {
    const key = `${pairIndex} ${minutes} ${start}`;
    const known = pieces.get(key);
    const ttl = known?.isSettled ? SETTLED_TTL_MS : MOVING_TTL_MS;
    const age = known ? clock.now() - known.askedAt : Infinity;
    if (known && age <= ttl) return known;
    const asked = underWay.get(key) ?? fetchPiece(pairIndex, minutes, start).finally(() => underWay.delete(key));
    underWay.set(key, asked);
    try {
      const piece = await asked;
      keep(key, piece);
      return piece;
    } catch (error) {
      if (!known || error instanceof Refused || age > STRETCH * ttl) throw error;
      return known;
    }
  };

  /** All pieces of a range. */
  const gather = async (pairIndex: number, minutes: number, { from, to }: { from: number; to: number }): Promise<Charts> => {
    const pieceMs = PIECE_CANDLES * minutes * MINUTE_MS;
    const first = floorTo(from, pieceMs);
    const end = Math.min(to, clock.now() + 1);
    if ((end - first) / pieceMs > MAX_PIECES) throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'charts' });
    const candles: Candle[] = [];
    let knownUntil = Infinity;
    for (let start = first; start < end; start += pieceMs) {
      const piece = await pieceAt(pairIndex, minutes, start);
      candles.push(...piece.candles.filter(({ time }) => time >= from && time < to));
      if (!piece.isSettled) knownUntil = Math.min(knownUntil, piece.askedAt - GRACE_MS);
    }
    return { candles, knownUntil };
  };

  return {
    async candles({ pairIndex, interval, from, to }) {
      const wanted = INTERVAL_MINUTES[interval];
      const divisors = RESOLUTIONS.filter((minutes) => wanted % minutes === 0 && clock.now() >= (refusedUntil.get(minutes) ?? 0));
      const refused: number[] = [];
      for (const minutes of divisors) {
        try {
          const { candles, knownUntil } = await gather(pairIndex, minutes, { from, to });
          // Only an answer in a shorter resolution proves that the longer one, and not the market, is unsupported.
          for (const one of refused) refusedUntil.set(one, clock.now() + REFUSED_MS);
          return { candles: aggregate(candles, intervalMs(interval)), knownUntil };
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          refused.push(minutes);
        }
      }
      throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'charts' });
    },
  };
}

const MAX_ROWS = 20_000;
/** One row in ten may be malformed; beyond that the table is rejected. */
const TOLERATED = 10;

/** `{table: [{time, open, high, low, close}]}`, in any order, times in seconds or ms → ascending candles, one per opening. */
export function readCandles(body: unknown, sizeMs: number): Candle[] {
  const table = field(body, 'table');
  if (!Array.isArray(table)) throw new ShapeError('table is not an array');
  if (table.length > MAX_ROWS) throw new ShapeError(`table has ${table.length} rows`);
  const rows = table.map(readRow).filter((row) => row !== null);
  const read = withOpening(
    rows.sort((a, b) => a.time - b.time),
    sizeMs,
  );
  if ((table.length - read.length) * TOLERATED > table.length) throw new ShapeError('table has unreadable rows');
  // Upstream answers an unsupported resolution with another one.
  if (read.some(({ time }) => floorTo(time, sizeMs) !== time)) throw new Refused('candles of another resolution');
  const candles: Candle[] = [];
  for (const candle of read) {
    const last = candles.at(-1);
    if (last?.time === candle.time) candles[candles.length - 1] = join(last, candle);
    else candles.push(candle);
  }
  return candles;
}

/** The newest candle is still growing; if it alone has the time of its last tick, it is floored to its opening time. */
function withOpening(ascending: readonly Candle[], sizeMs: number): readonly Candle[] {
  const [newest, ...others] = [...ascending].reverse();
  const isOdd = ({ time }: Candle): boolean => floorTo(time, sizeMs) !== time;
  if (newest === undefined || others.length === 0 || others.some(isOdd)) return ascending;
  return [...others.reverse(), { ...newest, time: floorTo(newest.time, sizeMs) }];
}

function readRow(row: unknown): Candle | null {
  const time = epochMs(field(row, 'time'));
  const [open, high] = [readPrice(field(row, 'open')), readPrice(field(row, 'high'))];
  const [low, close] = [readPrice(field(row, 'low')), readPrice(field(row, 'close'))];
  if (time === null || open === null || high === null || low === null || close === null) return null;
  const inOrder = [open, high, low, close].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return { time, open, high: inOrder[3] ?? high, low: inOrder[0] ?? low, close };
}
