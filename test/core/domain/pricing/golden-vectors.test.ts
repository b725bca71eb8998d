import {
  accruedBorrowingP,
  accumulatedFee,
  minFeeUsd,
  minGovFee,
  minOpeningCollateral,
  tradingFee,
  clampStopLoss,
  pnlPercentP,
  tradeValue,
} from '../../../../core/domain/pricing/fees.js';
import { closingImpact } from '../../../../core/domain/pricing/execution-price.js';
import { predictDecrease, scaleRealized } from '../../../../core/domain/pricing/predict-close.js';
import { accruedFunding } from '../../../../core/domain/pricing/funding.js';
import { predictIncrease } from '../../../../core/domain/pricing/predict-increase.js';
import { collateralAtLeverage } from '../../../../core/domain/pricing/leverage-update.js';
import { liquidationPriceFromFees, liquidationThresholdP } from '../../../../core/domain/pricing/liquidation.js';
import { STANDARD_TERMS } from '../../../../core/domain/pricing/market-view.js';
import { predictOpen } from '../../../../core/domain/pricing/predict-open.js';
import { E3, P10 } from '../../../../core/domain/pricing/units.js';
import { averageOffsetP, depthImpactP } from '../../../../core/domain/pricing/volume-impact.js';
import {
  account,
  contextOf,
  currentWindow,
  goldenMarket,
  goldenOffsets,
  goldenSide,
  GOV_FEE_P,
  price,
  storedTrade,
  usd,
  usdc,
  USDC,
  withState,
  withWindows,
} from './fixture.js';

const clamp = (change: { sl: bigint; openPrice: bigint; long?: boolean }): bigint =>
  clampStopLoss({
    long: true,
    leverage: 10_000n,
    feeP: goldenMarket.fees.totalPositionSizeFeeP,
    thresholdP: liquidationThresholdP(goldenMarket.pair.liquidation, 10_000n),
    ...change,
  });

const openRequest = {
  long: true,
  collateralAmount: usdc(100),
  leverage: 10_000n,
  openPrice: price(60_000),
  tp: price(90_000),
  sl: price(50_000),
  maxSlippageP: 1000n,
  isCounterTrade: false,
};

describe('a sequence of trades executed by the real contracts', () => {
  const govFee = minGovFee({ market: goldenMarket, feeMultiplier: E3, govFeeP: GOV_FEE_P });

  it('opens 100 USDC at 10x with the same impact, price, size, fee, liquidation price and stop', () => {
    const outcome = predictOpen(contextOf(goldenMarket, price(60_000)), openRequest);
    expect(outcome).toEqual({
      cancelReason: 'NONE',
      impact: {
        positionSizeToken: 16_663_329_834_867_234n,
        fixedSpreadP: 200_000_000n,
        volumeImpactP: 250_000n,
        skewImpactP: 0n,
        totalImpactP: 200_250_000n,
        priceAfterImpact: 600_120_150_000_000n,
      },
      positionSizeCollateral: usdc(1000),
      collateralAmount: usdc(100),
      openingFee: 750_000n,
      liquidationPrice: 547_129_540_755_000n,
    });
    expect(clamp({ sl: openRequest.sl, openPrice: outcome.impact.priceAfterImpact })).toBe(549_830_081_430_000n);
  });

  it('cancels an open beyond its slippage and keeps the gov fee', () => {
    const outcome = predictOpen(contextOf(goldenMarket, price(60_500)), { ...openRequest, maxSlippageP: 100n });
    expect(outcome.cancelReason).toBe('SLIPPAGE');
    expect(usdc(100) - govFee).toBe(99_908_125n);
  });

  it('clamps the stop of an updated order', () => {
    expect(clamp({ sl: price(40_000), openPrice: price(58_500) })).toBe(535_977_000_000_000n);
  });

  it('adds 50 USDC at 10x to the first trade', () => {
    // Two openings of 1000 USD lie in the active windows by then.
    const market = withWindows(goldenMarket, [currentWindow({ up: usd(2000) })]);
    const trade = storedTrade({ openPrice: 600_120_150_000_000n, tp: price(90_000), sl: 549_830_081_430_000n });
    const { cancelReason, values } = predictIncrease(contextOf(market, price(60_100)), {
      trade,
      account: account({ realizedPnl: -750_000n }),
      collateralDelta: usdc(50),
      leverageDelta: 10_000n,
      expectedPrice: price(60_100),
      maxSlippageP: 1000n,
    });
    expect(cancelReason).toBe('NONE');
    expect(values).toMatchObject({
      impact: { priceAfterImpact: 601_120_876_125_000n },
      existingPnl: 1_667_542n,
      newOpenPrice: 600_453_354_952_832n,
      newLiquidationPrice: 547_493_369_045_992n,
      newEffectiveLeverage: 10_099n,
      openingFee: 750_000n,
      newCollateralAmount: usdc(150),
      newLeverage: 10_000n,
    });
  });

  it('takes 30 USDC out again', () => {
    const trade = storedTrade({ openPrice: 600_453_354_952_832n, collateralAmount: usdc(150) });
    const { cancelReason, values } = predictDecrease(contextOf(goldenMarket, price(60_200)), {
      trade,
      account: account({ realizedPnl: -1_500_000n }),
      collateralDelta: usdc(30),
      leverageDelta: 0n,
      expectedPrice: price(60_200),
      maxSlippageP: 0n,
    });
    expect(cancelReason).toBe('NONE');
    expect(values).toMatchObject({
      impact: { priceAfterImpact: 601_879_554_850_000n },
      pnlP: 23_752_051_435n,
      partialNetPnl: 412_561n,
      closingFee: 750_000n,
      sentToTrader: 29_662_561n,
      newCollateralAmount: usdc(120),
    });
  });

  it('closes what a leverage update left as 150 USDC at 8x', () => {
    const kept = scaleRealized({ tradingFees: 1_500_000n, pnl: 0n }, { sizeDelta: usdc(300), size: usdc(1500) });
    // The leverage update and one cancelled action cost a gov fee each.
    const realizedFees = kept.tradingFees + 2n * govFee;
    expect(realizedFees).toBe(1_383_750n);
    expect(collateralAtLeverage({ collateralAmount: usdc(120), leverage: 10_000n }, 8000n)).toBe(usdc(150));
    const market = withWindows(goldenMarket, [currentWindow({ down: usd(300) })]);
    const trade = storedTrade({ openPrice: 600_453_354_952_832n, collateralAmount: usdc(150), leverage: 8000n });
    const owed = account({ realizedPnl: -realizedFees });
    const impact = closingImpact(contextOf(market, price(61_200)), { trade, account: owed, positionSizeCollateral: usdc(1200) });
    expect(impact.priceAfterImpact).toBe(611_877_324_600_000n);
    const pnlP = pnlPercentP({ ...trade, price: impact.priceAfterImpact });
    expect(pnlP).toBe(152_204_590_787n);
    const closingFee = tradingFee({
      market,
      positionSizeCollateral: usdc(1200),
      isCounterTrade: false,
      feeMultiplier: STANDARD_TERMS.feeMultiplier,
    });
    expect(closingFee).toBe(750_000n);
    const { precisionDelta } = USDC;
    expect(tradeValue({ collateralAmount: usdc(150), precisionDelta, pnlP, closingFee, account: owed })).toBe(170_696_938n);
  });

  it('accrues an hour of funding on a lone long side', () => {
    const { state } = withState(goldenMarket, {
      oiToken: { long: 33_753_883_506_788_617n, short: 0n },
      fundingParams: {
        skewCoefficientPerYear: 10n ** 27n,
        absoluteVelocityPerYearCap: 10n ** 6n,
        absoluteRatePerSecondCap: 317_097n,
        thetaThresholdUsd: 0n,
        fundingFeesEnabled: true,
        aprMultiplierEnabled: false,
      },
    });
    const accrued = accruedFunding(state, { timestamp: 3600n, price: price(60_000), collateral: USDC });
    expect(accrued).toEqual({ rate: 11_415_525_114_155n, longP: 123_287_671_232_863_200_000_000n, shortP: 0n });
    const fee = accumulatedFee({
      positionSizeCollateral: usdc(1000),
      openPrice: 600_121_320_000_000n,
      accumulatorP: accrued.longP,
      initialAccumulatorP: 0n,
    });
    expect(fee).toBe(205_437n);
  });

  it('accrues borrowing for 3602 seconds', () => {
    const accumulatorP = accruedBorrowingP(
      { borrowingRatePerSecondP: 63_420n, accBorrowingFeeP: 0n, lastBorrowingUpdateTs: 0n },
      { timestamp: 3602n, price: price(60_000) },
    );
    expect(accumulatorP).toBe(137_063_304_000_000_000_000_000n);
    const position = { positionSizeCollateral: usdc(1000), openPrice: 600_121_320_000_000n };
    expect(accumulatedFee({ ...position, accumulatorP, initialAccumulatorP: 0n })).toBe(228_392n);
    // A position that was opened at half of it pays the other half.
    expect(accumulatedFee({ ...position, accumulatorP, initialAccumulatorP: accumulatorP / 2n })).toBe(114_196n);
  });
});

describe('the pure vectors', () => {
  it('knows the profit of 60000 to 61200 at 10x', () => {
    expect(pnlPercentP({ openPrice: price(60_000), price: price(61_200), long: true, leverage: 10_000n })).toBe(200_000_000_000n);
  });

  it.each([
    [10_000n, 900_000_000_000n],
    [40_000n, 835_714_285_715n],
    [100_000n, 750_000_000_000n],
  ])('liquidates leverage %s at a loss of %s', (leverage, threshold) => {
    expect(liquidationThresholdP(goldenMarket.pair.liquidation, leverage)).toBe(threshold);
  });

  it.each([
    [true, 547_020_000_000_000n],
    [false, 652_980_000_000_000n],
  ])('puts the liquidation price of a long (%s) at %s', (long, expected) => {
    const liqPrice = liquidationPriceFromFees({
      openPrice: price(60_000),
      long,
      collateralAmount: usdc(100),
      leverage: 10_000n,
      fees: usdc(1.5),
      precisionDelta: USDC.precisionDelta,
      params: goldenMarket.pair.liquidation,
      spreadP: goldenMarket.pair.spreadP,
      contractsVersion: 2,
    });
    expect(liqPrice).toBe(expected);
  });

  it('averages the offset of the first million and halves it into an impact', () => {
    const side = { side: goldenSide, offsets: goldenOffsets, factor: P10 };
    expect(averageOffsetP(goldenSide, goldenOffsets, usd(1_000_000))).toBe(500_000_000n);
    expect(depthImpactP({ ...side, volumeUsd: 0n, sizeUsd: usd(1_000_000) })).toBe(250_000_000n);
    expect(depthImpactP({ ...side, volumeUsd: usd(500_000), sizeUsd: usd(500_000) })).toBe(375_000_000n);
  });

  it('clamps a stop at 50000 of a long from 60000 at 10x', () => {
    expect(clamp({ sl: price(50_000), openPrice: price(60_000) })).toBe(549_720_000_000_000n);
  });

  it('asks 0.75 USD as the least fee and 3.75 USDC to open', () => {
    expect(minFeeUsd(goldenMarket.fees)).toBe(750_000_000_000_000_000n);
    expect(minOpeningCollateral(goldenMarket.fees, USDC)).toBe(3_750_000n);
  });
});
