import fc from 'fast-check';
import {
  aggregate,
  candleCount,
  CANDLE_INTERVALS,
  intervalMs,
  join,
  MINUTE_MS,
  type Candle,
  type CandleInterval,
} from '../../../core/domain/candle.js';

const START = Date.UTC(2026, 0, 5);
const price = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });

/** Minutes in ascending order, some of them missing. */
const minutes: fc.Arbitrary<Candle[]> = fc
  .uniqueArray(fc.record({ minute: fc.integer({ min: 0, max: 6000 }), ticks: fc.array(price, { minLength: 1, maxLength: 5 }) }), {
    selector: ({ minute }) => minute,
    maxLength: 60,
  })
  .map((list) => list.sort((a, b) => a.minute - b.minute).map(({ minute, ticks }) => candleOf(START + minute * MINUTE_MS, ticks)));

function candleOf(time: number, ticks: readonly bigint[]): Candle {
  const inOrder = [...ticks].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return { time, open: ticks[0] ?? 0n, high: inOrder.at(-1) ?? 0n, low: inOrder[0] ?? 0n, close: ticks.at(-1) ?? 0n };
}

const interval = fc.constantFrom(...CANDLE_INTERVALS);
/** A short interval and a longer one it divides. */
const pairOfIntervals = fc.tuple(interval, interval).filter(([a, b]) => intervalMs(b) % intervalMs(a) === 0);

describe('candles of a longer interval', () => {
  it('are the same whether they are made at once or in steps', () => {
    fc.assert(
      fc.property(minutes, pairOfIntervals, (list, [short, long]) => {
        expect(aggregate(aggregate(list, intervalMs(short)), intervalMs(long))).toEqual(aggregate(list, intervalMs(long)));
      }),
    );
  });

  it('do not change when they are made again', () => {
    fc.assert(
      fc.property(minutes, interval, (list, each) => {
        const once = aggregate(list, intervalMs(each));
        expect(aggregate(once, intervalMs(each))).toEqual(once);
      }),
    );
  });

  it('keep every extreme, open with the first and close with the last of what they cover', () => {
    fc.assert(
      fc.property(minutes, interval, (list, each) => {
        for (const candle of aggregate(list, intervalMs(each))) {
          const inside = list.filter(({ time }) => time >= candle.time && time < candle.time + intervalMs(each));
          expect(candle.high).toBe(inside.reduce((most, { high }) => (high > most ? high : most), 0n));
          expect(candle.low).toBe(inside.reduce((least, { low }) => (low < least ? low : least), 2n ** 64n));
          expect([candle.open, candle.close]).toEqual([inside[0]?.open, inside.at(-1)?.close]);
        }
      }),
    );
  });

  it('open on their grid, in order, and only where something happened', () => {
    fc.assert(
      fc.property(minutes, interval, (list, each) => {
        const times = aggregate(list, intervalMs(each)).map(({ time }) => time);
        const expected = [...new Set(list.map(({ time }) => time - (time % intervalMs(each))))];
        expect(times).toEqual(expected);
      }),
    );
  });

  it('do not depend on where a series is cut', () => {
    fc.assert(
      fc.property(minutes, interval, fc.nat(), (list, each, at) => {
        const cut = at % (list.length + 1);
        const [head, tail] = [aggregate(list.slice(0, cut), intervalMs(each)), aggregate(list.slice(cut), intervalMs(each))];
        const [last, first] = [head.at(-1), tail[0]];
        const seam = last && last.time === first?.time ? [...head.slice(0, -1), join(last, first), ...tail.slice(1)] : [...head, ...tail];
        expect(seam).toEqual(aggregate(list, intervalMs(each)));
      }),
    );
  });
});

describe('the number of candles', () => {
  it('is the number of openings from the start up to, and without, the end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500_000 }), fc.integer({ min: 0, max: 500_000 }), (from, to) => {
        const size = 60_000;
        const openings = Array.from({ length: 10 }, (_, at) => at * size).filter((time) => time >= from && time < to);
        expect(candleCount(from, to, size)).toBe(openings.length);
      }),
    );
  });

  it.each<[CandleInterval, number]>([
    ['1m', 1440],
    ['4h', 6],
    ['1d', 1],
  ])('of %s in a day is %i', (each, count) => {
    expect(candleCount(START, START + 86_400_000, intervalMs(each))).toBe(count);
  });
});
