import { decimal, round, toUnits, type Decimal } from '../domain/decimal.js';
import {
  symbolOf,
  type Collateral,
  type MarketConfig,
  type PairInCollateral,
  type PricePoint,
  type Sides,
  activeCollaterals,
  pairOf,
  referenceCollateral,
} from '../domain/market.js';
import { E18, P10 } from '../domain/pricing/units.js';
import { accruedFunding, APR_UNIT, aprMultipliers } from '../domain/pricing/funding.js';
import type { Venue } from '../gateway.js';
import type { Cancel } from '../types.js';
import { livePrice } from '../ports/feed.js';
import type { FundingHour, FundingStore } from '../ports/stores/facade.js';

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
export function fundingSnapshot(
  config: Pick<MarketConfig, 'collaterals'>,
  pairIndex: number,
  price: PricePoint | undefined,
  now: number,
): FundingSnapshot {
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
  const beforeV10 = state.oiBeforeV10[side] * E18;
  const since = price === undefined ? state.oiCollateral[side] * precisionDelta * P10 : state.oiToken[side] * price;
  return (beforeV10 + since) * priceUsd;
}

const skewUsd = ({ collateral, state }: Holding, price: bigint | undefined): bigint =>
  (state.oiToken.long - state.oiToken.short) * (price ?? 0n) * collateral.priceUsd;

const sumUsd = (holdings: readonly Holding[], of: (holding: Holding) => bigint): Decimal => {
  const total = holdings.reduce((sum, holding) => sum + of(holding), 0n);
  return round(decimal(total, 36), USD_SCALE, 'half-up');
};

export const HOUR_MS = 3_600_000;
const CHECK_EVERY_MS = 20_000;
/** A rate read later than this after the full hour is not recorded for that hour. */
const LATEST_MS = 5 * 60_000;

/** Records once an hour the funding rate for longs of every live market; the first replica writes it. */
export function recordFunding(store: FundingStore, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let done = 0;
  const recordIfDue = async (): Promise<void> => {
    const now = clock.now();
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
    if (done === hour || now - hour > LATEST_MS) return;
    const rates = ratesOf(venue, hour);
    await store.record(definition.slug, rates);
    if (rates.length > 0) done = hour;
  };
  return clock.every(CHECK_EVERY_MS, () => void recordIfDue().catch((error: unknown) => log.warn('funding.not-recorded', { error })));
}

function ratesOf({ feed, clock }: Venue, time: number): FundingHour[] {
  const config = feed.status().ready ? feed.config() : null;
  return (config?.pairs ?? []).flatMap((pair, pairIndex) => {
    const price = pair && livePrice(feed, pairIndex);
    if (!config || !price) return [];
    const { fundingRateLongHourly } = fundingSnapshot(config, pairIndex, price, clock.now());
    const premium = ((price.mark - price.oracle) * P10) / price.oracle;
    return [{ pairIndex, time, rate: toUnits(fundingRateLongHourly, RATE_SCALE, 'half-up'), premium }];
  });
}
