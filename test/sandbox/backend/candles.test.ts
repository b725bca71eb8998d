import { createCandleBook, type Candle, type CandleBook } from '../../../sandbox/backend/candles.js';
import { createMarketHours } from '../../../sandbox/backend/market-hours.js';
import { createPriceWalk, priceUnits, type PriceWalk } from '../../../sandbox/backend/price-walk.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

const [BTC, EUR] = [0, 9];
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

const opened = (seed = 'a', clock = createManualClock()): { book: CandleBook; walk: PriceWalk; clock: ManualClock } => {
  const hours = createMarketHours({ markets: SANDBOX_MARKETS, clock });
  const walk = createPriceWalk({ seed, markets: SANDBOX_MARKETS, clock, isOpen: hours.isOpen });
  const book = createCandleBook({ walk, markets: SANDBOX_MARKETS, clock, isOpen: hours.isOpen });
  walk.start();
  return { book, walk, clock };
};

const sound = ({ open, high, low, close }: Candle): boolean => low > 0n && low <= open && low <= close && high >= open && high >= close;

describe('the candles', () => {
  it('reach thirty days back from the first moment, without a gap, and meet the live price', () => {
    const { book, clock, walk } = opened();
    const now = clock.now();
    const past = book.read({ pairIndex: BTC, from: now - 30 * DAY, to: now, resolution: 1 });
    expect(past).toHaveLength(30 * 1440);
    expect(past.every(sound)).toBe(true);
    expect(past.every(({ time }, at) => time === now - 30 * DAY + at * MINUTE)).toBe(true);
    expect(past.every(({ open }, at) => at === 0 || open === past[at - 1]?.close)).toBe(true);
    expect(past.at(-1)?.close).toBe(walk.price(BTC));
  });

  it('are the same for the same seed', () => {
    const query = (book: CandleBook, now: number) => book.read({ pairIndex: BTC, from: now - DAY, to: now, resolution: 5 });
    const [first, second, other] = [opened('a'), opened('a'), opened('b')];
    expect(query(first.book, first.clock.now())).toEqual(query(second.book, second.clock.now()));
    expect(query(first.book, first.clock.now())).not.toEqual(query(other.book, other.clock.now()));
  });

  it('record the ticks of the walk', () => {
    const { book, clock, walk } = opened();
    const start = clock.now();
    const seen: bigint[] = [];
    walk.onTick(({ pairIndex, price, at }) => pairIndex === BTC && at < start + MINUTE && seen.push(price));
    clock.advance(2 * MINUTE);
    const [first, second] = book.read({ pairIndex: BTC, from: start, to: clock.now(), resolution: 1 });
    expect(first).toMatchObject({ time: start, close: seen.at(-1) });
    expect(first?.high).toBe(seen.reduce((a, b) => (a > b ? a : b)));
    expect(first?.low).toBe(seen.reduce((a, b) => (a < b ? a : b)));
    expect(second?.open).toBe(first?.close);
  });

  it('have the minute in which the walk began, even if the first tick comes later', () => {
    const minute = Date.UTC(2026, 0, 6, 15);
    const { book, clock, walk } = opened('a', createManualClock(minute + MINUTE - 1));
    const price = walk.price(BTC);
    clock.advance(MINUTE);
    const found = book.read({ pairIndex: BTC, from: minute - MINUTE, to: minute + 2 * MINUTE, resolution: 1 });
    expect(found.map(({ time }) => time)).toEqual([minute - MINUTE, minute, minute + MINUTE]);
    expect(found[1]).toMatchObject({ open: price, close: price });
  });

  it('of a coarser interval are made of the finer ones', () => {
    const { book, clock } = opened();
    clock.advance(10 * MINUTE);
    const to = clock.now();
    const fine = book.read({ pairIndex: BTC, from: to - 60 * MINUTE, to, resolution: 1 });
    const [coarse] = book.read({ pairIndex: BTC, from: to - 60 * MINUTE, to, resolution: 240 });
    const inside = book.read({ pairIndex: BTC, from: coarse?.time ?? 0, to, resolution: 1 });
    expect(coarse).toMatchObject({ open: inside[0]?.open, close: fine.at(-1)?.close });
    expect(coarse?.high).toBe(inside.map(({ high }) => high).reduce((a, b) => (a > b ? a : b)));
  });

  it.each([7, 60, 1440])('of %i minutes are made of the minutes of the past, before and after a weekend', (resolution) => {
    const [minutes, candles] = [opened().book, opened().book];
    const { clock } = opened();
    const [from, to] = [clock.now() - 9.3 * DAY, clock.now() - 0.4 * DAY];
    const since = Math.floor(from / (resolution * MINUTE)) * resolution * MINUTE;
    const expected = new Map<number, Candle>();
    for (const { time, open, high, low, close } of minutes.read({ pairIndex: EUR, from: since, to, resolution: 1 })) {
      const start = Math.floor(time / (resolution * MINUTE)) * resolution * MINUTE;
      const had = expected.get(start) ?? { time: start, open, high, low, close };
      expected.set(start, { ...had, high: high > had.high ? high : had.high, low: low < had.low ? low : had.low, close });
    }
    // The second reading adds older minutes to those of the first one.
    candles.read({ pairIndex: EUR, from: clock.now() - 2.5 * DAY, to, resolution });
    expect(candles.read({ pairIndex: EUR, from, to, resolution })).toEqual([...expected.values()]);
  });

  it('leave the weekend of a currency pair empty', () => {
    const { book, clock } = opened();
    const saturday = Date.UTC(2026, 0, 3, 12);
    expect(clock.now() - saturday).toBeLessThan(30 * DAY);
    expect(book.read({ pairIndex: EUR, from: saturday, to: saturday + 60 * MINUTE, resolution: 1 })).toEqual([]);
    expect(book.read({ pairIndex: BTC, from: saturday, to: saturday + 60 * MINUTE, resolution: 1 })).toHaveLength(60);
  });

  it('of today know the jump that has just happened', () => {
    const { book, walk } = opened();
    walk.jump(BTC, priceUnits('90000'));
    expect(book.today(BTC)).toMatchObject({ high: priceUnits('90000'), close: priceUnits('90000') });
    expect(book.today(5)).toBeNull();
  });
});
