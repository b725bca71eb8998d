import fc from 'fast-check';
import { openingImpact, type PriceContext } from '../../../../core/domain/pricing/execution-price.js';
import { exposureRoom, isWithinExposureLimits } from '../../../../core/domain/pricing/exposure.js';
import { virtualBook, type BookLevel } from '../../../../core/domain/pricing/order-book.js';
import { MAX_OPEN_LOSS_P, openLossP } from '../../../../core/domain/pricing/predict-open.js';
import { usdToCollateral } from '../../../../core/domain/pricing/size.js';
import { E18, HUNDRED_PERCENT } from '../../../../core/domain/pricing/units.js';
import { magnitude, marketWith, oraclePrice, SEED, terms } from './arbitraries.js';
import { contextOf, currentWindow, goldenMarket, MOMENT, price, usd, usdc, withState, withWindows } from './fixture.js';

const runs = { seed: SEED, numRuns: 250 };

/** Average of the levels up to each edge, 1e22, brought back over the rounding each side names. */
function averages(levels: readonly BookLevel[], long: boolean): readonly bigint[] {
  let [cost, size] = [0n, 0n];
  return levels.map((level) => {
    cost += level.price * level.usd;
    size += level.usd;
    return long ? cost / size : (cost + size - 1n) / size;
  });
}

const impactAt = (context: PriceContext, long: boolean, usdSize: bigint): ReturnType<typeof openingImpact> => {
  // The edges are sizes the collateral can express, so the round trip through it is exact or one unit short.
  const size = usdToCollateral(usdSize, context.market.collateral);
  const { precisionDelta, priceUsd } = context.market.collateral;
  const exact = [size, size + 1n].find((candidate) => (candidate * precisionDelta * priceUsd) / 10n ** 8n === usdSize);
  if (exact === undefined) throw new Error('the edge is not executable');
  return openingImpact(context, { long, positionSizeCollateral: exact });
};

describe('the virtual book', () => {
  it('shows the published levels: 60019.5 for the first half million, 60027 on average for the first million', () => {
    const { asks, bids } = virtualBook(contextOf(goldenMarket, price(60_000)));
    expect(asks).toHaveLength(20);
    expect(asks[0]).toMatchObject({ price: 600_195n * 10n ** 21n, usd: usd(500_000), executionPrice: price(60_019.5) });
    expect(asks[1]).toMatchObject({ price: 600_345n * 10n ** 21n, cumulativeUsd: usd(1_000_000), executionPrice: price(60_027) });
    expect(bids[0]).toMatchObject({ price: 599_805n * 10n ** 21n, usd: usd(500_000), executionPrice: price(59_980.5) });
    expect(asks[0]?.base).toBe((usd(500_000) * 10n) / 600_195n);
  });

  it('averages to the execution price at every edge, to the last digit, with recent volume and with skew', () => {
    fc.assert(
      fc.property(marketWith(true), terms, oraclePrice, fc.boolean(), (market, trader, oracle, long) => {
        const context = { market, terms: trader, moment: MOMENT, oraclePrice: oracle };
        const book = virtualBook(context);
        const levels = long ? book.asks : book.bids;
        for (const [index, average] of averages(levels, long).entries()) {
          const { cumulativeUsd, executionPrice } = levels[index] ?? { cumulativeUsd: 0n, executionPrice: 0n };
          const impact = impactAt(context, long, cumulativeUsd);
          expect(executionPrice).toBe(impact.priceAfterImpact);
          expect(average).toBe(oracle * (HUNDRED_PERCENT + impact.totalImpactP));
        }
      }),
      runs,
    );
  });

  it('gets worse level by level, beyond the noise of the contract’s own truncation', () => {
    fc.assert(
      fc.property(marketWith(true), terms, oraclePrice, fc.boolean(), (market, trader, oracle, long) => {
        const book = virtualBook({ market, terms: trader, moment: MOMENT, oraclePrice: oracle });
        const levels = long ? book.asks : book.bids;
        levels.slice(1).forEach((level, index) => {
          const better = levels[index];
          if (!better) throw new Error('no better level');
          const step = long ? level.price - better.price : better.price - level.price;
          // Each average is truncated by a few units of 1e-10 percent, which a thin level between two edges magnifies.
          const thinnest = level.usd < better.usd ? level.usd : better.usd;
          const noise = oracle * ((8n * level.cumulativeUsd) / thinnest + 8n);
          expect(step + noise >= 0n).toBe(true);
        });
      }),
      runs,
    );
  });

  it('never promises a size the contract would refuse', () => {
    fc.assert(
      fc.property(marketWith(true), terms, oraclePrice, fc.boolean(), (market, trader, oracle, long) => {
        const context = { market, terms: trader, moment: MOMENT, oraclePrice: oracle };
        const book = virtualBook(context);
        const last = (long ? book.asks : book.bids).at(-1);
        if (last === undefined) return;
        const impact = impactAt(context, long, last.cumulativeUsd);
        expect(openLossP(impact, { long, leverage: market.group.minLeverage }) <= MAX_OPEN_LOSS_P).toBe(true);
        const positionSizeCollateral = usdToCollateral(last.cumulativeUsd, market.collateral);
        expect(isWithinExposureLimits({ market, long, positionSizeCollateral, price: oracle })).toBe(true);
      }),
      runs,
    );
  });

  it('starts where recent volume left off', () => {
    const quiet = virtualBook(contextOf(goldenMarket, price(60_000)));
    const busy = virtualBook(contextOf(withWindows(goldenMarket, [currentWindow({ up: usd(250_000) })]), price(60_000)));
    expect(busy.asks[0]?.usd).toBe(usd(250_000));
    expect(busy.asks[1]?.usd).toBe(usd(500_000));
    expect(busy.asks[0]?.price ?? 0n).toBeGreaterThan(quiet.asks[0]?.price ?? 0n);
    expect(busy.bids).toEqual(quiet.bids);
  });

  it('goes on beyond the bands when recent volume has used them up', () => {
    const market = withWindows(goldenMarket, [currentWindow({ up: usd(30_000_000) })]);
    const { asks } = virtualBook(contextOf(market, price(60_000)));
    expect(asks).toHaveLength(10);
    expect(asks[0]?.usd).toBe(usd(500_000));
  });

  it('is one level where volume moves no price', () => {
    const exempt = { ...goldenMarket, pair: { ...goldenMarket.pair, factors: { ...goldenMarket.pair.factors, exemptOnOpen: true } } };
    const { asks } = virtualBook(contextOf(exempt, price(60_000)));
    expect(asks).toEqual([expect.objectContaining({ price: 60_012n * 10n ** 22n, usd: usd(10_000_000) })]);
  });

  it('ends at the open interest and at the skew that are left, and is empty when nothing is', () => {
    const limited = withState(goldenMarket, { maxOi: 7n * 10n ** 15n, oiToken: { long: 0n, short: 10n * E18 } });
    const { asks, bids } = virtualBook(contextOf(limited, price(60_000)));
    expect(asks.at(-1)?.cumulativeUsd).toBe(usd(700_000));
    expect(bids.at(-1)?.cumulativeUsd).toBe(usd(100_000));
    const skewed = withState(limited, { maxSkewCollateral: 10n ** 15n });
    expect(virtualBook(contextOf(skewed, price(60_000))).bids).toEqual([]);
    expect(virtualBook(contextOf(skewed, price(60_000))).asks.at(-1)?.cumulativeUsd).toBe(usd(700_000));
    expect(virtualBook(contextOf(withState(limited, { maxOi: 0n }), price(60_000)))).toEqual({ asks: [], bids: [] });
  });
});

describe('spare exposure', () => {
  it('is the largest size the contract lets in', () => {
    const group = fc.option(fc.record({ long: magnitude(4, 14), short: magnitude(4, 14), max: magnitude(10, 16) }));
    fc.assert(
      fc.property(marketWith(true), oraclePrice, fc.boolean(), group, (market, at, long, groupOi) => {
        const input = { market, long, price: at, groupOi };
        const spare = exposureRoom(input);
        if (spare > 0n) expect(isWithinExposureLimits({ ...input, positionSizeCollateral: spare })).toBe(true);
        expect(isWithinExposureLimits({ ...input, positionSizeCollateral: spare + 1n })).toBe(false);
      }),
      { ...runs, numRuns: 1500 },
    );
  });

  it('is what rounding hides where a group is full', () => {
    const dai = { precision: E18, precisionDelta: 1n, priceUsd: 10n ** 8n };
    const input = {
      market: { ...goldenMarket, collateral: dai },
      long: true,
      price: price(60_000),
      groupOi: { long: 5n, short: 5n, max: 5n },
    };
    const spare = exposureRoom(input);
    expect(spare).toBe(99_999_999n);
    expect([spare, spare + 1n].map((size) => isWithinExposureLimits({ ...input, positionSizeCollateral: size }))).toEqual([true, false]);
  });

  it('lets a skew above its limit shrink, but not flip past the limit', () => {
    const market = withState(goldenMarket, { oiToken: { long: 10n * E18, short: 0n }, maxSkewCollateral: 10n ** 15n });
    const open = (long: boolean, size: number): boolean =>
      isWithinExposureLimits({ market, long, price: price(60_000), positionSizeCollateral: usdc(size) });
    expect(open(true, 1)).toBe(false);
    expect(open(false, 1)).toBe(true);
    expect(open(false, 700_000)).toBe(true);
    expect(open(false, 700_001)).toBe(false);
  });
});
