import { decimal, round, type Decimal } from '../domain/decimal.js';
import { symbolOf, type Collateral, type MarketConfig, type PairInCollateral, type PricePoint, type Sides } from '../domain/market.js';
import { APR_UNIT, accruedFunding, aprMultipliers } from '../domain/pricing/funding.js';
import type { Venue } from '../gateway.js';
import { activeCollaterals, pairOf, referenceCollateral } from './directory.js';

export interface FundingSnapshot {
  /** Percent per hour paid by longs; negative means received. */
  fundingRateLongHourly: Decimal;
  fundingRateShortHourly: Decimal;
  borrowingRateHourly: Decimal;
  openInterestLongUsd: Decimal;
  openInterestShortUsd: Decimal;
  skewUsd: Decimal;
}

export function getFunding({ feed, clock }: Venue, symbol: string): FundingSnapshot & { market: string } {
  const config = feed.config();
  const pair = pairOf(config, symbol);
  return { ...fundingSnapshot(config, pair.index, feed.lastPrice(pair.index) ?? undefined, clock.now()), market: symbolOf(pair) };
}

const HOUR = 3600n;
const RATE_SCALE = 18;
const USD_SCALE = 6;

interface Holding {
  readonly collateral: Collateral;
  readonly state: PairInCollateral;
}

/** Rates of the reference collateral, because rates cannot be summed; open interest and skew summed over all collaterals. */
export function fundingSnapshot(config: MarketConfig, pairIndex: number, price: PricePoint | undefined, now: number): FundingSnapshot {
  const holdings = activeCollaterals(config).flatMap((collateral) => {
    const state = collateral.pairs[pairIndex];
    return state ? [{ collateral, state }] : [];
  });
  const reference = holdings.find(({ collateral }) => collateral === referenceCollateral(config));
  const [fundingRateLongHourly, fundingRateShortHourly] = reference
    ? hourlyFunding(reference, price?.oracle, now)
    : [decimal(0n, 0), decimal(0n, 0)];
  return {
    fundingRateLongHourly,
    fundingRateShortHourly,
    borrowingRateHourly: decimal((reference?.state.borrowing.borrowingRatePerSecondP ?? 0n) * HOUR, 10),
    openInterestLongUsd: sumUsd(holdings, (holding) => openInterestUsd(holding, 'long', price?.oracle)),
    openInterestShortUsd: sumUsd(holdings, (holding) => openInterestUsd(holding, 'short', price?.oracle)),
    skewUsd: sumUsd(holdings, (holding) => skewUsd(holding, price?.oracle)),
  };
}

function hourlyFunding({ collateral, state }: Holding, price: bigint | undefined, now: number): readonly [Decimal, Decimal] {
  if (!state.fundingParams.fundingFeesEnabled) return [decimal(0n, 0), decimal(0n, 0)];
  const timestamp = BigInt(Math.floor(now / 1000));
  const moment = timestamp > state.funding.lastFundingUpdateTs ? timestamp : state.funding.lastFundingUpdateTs;
  const rate =
    price === undefined ? state.funding.lastFundingRatePerSecondP : accruedFunding(state, { timestamp: moment, price, collateral }).rate;
  // An empty side accrues nothing, but a position opened on it pays the plain rate, so that rate is shown.
  const multiplier = aprMultipliers({ rate, oiToken: state.oiToken, enabled: state.fundingParams.aprMultiplierEnabled });
  const long = rate * (multiplier.long === 0n ? APR_UNIT : multiplier.long);
  const short = -rate * (multiplier.short === 0n ? APR_UNIT : multiplier.short);
  return [hourly(long), hourly(short)];
}

/** 1e18 percent/s × 1e20 → percent per hour. */
const hourly = (ratePerSecond: bigint): Decimal => round(decimal(ratePerSecond * HOUR, 38), RATE_SCALE, 'half-up');

/** 1e36 USD. Token open interest is valued at the current price; without one, at the collateral paid. */
function openInterestUsd({ collateral, state }: Holding, side: keyof Sides, price: bigint | undefined): bigint {
  const { precisionDelta, priceUsd } = collateral;
  const beforeV10 = state.oiBeforeV10[side] * 10n ** 18n;
  const since = price === undefined ? state.oiCollateral[side] * precisionDelta * 10n ** 10n : state.oiToken[side] * price;
  return (beforeV10 + since) * priceUsd;
}

const skewUsd = ({ collateral, state }: Holding, price: bigint | undefined): bigint =>
  (state.oiToken.long - state.oiToken.short) * (price ?? 0n) * collateral.priceUsd;

const sumUsd = (holdings: readonly Holding[], of: (holding: Holding) => bigint): Decimal => {
  const total = holdings.reduce((sum, holding) => sum + of(holding), 0n);
  return round(decimal(total, 36), USD_SCALE, 'half-up');
};
