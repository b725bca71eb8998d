import type { DepthSide, FundingParams, PairInCollateral, VolumeWindow } from '../../../../core/domain/market.js';
import {
  CONTRACTS_VERSION,
  STANDARD_TERMS,
  type MarketView,
  type Moment,
  type StoredTrade,
  type TradeAccount,
} from '../../../../core/domain/pricing/market-view.js';
import type { PriceContext } from '../../../../core/domain/pricing/execution-price.js';
import { E18 } from '../../../../core/domain/pricing/units.js';

/** The market of the published vectors: BTC in USDC, ten million USD of depth, no skew, no holding fees. */

export const price = (usd: number | string): bigint => BigInt(Math.round(Number(usd) * 1e6)) * 10n ** 4n;
export const usdc = (amount: number): bigint => BigInt(Math.round(amount * 1e6));
export const usd = (amount: number): bigint => BigInt(amount) * E18;

export const USDC = { precision: 10n ** 6n, precisionDelta: 10n ** 12n, priceUsd: 10n ** 8n };

export const GOV_FEE_P = 24_500n;

const bands = <T>(each: (band: bigint) => T): readonly T[] => Array.from({ length: 30 }, (_, band) => each(BigInt(band)));

export const goldenSide: DepthSide = {
  totalUsd: 10_000_000n,
  shares: bands((band) => (500n * (band + 1n) > 10_000n ? 10_000n : 500n * (band + 1n))),
};

export const goldenOffsets = bands((band) => 500n * (band + 1n));

const quietFunding: FundingParams = {
  skewCoefficientPerYear: 0n,
  absoluteVelocityPerYearCap: 0n,
  absoluteRatePerSecondCap: 0n,
  thetaThresholdUsd: 0n,
  fundingFeesEnabled: false,
  aprMultiplierEnabled: false,
};

const state: PairInCollateral = {
  maxOi: 10n ** 17n,
  oiBeforeV10: { long: 0n, short: 0n },
  oiCollateral: { long: 0n, short: 0n },
  oiToken: { long: 0n, short: 0n },
  skewDepth: 0n,
  maxSkewCollateral: 0n,
  fundingParams: quietFunding,
  funding: { accFundingFeeLongP: 0n, accFundingFeeShortP: 0n, lastFundingRatePerSecondP: 0n, lastFundingUpdateTs: 0n },
  borrowing: { borrowingRatePerSecondP: 0n, accBorrowingFeeP: 0n, lastBorrowingUpdateTs: 0n },
};

export const goldenMarket: MarketView = {
  pair: {
    index: 0,
    from: 'BTC',
    to: 'USD',
    spreadP: 400_000_000n,
    groupIndex: 0,
    feeIndex: 0,
    customMaxLeverage: 0n,
    depth: { above: goldenSide, below: goldenSide },
    factors: {
      protectionCloseFactor: 0n,
      protectionCloseFactorBlocks: 0n,
      cumulativeFactor: 0n,
      exemptOnOpen: false,
      exemptAfterProtectionCloseFactor: false,
    },
    liquidation: {
      maxLiqSpreadP: 500_000_000n,
      startLiqThresholdP: 900_000_000_000n,
      endLiqThresholdP: 750_000_000_000n,
      startLeverage: 25_000n,
      endLeverage: 60_000n,
    },
    counterTrade: { maxLeverage: 0n, feeRateMultiplier: 1000n },
    windows: [],
  },
  group: { index: 0, name: 'crypto', minLeverage: 1100n, maxLeverage: 150_000n },
  fees: {
    index: 0,
    totalPositionSizeFeeP: 600_000_000n,
    totalLiqCollateralFeeP: 50_000_000_000n,
    oraclePositionSizeFeeP: 0n,
    minPositionSizeUsd: 1_250_000n,
  },
  collateral: USDC,
  state,
  bandOffsets: goldenOffsets,
  oiWindows: { startTs: 0n, windowsDuration: 60n, windowsCount: 4n },
};

export const MOMENT: Moment = { timestamp: 600n, block: 1000n };

export const currentWindow = (volume: { up?: bigint; down?: bigint }): VolumeWindow => ({
  id: 10n,
  oiLongUsd: volume.up ?? 0n,
  oiShortUsd: volume.down ?? 0n,
});

export const withWindows = (market: MarketView, windows: readonly VolumeWindow[]): MarketView => ({
  ...market,
  pair: { ...market.pair, windows },
});
export const withState = (market: MarketView, change: Partial<PairInCollateral>): MarketView => ({
  ...market,
  state: { ...market.state, ...change },
});

export const contextOf = (market: MarketView, oraclePrice: bigint): PriceContext => ({
  market,
  terms: STANDARD_TERMS,
  moment: MOMENT,
  oraclePrice,
});

export const storedTrade = (change: Partial<StoredTrade>): StoredTrade => ({
  long: true,
  collateralAmount: usdc(100),
  leverage: 10_000n,
  openPrice: price(60_000),
  tp: 0n,
  sl: 0n,
  positionSizeToken: 16_663_329_834_867_234n,
  isCounterTrade: false,
  contractsVersion: CONTRACTS_VERSION.v10,
  lastPosIncreaseBlock: 0n,
  liquidation: goldenMarket.pair.liquidation,
  ...change,
});

export const account = (change: Partial<TradeAccount> = {}): TradeAccount => ({ holdingFees: 0n, realizedPnl: 0n, ...change });
