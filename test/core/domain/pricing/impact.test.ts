import fc from 'fast-check';
import { closingImpact, isWithinSlippage, openingImpact, worstPrice } from '../../../../core/domain/pricing/execution-price.js';
import { STANDARD_TERMS } from '../../../../core/domain/pricing/market-view.js';
import { marketPrice, priceAfterImpact, PriceRangeError, skewImpactP } from '../../../../core/domain/pricing/exposure.js';
import { baseSizeForCollateral, collateralForBaseSize, collateralToUsd, usdToCollateral } from '../../../../core/domain/pricing/size.js';
import { E18, P10 } from '../../../../core/domain/pricing/units.js';
import {
  activeVolumeUsd,
  averageOffsetP,
  depthImpactP,
  volumeAdded,
  volumeImpactP,
  windowIdAt,
} from '../../../../core/domain/pricing/volume-impact.js';
import { bandOffsets, collateral, depthSide, magnitude, marketWith, oraclePrice, SEED, terms } from './arbitraries.js';
import {
  account,
  contextOf,
  currentWindow,
  goldenMarket,
  goldenSide,
  MOMENT,
  price,
  storedTrade,
  usd,
  usdc,
  withState,
} from './fixture.js';

const runs = { seed: SEED, numRuns: 800 };
const sizeUsd = magnitude(15, 27);

describe('volume impact', () => {
  it('never falls as the trade grows', () => {
    fc.assert(
      fc.property(depthSide, bandOffsets, sizeUsd, sizeUsd, (side, offsets, a, b) => {
        const [small, large] = a < b ? [a, b] : [b, a];
        expect(averageOffsetP(side, offsets, small) <= averageOffsetP(side, offsets, large)).toBe(true);
      }),
      runs,
    );
  });

  it('never falls as earlier volume grows', () => {
    fc.assert(
      fc.property(depthSide, bandOffsets, sizeUsd, sizeUsd, sizeUsd, (side, offsets, size, a, b) => {
        const [less, more] = a < b ? [a, b] : [b, a];
        const impact = (volumeUsd: bigint): bigint => depthImpactP({ side, offsets, volumeUsd, sizeUsd: size, factor: P10 });
        expect(impact(less) <= impact(more)).toBe(true);
      }),
      runs,
    );
  });

  it('gives nothing for splitting a trade in two where the bands rise in a straight line', () => {
    const { bandOffsets: offsets } = goldenMarket;
    const impact = (volumeUsd: bigint, size: bigint): bigint =>
      depthImpactP({ side: goldenSide, offsets, volumeUsd, sizeUsd: size, factor: P10 });
    fc.assert(
      fc.property(sizeUsd, sizeUsd, (first, second) => {
        const whole = impact(0n, first + second) * (first + second);
        const split = impact(0n, first) * first + impact(first, second) * second;
        const difference = whole - split;
        // Every average is truncated by up to two units.
        expect((difference < 0n ? -difference : difference) <= 3n * (first + second)).toBe(true);
      }),
      runs,
    );
  });

  it('raises the price for what pushes up, lowers it for the rest, by the same rule', () => {
    fc.assert(
      fc.property(marketWith(true), terms, sizeUsd, fc.boolean(), fc.boolean(), (drawn, trader, size, long, open) => {
        const { above } = drawn.pair.depth;
        const market = {
          ...drawn,
          pair: { ...drawn.pair, depth: { above, below: above }, windows: [currentWindow({ up: usd(7), down: usd(7) })] },
        };
        const input = { market, terms: trader, moment: MOMENT, sizeUsd: size, isPnlPositive: false, lastPosIncreaseBlock: 0n, open };
        expect(volumeImpactP({ ...input, long })).toBe(-volumeImpactP({ ...input, long: !long }));
        expect(volumeImpactP({ ...input, long }) * (long === open ? 1n : -1n) >= 0n).toBe(true);
      }),
      runs,
    );
  });

  it('is dearer for a protected close and only for it', () => {
    const factors = { ...goldenMarket.pair.factors, protectionCloseFactor: 3n * P10, protectionCloseFactorBlocks: 10n };
    const market = { ...goldenMarket, pair: { ...goldenMarket.pair, factors } };
    const input = { market, terms: STANDARD_TERMS, moment: MOMENT, long: true, sizeUsd: usd(1_000_000) };
    const close = (change: object): bigint =>
      volumeImpactP({ ...input, open: false, isPnlPositive: true, lastPosIncreaseBlock: MOMENT.block - 10n, ...change });
    expect(close({})).toBe(-750_000_000n);
    expect(close({ isPnlPositive: false })).toBe(-250_000_000n);
    expect(close({ lastPosIncreaseBlock: MOMENT.block - 11n })).toBe(-250_000_000n);
    expect(close({ terms: { ...STANDARD_TERMS, protectionCloseFactorWhitelisted: true } })).toBe(-250_000_000n);
    expect(close({ open: true })).toBe(250_000_000n);
  });

  it('is nothing where the pair exempts the action', () => {
    const exempt = { ...goldenMarket.pair.factors, exemptOnOpen: true, exemptAfterProtectionCloseFactor: true };
    const protectedPair = { ...exempt, protectionCloseFactor: 2n * P10, protectionCloseFactorBlocks: 10n };
    const impact = (factors: typeof exempt, open: boolean): bigint =>
      volumeImpactP({
        market: { ...goldenMarket, pair: { ...goldenMarket.pair, factors } },
        terms: STANDARD_TERMS,
        moment: MOMENT,
        long: true,
        open,
        sizeUsd: usd(1_000_000),
        isPnlPositive: true,
        lastPosIncreaseBlock: MOMENT.block,
      });
    expect(impact(exempt, true)).toBe(0n);
    expect(impact(exempt, false)).toBe(0n);
    expect(impact(protectedPair, false)).toBe(-500_000_000n);
  });

  it('goes on at the slope of the last band when the depth is used up', () => {
    const shallow = { ...goldenSide, totalUsd: 1000n };
    const offsets = goldenMarket.bandOffsets;
    const [full, double] = [averageOffsetP(shallow, offsets, usd(1000)), averageOffsetP(shallow, offsets, usd(2000))];
    expect(full).toBe(5_000_000_000n);
    // 950 USD cost 4.75e9 on average, the other 1050 start at 9.5e9 and rise 5e8 per 50 USD.
    expect(double).toBe((4_750_000_000n * 950n + (9_500_000_000n + 5_250_000_000n) * 1050n) / 2000n);
  });
});

describe('volume windows', () => {
  const settings = { startTs: 100n, windowsDuration: 60n, windowsCount: 4n };
  const windows = Array.from({ length: 12 }, (_, id) => ({
    id: BigInt(id),
    oiLongUsd: 10n ** BigInt(id),
    oiShortUsd: 2n * 10n ** BigInt(id),
  }));

  it('count the current window and the three before it', () => {
    expect(windowIdAt(settings, 100n + 60n * 7n - 1n)).toBe(6n);
    expect(activeVolumeUsd({ windows, settings, timestamp: 100n + 60n * 7n, up: true })).toBe(11_110_000n);
    expect(activeVolumeUsd({ windows, settings, timestamp: 100n + 60n * 7n, up: false })).toBe(22_220_000n);
    expect(activeVolumeUsd({ windows, settings, timestamp: 100n, up: true })).toBe(1n);
  });

  it('count nothing before they start or when there are none', () => {
    expect(activeVolumeUsd({ windows, settings, timestamp: 99n, up: true })).toBe(0n);
    expect(activeVolumeUsd({ windows, settings: { ...settings, windowsCount: 0n }, timestamp: 100n, up: true })).toBe(0n);
  });

  it('take a losing close only in part', () => {
    const input = { usd: usd(1000), negPnlCumulVolMultiplier: P10 / 5n };
    expect(volumeAdded({ ...input, open: false, isPnlPositive: false })).toBe(usd(200));
    expect(volumeAdded({ ...input, open: false, isPnlPositive: true })).toBe(usd(1000));
    expect(volumeAdded({ ...input, open: true, isPnlPositive: false })).toBe(usd(1000));
  });
});

describe('skew impact', () => {
  it('grows with the trade on its own side and shrinks on the other', () => {
    fc.assert(
      fc.property(magnitude(14, 23), magnitude(14, 23), magnitude(24, 28), magnitude(14, 22), (long, short, skewDepth, sizeToken) => {
        const state = { oiToken: { long, short }, skewDepth };
        const present = skewImpactP({ state, sizeToken: 0n, up: true });
        expect(skewImpactP({ state, sizeToken, up: true }) >= present).toBe(true);
        expect(skewImpactP({ state, sizeToken, up: false }) <= present).toBe(true);
        expect(skewImpactP({ state, sizeToken: 0n, up: false })).toBe(present);
      }),
      runs,
    );
  });

  it('moves the market price by half a percent per depth of skew', () => {
    const state = { oiToken: { long: 30n * E18, short: 10n * E18 }, skewDepth: 20n * E18 };
    expect(skewImpactP({ state, sizeToken: 0n, up: true })).toBe(P10 / 2n);
    // Half of the trade's own size counts.
    const { skewDepth } = state;
    expect(skewImpactP({ state, sizeToken: skewDepth, up: true })).toBe((P10 * 3n) / 4n);
    expect(skewImpactP({ state, sizeToken: skewDepth, up: false })).toBe(P10 / 4n);
    expect(marketPrice(state, price(60_000))).toBe(price(60_300));
    expect(marketPrice({ ...state, skewDepth: 0n }, price(60_000))).toBe(price(60_000));
  });
});

describe('the execution price', () => {
  it('never improves with size, on either side', () => {
    fc.assert(
      fc.property(
        marketWith(true),
        terms,
        oraclePrice,
        magnitude(18, 24),
        magnitude(18, 24),
        fc.boolean(),
        (market, trader, oracle, a, b, long) => {
          const [small, large] = a < b ? [a, b] : [b, a];
          const at = (size: bigint): bigint => {
            try {
              const positionSizeCollateral = usdToCollateral(size, market.collateral);
              return openingImpact({ market, terms: trader, moment: MOMENT, oraclePrice: oracle }, { long, positionSizeCollateral })
                .priceAfterImpact;
            } catch (error) {
              if (error instanceof PriceRangeError) return long ? 2n ** 64n : 0n;
              throw error;
            }
          };
          expect(long ? at(small) <= at(large) : at(small) >= at(large)).toBe(true);
        },
      ),
      runs,
    );
  });

  it('leaves trades from before v9.2 untouched and those from before v10 without skew', () => {
    const market = withState(goldenMarket, { oiToken: { long: 40n * E18, short: 0n }, skewDepth: 20n * E18 });
    const close = (contractsVersion: 0 | 1 | 2): bigint =>
      closingImpact(contextOf(market, price(60_000)), {
        trade: storedTrade({ contractsVersion }),
        account: account(),
        positionSizeCollateral: usdc(1000),
      }).priceAfterImpact;
    expect(close(0)).toBe(price(60_000));
    expect(close(1)).toBe(price(60_000) - (price(60_000) * 200_250_000n) / 10n ** 12n);
    expect(close(2)).toBeGreaterThan(close(1));
  });

  it('refuses prices that the contract refuses', () => {
    expect(() => priceAfterImpact(price(1), -100n * P10)).toThrow(PriceRangeError);
    expect(priceAfterImpact(price(1), -100n * P10 + 10_000n)).toBeGreaterThan(0n);
    expect(() => priceAfterImpact(2n ** 64n - 1n, P10)).toThrow('does not fit');
  });
});

describe('slippage', () => {
  it('accepts the worst price itself and nothing beyond it', () => {
    fc.assert(
      fc.property(
        oraclePrice,
        fc.bigInt({ min: 1n, max: 65_535n }),
        fc.boolean(),
        fc.boolean(),
        (expectedPrice, maxSlippageP, long, open) => {
          const order = { expectedPrice, maxSlippageP, long, open };
          const worst = worstPrice(order);
          const beyond = long === open ? worst + 1n : worst - 1n;
          expect(isWithinSlippage({ ...order, price: worst })).toBe(true);
          expect(isWithinSlippage({ ...order, price: expectedPrice })).toBe(true);
          expect(isWithinSlippage({ ...order, price: beyond })).toBe(false);
        },
      ),
      runs,
    );
  });
});

describe('sizes', () => {
  it('come back from USD and from base units within the collateral unit they are made of', () => {
    fc.assert(
      fc.property(collateral, magnitude(20, 26), oraclePrice, fc.bigInt({ min: 1100n, max: 150_000n }), (units, value, at, leverage) => {
        const amount = usdToCollateral(value, units);
        expect(collateralToUsd(amount, units) <= value).toBe(true);
        expect(collateralToUsd(amount + 1n, units) + 1n >= value).toBe(true);
        const baseSize = baseSizeForCollateral({ collateralAmount: amount, price: at, leverage, collateral: units, rounding: 'ceil' });
        const back = collateralForBaseSize({ baseSize, price: at, leverage, collateral: units, rounding: 'floor' });
        expect(back >= amount).toBe(true);
      }),
      runs,
    );
  });

  it('follow the collateral price: half a bitcoin at 60000 takes 3000 USDC at 10x, or one ether worth 3000', () => {
    const order = { baseSize: E18 / 2n, price: price(60_000), leverage: 10_000n, rounding: 'ceil' } as const;
    expect(collateralForBaseSize({ ...order, collateral: goldenMarket.collateral })).toBe(usdc(3000));
    expect(collateralForBaseSize({ ...order, collateral: { precision: E18, precisionDelta: 1n, priceUsd: 3000n * 10n ** 8n } })).toBe(E18);
  });
});
