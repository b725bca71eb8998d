import fc from 'fast-check';
import { Refused } from '../../../../core/adapters/backend/ask-upstream.js';
import { readCandles } from '../../../../core/adapters/backend/charts.js';
import { ShapeError } from '../../../../core/adapters/backend/wire.js';
import { INTERVAL_MINUTES, MINUTE_MS, type Candle } from '../../../../core/domain/candle.js';

const START = Date.UTC(2026, 0, 5);
const SIZE = 5 * MINUTE_MS;
const UNITS = 10n ** 10n;

const sizes = fc.constantFrom(...Object.values(INTERVAL_MINUTES)).map((minutes) => minutes * MINUTE_MS);
const price = fc.integer({ min: 1, max: 10 ** 9 }).map((cents) => cents / 100);
const bar = fc.tuple(price, price, price, price);
/** Openings with gaps, each once, ascending. */
const openings = (size: number) =>
  fc
    .uniqueArray(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 60 })
    .map((steps) => steps.sort((a, b) => a - b).map((step) => START + step * size));

interface Row {
  readonly time: unknown;
  readonly open: unknown;
  readonly high: unknown;
  readonly low: unknown;
  readonly close: unknown;
}

/** A table as upstream writes it: high and low are the extremes. */
const tables = sizes.chain((size) =>
  openings(size).chain((times) =>
    fc.tuple(...times.map(() => bar)).map((bars) => {
      const rows = bars.map(([open, high, low, close], at): Row => {
        const all = [open, high, low, close];
        return { time: times[at], open, high: Math.max(...all), low: Math.min(...all), close };
      });
      return { size, rows };
    }),
  ),
);

const units = (value: unknown): bigint => BigInt(Math.round(Number(value) * 100)) * (UNITS / 100n);
const candlesOf = (rows: readonly Row[]): Candle[] =>
  rows.map(({ time, open, high, low, close }) => ({
    time: Number(time),
    open: units(open),
    high: units(high),
    low: units(low),
    close: units(close),
  }));

const outcome = (body: unknown, size = SIZE): Candle[] | 'refused' | 'misshapen' => {
  try {
    return readCandles(body, size);
  } catch (error) {
    if (error instanceof Refused) return 'refused';
    if (error instanceof ShapeError) return 'misshapen';
    throw error;
  }
};

describe('the undocumented table of the charts', () => {
  it('is read digit by digit, in any order, in seconds or ms, with numbers or texts, with unknown fields', () => {
    const ways = fc.record({
      inSeconds: fc.boolean(),
      asTexts: fc.boolean(),
      seed: fc.integer(),
      extra: fc.dictionary(fc.string(), fc.anything()),
    });
    fc.assert(
      fc.property(tables, ways, ({ size, rows }, { inSeconds, asTexts, seed, extra }) => {
        const written = rows.map((row) => ({
          ...extra,
          ...Object.fromEntries(Object.entries(row).map(([key, value]) => [key, asTexts && key !== 'time' ? String(value) : value])),
          time: inSeconds ? Number(row.time) / 1000 : row.time,
        }));
        const shuffled = written.map((row, at) => [(at * 7919 + seed) % 104_729, row] as const).sort(([a], [b]) => a - b);
        expect(readCandles({ table: shuffled.map(([, row]) => row), volume: 5 }, size)).toEqual(candlesOf(rows));
      }),
      { numRuns: 200 },
    );
  });

  it('of any shape whatever is candles in order, or refused, and never anything else', () => {
    const cell = fc.oneof(
      fc.constant(null),
      fc.string(),
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.constant(START),
      fc.array(fc.integer()),
    );
    const row = fc.oneof(
      fc.record({ time: cell, open: cell, high: cell, low: cell, close: cell }, { requiredKeys: [] }),
      fc.record({ time: fc.constant(START), open: price, high: price, low: price, close: cell }),
      fc.anything(),
    );
    const body = fc.oneof(fc.record({ table: fc.array(row, { maxLength: 30 }) }), fc.record({ table: fc.anything() }), fc.anything());
    fc.assert(
      fc.property(body, sizes, (given, size) => {
        const read = outcome(given, size);
        if (typeof read === 'string') return;
        for (const [at, { time, open, high, low, close }] of read.entries()) {
          expect(time % size).toBe(0);
          expect(time).toBeGreaterThan(read[at - 1]?.time ?? -1);
          expect(low > 0n && low <= open && low <= close && high >= open && high >= close).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  const row = (time: number, value = 5): Row => ({ time, open: value, high: value, low: value, close: value });
  const rows = (count: number): Row[] => Array.from({ length: count }, (_, at) => row(START + at * SIZE));

  it.each<[string, unknown, unknown]>([
    ['nothing at all', undefined, 'misshapen'],
    ['a bare list', rows(3), 'misshapen'],
    ['another name', { data: rows(3) }, 'misshapen'],
    ['columns', { table: { time: [START], open: [5] } }, 'misshapen'],
    ['rows that are lists', { table: [[START, 5, 5, 5, 5]] }, 'misshapen'],
    ['rows of short names', { table: [{ t: START, o: 5, h: 5, l: 5, c: 5 }] }, 'misshapen'],
    ['more rows than any request asks for', { table: rows(20_001) }, 'misshapen'],
    ['an error in a good answer', { error: 'not found' }, 'misshapen'],
    ['no rows', { table: [] }, []],
    ['times of a finer interval', { table: [0, 1, 2].map((minute) => row(START + minute * MINUTE_MS)) }, 'refused'],
    ['a table whose old candle is odd', { table: [row(START + 1), row(START + SIZE), row(START + 2 * SIZE)] }, 'refused'],
    ['an odd candle alone', { table: [row(START + 1)] }, 'refused'],
  ])('with %s is not guessed at', (_, body, expected) => {
    expect(outcome(body)).toEqual(expected);
  });

  it('may stamp the newest candle, which still grows, with its last tick', () => {
    const read = outcome({ table: [...rows(3), row(START + 3 * SIZE + 61_234, 7)] });
    expect(read).toEqual(candlesOf([...rows(3), row(START + 3 * SIZE, 7)]));
  });

  it('that has the growing candle twice is joined in the order of time, whatever the order of the table', () => {
    const growing = [row(START + 2 * SIZE, 5), row(START + 2 * SIZE + 9_000, 9)];
    for (const order of [growing, [...growing].reverse()]) {
      const last = (outcome({ table: [...rows(2), ...order] }) as Candle[]).at(-1);
      expect(last).toMatchObject({ time: START + 2 * SIZE, open: 5n * UNITS, close: 9n * UNITS, high: 9n * UNITS, low: 5n * UNITS });
    }
  });

  it('loses a broken row in ten and no more', () => {
    const broken = { ...row(START + 50 * SIZE), close: null };
    expect(outcome({ table: [...rows(9), broken] })).toHaveLength(9);
    expect(outcome({ table: [...rows(8), broken] })).toBe('misshapen');
  });
});
