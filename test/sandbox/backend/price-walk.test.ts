import { createPriceWalk, priceUnits, type PriceWalk, type Tick } from '../../../sandbox/backend/price-walk.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

const BTC = 0;
const BLANK = 5;
const PEPE = 8;

const walking = (
  seed: string,
  options: Partial<Parameters<typeof createPriceWalk>[0]> = {},
): { walk: PriceWalk; clock: ManualClock; ticks: Tick[] } => {
  const clock = createManualClock();
  const walk = createPriceWalk({ seed, markets: SANDBOX_MARKETS, clock, ...options });
  const ticks: Tick[] = [];
  walk.onTick((tick) => void ticks.push(tick));
  walk.start();
  return { walk, clock, ticks };
};

describe('the price walk', () => {
  it('takes the same path for the same seed, and another for another', () => {
    const [first, second, other] = [walking('a'), walking('a'), walking('b')];
    for (const { clock } of [first, second, other]) clock.advance(60_000);
    expect(first.ticks).toEqual(second.ticks);
    expect(first.ticks.map(({ price }) => price)).not.toEqual(other.ticks.map(({ price }) => price));
  });

  it('takes the same path however time is cut', () => {
    const [first, second] = [walking('a'), walking('a')];
    first.clock.advance(10_000);
    for (let step = 0; step < 1000; step += 1) second.clock.advance(10);
    expect(first.walk.prices()).toEqual(second.walk.prices());
  });

  it('ticks every market four times a second, a few at a time', () => {
    const { clock, ticks } = walking('a');
    const start = clock.now();
    clock.advance(1_000);
    const markets = SANDBOX_MARKETS.flatMap((market, pairIndex) => (market ? [pairIndex] : []));
    for (const pairIndex of markets) expect(ticks.filter((tick) => tick.pairIndex === pairIndex)).toHaveLength(4);
    expect(new Set(ticks.map(({ at }) => at - start)).size).toBe(20);
  });

  it('starts at the price of the market and keeps to its grid', () => {
    const { walk, clock, ticks } = walking('a');
    expect(walk.price(BTC)).toBe(priceUnits('60000'));
    expect(walk.price(PEPE)).toBe(84_500n);
    clock.advance(30_000);
    expect(ticks.filter(({ pairIndex, price }) => pairIndex === BTC && price % priceUnits('0.1') !== 0n)).toEqual([]);
    const pepe = new Set(ticks.filter(({ pairIndex }) => pairIndex === PEPE).map(({ price }) => price));
    expect(pepe.size).toBeGreaterThan(5);
  });

  it('wanders as far in a day as the volatility of the market says', () => {
    const markets = Array.from({ length: 60 }, () => ({ startPrice: '1000', volatilityPercent: 3 }));
    const { walk, clock } = walking('a', { markets, tickMs: 60_000 });
    clock.advance(86_400_000);
    const returns = [...walk.prices().values()].map((price) => Math.log(Number(price) / 1e13) * 100);
    const deviation = Math.sqrt(returns.reduce((sum, value) => sum + value ** 2, 0) / returns.length);
    expect(deviation).toBeGreaterThan(2);
    expect(deviation).toBeLessThan(4);
  });

  it('jumps at once, holds, and walks on from there', () => {
    const { walk, clock, ticks } = walking('a');
    walk.jump(BTC, priceUnits('41234.56'));
    expect(ticks.at(-1)).toMatchObject({ pairIndex: BTC, price: priceUnits('41234.56') });
    clock.advance(5_000);
    expect(walk.price(BTC)).toBe(priceUnits('41234.56'));
    walk.resume(BTC);
    clock.advance(5_000);
    expect(walk.price(BTC)).not.toBe(priceUnits('41234.56'));
    expect(Math.abs(Number(walk.price(BTC) - priceUnits('41234.56')))).toBeLessThan(Number(priceUnits('500')));
  });

  it('ticks once a second, all markets together, while no client is connected', () => {
    let isWatched = false;
    const { clock, ticks } = walking('a', { isWatched: () => isWatched });
    const start = clock.now();
    clock.advance(3_000);
    const markets = new Set(ticks.map(({ pairIndex }) => pairIndex)).size;
    expect(ticks).toHaveLength(3 * markets);
    expect([...new Set(ticks.map(({ at }) => at - start))]).toEqual([1_000, 2_000, 3_000]);
    isWatched = true;
    clock.advance(250);
    const before = ticks.length;
    clock.advance(1_000);
    expect(ticks.length - before).toBe(4 * markets);
  });

  it('glides evenly and holds at the end', () => {
    const { walk, clock } = walking('a');
    walk.jump(BTC, priceUnits('60000'));
    walk.glide(BTC, priceUnits('50000'), 10_000);
    clock.advance(5_000);
    const half = Number(walk.price(BTC)) / 1e10;
    expect(half).toBeGreaterThan(54_700);
    expect(half).toBeLessThan(55_300);
    clock.advance(5_500);
    expect(walk.price(BTC)).toBe(priceUnits('50000'));
    clock.advance(5_000);
    expect(walk.price(BTC)).toBe(priceUnits('50000'));
  });

  it('stands still while the market is closed', () => {
    const { walk, clock, ticks } = walking('a', { isOpen: (pairIndex) => pairIndex !== BTC });
    clock.advance(5_000);
    expect(walk.price(BTC)).toBe(priceUnits('60000'));
    expect(ticks.some(({ pairIndex }) => pairIndex === BTC)).toBe(false);
  });

  it('goes on from given prices', () => {
    expect(walking('a', { startPrices: new Map([[BTC, 1234n]]) }).walk.price(BTC)).toBe(1234n);
  });

  it.each([0n, -1n, 2n ** 56n])('refuses the price %p', (price) => {
    const { walk } = walking('a');
    expect(() => walk.jump(BTC, price)).toThrow('does not fit');
    expect(walk.price(BTC)).toBe(priceUnits('60000'));
  });

  it('knows no price of a slot without a market', () => {
    expect(() => walking('a').walk.price(BLANK)).toThrow('no market');
  });
});
