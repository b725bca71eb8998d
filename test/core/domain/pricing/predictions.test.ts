import fc from 'fast-check';
import { predictDecrease, scaleRealized } from '../../../../core/domain/pricing/predict-close.js';
import { effectiveLeverage, predictLeverageUpdate } from '../../../../core/domain/pricing/leverage-update.js';
import { leverageAfter, leverageThatKeeps, predictIncrease } from '../../../../core/domain/pricing/predict-increase.js';
import { isLiquidatable, liquidationPrice } from '../../../../core/domain/pricing/liquidation.js';
import { marketView, STANDARD_TERMS, type MarketView } from '../../../../core/domain/pricing/market-view.js';
import { clampStopLoss, pnlPercentP, tradeValue } from '../../../../core/domain/pricing/fees.js';
import { openLossP, predictOpen, type OpenRequest } from '../../../../core/domain/pricing/predict-open.js';
import { PriceRangeError } from '../../../../core/domain/pricing/exposure.js';
import { E18, E3, MAX_LEVERAGE, P10 } from '../../../../core/domain/pricing/units.js';
import { magnitude, marketWith, oraclePrice, SEED } from './arbitraries.js';
import {
  account,
  contextOf,
  currentWindow,
  goldenMarket,
  GOV_FEE_P,
  MOMENT,
  price,
  storedTrade,
  usd,
  usdc,
  withState,
  withWindows,
} from './fixture.js';

const request: OpenRequest = {
  long: true,
  collateralAmount: usdc(100),
  leverage: 10_000n,
  openPrice: price(60_000),
  tp: 0n,
  sl: 0n,
  maxSlippageP: 1000n,
  isCounterTrade: false,
};

const openAt = (change: Partial<OpenRequest>, market = goldenMarket, at = price(60_000)): string =>
  predictOpen(contextOf(market, at), { ...request, ...change }).cancelReason;

const noRoom = withState(goldenMarket, { maxOi: 9_999_999_999_999n });
const used = (up: number): MarketView => withWindows(goldenMarket, [currentWindow({ up: usd(up) })]);
const longSkew = withState(goldenMarket, { oiToken: { long: E18, short: 0n } });

describe('a predicted open', () => {
  it('goes through when nothing speaks against it', () => {
    expect(openAt({})).toBe('NONE');
  });

  it('is cancelled for each reason of its own', () => {
    expect(openAt({ openPrice: price(59_000) })).toBe('SLIPPAGE');
    expect(openAt({ tp: 600_120_150_000_000n })).toBe('TP_REACHED');
    expect(openAt({ tp: 600_120_150_000_001n })).toBe('NONE');
    expect(openAt({ sl: price(60_000) })).toBe('SL_REACHED');
    expect(openAt({ sl: price(60_000) - 1n })).toBe('NONE');
    expect(openAt({ collateralAmount: 1_600_000n })).toBe('LIQ_REACHED');
    expect(openAt({}, noRoom)).toBe('EXPOSURE_LIMITS');
    expect(openAt({ maxSlippageP: 65_535n }, used(120_000_000))).toBe('PRICE_IMPACT');
    expect(openAt({ leverage: 151_000n })).toBe('MAX_LEVERAGE');
    expect(openAt({ isCounterTrade: true })).toBe('COUNTER_TRADE_CANCELED');
  });

  it('of a short has its take profit below its price, and loses by an impact that lowers it', () => {
    expect(openAt({ long: false, tp: 599_879_850_000_000n })).toBe('TP_REACHED');
    expect(openAt({ long: false, tp: 599_879_849_999_999n })).toBe('NONE');
    const impact = { fixedSpreadP: -P10, volumeImpactP: -2n * P10 };
    expect([true, false].map((long) => openLossP(impact, { long, leverage: 10_000n }))).toEqual([-30n * P10, 30n * P10]);
  });

  it('names the first reason in the order of the contract', () => {
    const everything = {
      openPrice: price(59_000),
      tp: price(1),
      sl: price(61_000),
      collateralAmount: 1_600_000n,
      leverage: 151_000n,
      isCounterTrade: true,
    };
    const steps: [Partial<OpenRequest>, string][] = [
      [{}, 'SLIPPAGE'],
      [{ openPrice: price(60_000), maxSlippageP: 65_535n }, 'TP_REACHED'],
      [{ tp: 0n }, 'SL_REACHED'],
      [{ sl: 0n }, 'LIQ_REACHED'],
      [{ collateralAmount: usdc(100) }, 'EXPOSURE_LIMITS'],
    ];
    let order: Partial<OpenRequest> = everything;
    for (const [change, reason] of steps) {
      order = { ...order, ...change };
      expect(openAt(order, noRoom)).toBe(reason);
    }
    expect(openAt(order, used(6_600_000))).toBe('PRICE_IMPACT');
    expect(openAt(order)).toBe('MAX_LEVERAGE');
    expect(openAt({ ...order, leverage: 150_000n })).toBe('COUNTER_TRADE_CANCELED');
  });

  it('cuts a counter trade to the skew it may take away', () => {
    const counter = { ...longSkew, pair: { ...longSkew.pair, counterTrade: { maxLeverage: 10_000n, feeRateMultiplier: 500n } } };
    const outcome = predictOpen(contextOf(counter, price(60_000)), {
      ...request,
      long: false,
      collateralAmount: usdc(10_000),
      isCounterTrade: true,
    });
    expect(outcome).toMatchObject({ cancelReason: 'NONE', collateralAmount: usdc(6000), positionSizeCollateral: usdc(60_000) });
    expect(outcome.openingFee).toBe(usdc(18));
    expect(openAt({ isCounterTrade: true }, counter)).toBe('COUNTER_TRADE_CANCELED');
  });

  it('has no answer where the contract would revert', () => {
    expect(() => openAt({ long: false }, withWindows(goldenMarket, [currentWindow({ down: usd(2_000_000_000) })]))).toThrow(
      PriceRangeError,
    );
  });
});

const trade = storedTrade({ openPrice: price(60_000), collateralAmount: usdc(100) });

describe('a predicted increase', () => {
  const increase = (change: object, at = price(60_000), market = goldenMarket): string =>
    predictIncrease(contextOf(market, at), {
      trade,
      account: account(),
      collateralDelta: usdc(50),
      leverageDelta: 10_000n,
      expectedPrice: at,
      maxSlippageP: 1000n,
      ...change,
    }).cancelReason;

  it('is cancelled for each reason of its own', () => {
    expect(increase({})).toBe('NONE');
    expect(increase({ collateralDelta: 1n, leverageDelta: 1n })).toBe('WRONG_TRADE');
    expect(increase({ expectedPrice: price(59_000) })).toBe('SLIPPAGE');
    expect(increase({ trade: { ...trade, tp: price(60_000) } })).toBe('TP_REACHED');
    expect(increase({ trade: { ...trade, sl: price(60_000) } })).toBe('SL_REACHED');
    expect(increase({}, price(54_000))).toBe('LIQ_REACHED');
    expect(increase({}, price(60_000), withState(goldenMarket, { maxOi: 1n }))).toBe('EXPOSURE_LIMITS');
    expect(increase({ leverageDelta: 500_000n })).toBe('MAX_LEVERAGE');
    expect(increase({ trade: { ...trade, isCounterTrade: true } })).toBe('COUNTER_TRADE_CANCELED');
  });

  it('keeps the open price between the old one and the added one, and the sum of the parts', () => {
    fc.assert(
      fc.property(
        oraclePrice,
        fc.boolean(),
        magnitude(7, 11),
        fc.bigInt({ min: 1100n, max: 50_000n }),
        (at, long, collateralDelta, leverageDelta) => {
          const openPrice = (at * 99n) / 100n + 1n;
          const existing = storedTrade({ long, openPrice, collateralAmount: usdc(1000), leverage: 5000n });
          const { values } = predictIncrease(contextOf(goldenMarket, at), {
            trade: existing,
            account: account(),
            collateralDelta,
            leverageDelta,
            expectedPrice: at,
            maxSlippageP: 1000n,
          });
          if (values === null) return;
          const added = values.impact.priceAfterImpact;
          const [low, high] = openPrice < added ? [openPrice, added] : [added, openPrice];
          expect(values.newOpenPrice >= low && values.newOpenPrice <= high + 1n).toBe(true);
          expect((values.newCollateralAmount * values.newLeverage) / E3).toBe(usdc(5000) + values.positionSizeCollateralDelta);
        },
      ),
      { seed: SEED, numRuns: 800 },
    );
  });

  it('leaves the trade its leverage, to the thousandth, where the part is to have the same', () => {
    fc.assert(
      fc.property(magnitude(6, 13), fc.bigInt({ min: 100n, max: 500_000n }), magnitude(4, 13), (collateralAmount, leverage, added) => {
        const existing = storedTrade({ collateralAmount, leverage });
        const part = { collateral: added, leverage: leverageThatKeeps(existing, added) };
        expect([leverage, leverage + 1n]).toContain(part.leverage);
        if (added < collateralAmount) expect(leverageAfter(existing, part)).toBe(leverage);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it('adds leverage without collateral', () => {
    const { values } = predictIncrease(contextOf(goldenMarket, price(60_000)), {
      ...{ trade, account: account(), collateralDelta: 0n, leverageDelta: 5000n, expectedPrice: price(60_000), maxSlippageP: 1000n },
    });
    expect(values).toMatchObject({ newCollateralAmount: usdc(100), newLeverage: 15_000n, positionSizeCollateralDelta: usdc(500) });
  });
});

describe('a predicted decrease', () => {
  const decrease = (change: object, at = price(60_000)): ReturnType<typeof predictDecrease> =>
    predictDecrease(contextOf(goldenMarket, at), {
      ...{ trade, account: account(), collateralDelta: usdc(50), leverageDelta: 0n, expectedPrice: at, maxSlippageP: 0n, ...change },
    });

  it('is cancelled for each reason of its own', () => {
    expect(decrease({}).cancelReason).toBe('NONE');
    expect(decrease({}, price(54_000)).cancelReason).toBe('LIQ_REACHED');
    expect(decrease({ expectedPrice: price(61_000) }).cancelReason).toBe('SLIPPAGE');
    expect(decrease({ expectedPrice: price(61_000), maxSlippageP: 2000n }).cancelReason).toBe('NONE');
    expect(decrease({ collateralDelta: usdc(0.5) }).cancelReason).toBe('WRONG_TRADE');
  });

  it('by leverage pays the profit of the part and keeps the collateral', () => {
    const { values } = decrease({ collateralDelta: 0n, leverageDelta: 5000n }, price(66_000));
    expect(values).toMatchObject({ isLeverageUpdate: true, newCollateralAmount: usdc(100), newLeverage: 5000n, closingFee: 750_000n });
    expect(values.sentToTrader).toBe(values.partialNetPnl - 750_000n);
    expect(values.pnlToRealize).toBe(values.partialRawPnl - values.sentToTrader);
  });

  it('rounds what stays realised in favour of the protocol', () => {
    const part = { sizeDelta: 1n, size: 3n };
    expect(scaleRealized({ tradingFees: 100n, pnl: 100n }, part)).toEqual({ tradingFees: 67n, pnl: 66n });
    expect(scaleRealized({ tradingFees: 0n, pnl: -100n }, part)).toEqual({ tradingFees: 0n, pnl: -67n });
  });
});

describe('a predicted leverage update', () => {
  const update = (newLeverage: bigint, at = price(60_000), change: object = {}): ReturnType<typeof predictLeverageUpdate> =>
    predictLeverageUpdate(contextOf(goldenMarket, at), { trade, account: account(), newLeverage, govFeeP: GOV_FEE_P, ...change });

  it('keeps the size and moves the collateral', () => {
    expect(update(20_000n)).toMatchObject({ cancelReason: 'NONE', newCollateralAmount: usdc(50), govFee: 91_875n });
    expect(update(5000n)).toMatchObject({ cancelReason: 'NONE', newCollateralAmount: usdc(200), newEffectiveLeverage: null });
  });

  it('is cancelled when it could be liquidated or is leveraged too far', () => {
    expect(update(20_000n, price(57_300)).cancelReason).toBe('LIQ_REACHED');
    expect(update(149_000n).cancelReason).toBe('MAX_LEVERAGE');
    expect(update(20_000n, price(60_000), { trade: { ...trade, isCounterTrade: true } }).cancelReason).toBe('COUNTER_TRADE_CANCELED');
  });
});

describe('liquidation, stops and value', () => {
  it('moves the liquidation price toward the open price as fees grow', () => {
    fc.assert(
      fc.property(
        marketWith(true),
        oraclePrice,
        fc.bigInt({ min: 1100n, max: 150_000n }),
        magnitude(9, 14),
        fc.boolean(),
        (market, openPrice, leverage, units, long) => {
          const collateralAmount = (units * market.collateral.precision) / 10n ** 6n;
          const at = (holdingFees: bigint): bigint =>
            liquidationPrice({
              ...{ market, terms: STANDARD_TERMS, openPrice, long, collateralAmount, leverage, isCounterTrade: false },
              ...{ contractsVersion: 2, params: market.pair.liquidation, account: account({ holdingFees }) },
            });
          const [calm, costly] = [at(0n), at(collateralAmount / 10n)];
          expect(long ? calm <= costly : calm >= costly).toBe(true);
          expect(isLiquidatable({ long, oraclePrice: calm, liquidationPrice: calm })).toBe(true);
        },
      ),
      { seed: SEED, numRuns: 800 },
    );
  });

  it('clamps a stop at most once, and only from the far side', () => {
    fc.assert(
      fc.property(
        oraclePrice,
        fc.bigInt({ min: 1100n, max: 500_000n }),
        fc.bigInt({ min: 1n, max: 200n }),
        fc.boolean(),
        (openPrice, leverage, share, long) => {
          const input = { openPrice, long, leverage, feeP: 600_000_000n, thresholdP: 90n * P10 };
          const sl = (openPrice * share) / 100n;
          const stored = clampStopLoss({ ...input, sl });
          expect(clampStopLoss({ ...input, sl: 0n })).toBe(0n);
          if (stored === 0n) return;
          expect(long ? stored >= sl : stored <= sl).toBe(true);
          expect(clampStopLoss({ ...input, sl: stored })).toBe(stored);
        },
      ),
      { seed: SEED, numRuns: 800 },
    );
    expect(
      clampStopLoss({
        sl: price(1),
        openPrice: price(60_000),
        long: true,
        leverage: 1_000_000n,
        feeP: 600_000_000n,
        thresholdP: 90n * P10,
      }),
    ).toBe(0n);
  });

  it('stores a stop up to the deepest loss as it is, and a deeper one at that loss', () => {
    // 90 % less 5 % less two fees of 0.6 % of the position, which at 10x is 73 % of the collateral and 7.3 % of the price.
    const input = { openPrice: price(60_000), leverage: 10_000n, feeP: 6_000_000_000n, thresholdP: 90n * P10 };
    const stored = (long: boolean, sl: bigint): bigint => clampStopLoss({ ...input, long, sl });
    expect([stored(true, price(1)), stored(false, price(100_000))]).toEqual([price(55_620), price(64_380)]);
    expect([stored(true, price(55_621)), stored(false, price(64_379))]).toEqual([price(55_621), price(64_379)]);
    // The loss is compared in steps of 1e-10 percent, and one of them is several steps of the price.
    expect([stored(true, price(55_620) - 1n), stored(false, price(64_380) + 1n)]).toEqual([price(55_620) - 1n, price(64_380) + 1n]);
  });

  it('never pays less than nothing and never loses more than everything', () => {
    expect(pnlPercentP({ openPrice: price(100), price: price(1), long: true, leverage: 10_000n })).toBe(-100n * P10);
    expect(pnlPercentP({ openPrice: 0n, price: price(1), long: true, leverage: 10_000n })).toBe(0n);
    const value = { collateralAmount: usdc(100), precisionDelta: 10n ** 12n, closingFee: usdc(1), account: account() };
    expect(tradeValue({ ...value, pnlP: -100n * P10 })).toBe(0n);
    expect(tradeValue({ ...value, pnlP: 10n * P10 })).toBe(usdc(109));
  });

  it('calls a worthless trade leveraged without bound', () => {
    const context = { market: goldenMarket, terms: STANDARD_TERMS, moment: MOMENT, oraclePrice: price(50_000) };
    expect(effectiveLeverage(context, { trade, account: account(), additionalFee: 0n })).toBe(MAX_LEVERAGE);
  });
});

describe('the view of a market', () => {
  const { pair, group, fees, state } = goldenMarket;
  const collateral = {
    index: 3,
    symbol: 'USDC',
    address: '0x0',
    isActive: true,
    decimals: 6,
    ...goldenMarket.collateral,
    pairs: [state],
  } as const;
  const config = {
    refreshedAt: 0,
    tradingState: 'active',
    marketOrdersTimeoutBlocks: 200,
    openClasses: { forex: true, stocks: true, indices: true, commodities: true },
    pairs: [pair, null],
    groups: [group],
    fees: [fees],
    collaterals: [collateral],
    bandOffsets: goldenMarket.bandOffsets,
    oiWindows: goldenMarket.oiWindows,
    negPnlCumulVolMultiplier: P10,
  } as const;

  it('gathers what pricing needs, by the contract’s own indices', () => {
    expect(marketView(config, { pairIndex: 0, collateralIndex: 3 })).toMatchObject({ pair, group, fees, state });
    expect(marketView(config, { pairIndex: 1, collateralIndex: 3 })).toBeNull();
    expect(marketView(config, { pairIndex: 0, collateralIndex: 1 })).toBeNull();
    expect(marketView({ ...config, fees: [] }, { pairIndex: 0, collateralIndex: 3 })).toBeNull();
  });
});
