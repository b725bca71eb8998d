import { floorTo, join, type Candle } from '../../domain/candle.js';
import { Refused } from './ask-upstream.js';
import { readPrice } from './price-frame.js';
import { ShapeError } from './problems.js';
import { epochMs, field } from './wire.js';

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
