import type { FundingParams, PairInCollateral, Sides } from '../market.js';
import type { CollateralUnits } from './market-view.js';
import { netSkew } from './exposure.js';
import { absolute, E18, E3, E8, maximum, minimum, P10 } from './units.js';

const YEAR = 31_536_000n;
/** |net| 1e18 × coefficient 1e26 → velocity 1e10. */
const COEFFICIENT_UNIT = 10n ** 34n;
/** Multipliers of the earning side, 1e20 = 1. */
export const APR_UNIT = 10n ** 20n;
const APR_CAP = 100n * APR_UNIT;

/** Change of the rate per year (1e10 percent/s), following the sign of the skew. */
export function fundingVelocity(input: {
  readonly params: FundingParams;
  readonly netToken: bigint;
  readonly price: bigint;
  readonly collateral: Pick<CollateralUnits, 'priceUsd'>;
}): bigint {
  const { params, netToken } = input;
  const netUsd = (((netToken * input.price) / E18) * input.collateral.priceUsd) / E8;
  if (absolute(netUsd) < params.thetaThresholdUsd * P10) return 0n;
  // For a dust short skew whose value truncates to zero the contract overflows; here the velocity is zero.
  if (netUsd === 0n && netToken < 0n) return 0n;
  const wanted = (absolute(netToken) * params.skewCoefficientPerYear) / COEFFICIENT_UNIT;
  const velocity = minimum(wanted, params.absoluteVelocityPerYearCap * E3);
  return netUsd < 0n ? -velocity : velocity;
}

export interface FundingRates {
  /** 1e18 percent per second, now and on average since the last update. */
  readonly current: bigint;
  readonly average: bigint;
}

export function fundingRates(input: {
  readonly last: bigint;
  readonly velocity: bigint;
  readonly seconds: bigint;
  /** 1e10 percent/s. */
  readonly absoluteCap: bigint;
}): FundingRates {
  const { last, velocity, seconds } = input;
  if (input.absoluteCap === 0n) return { current: 0n, average: 0n };
  if (velocity === 0n || seconds === 0n) return { current: last, average: last };
  const cap = (velocity < 0n ? -input.absoluteCap : input.absoluteCap) * E8;
  if (cap === last) return { current: cap, average: cap };
  // A cap lowered below the current rate would give a negative time; it counts as reached at once.
  const secondsToCap = maximum(0n, ((cap - last) * YEAR) / velocity / E8);
  if (secondsToCap < 0n || seconds <= secondsToCap) {
    const current = last + (seconds * velocity * E8) / YEAR;
    return { current, average: (last + current) / 2n };
  }
  const rising = ((last + cap) / 2n) * secondsToCap;
  return { current: cap, average: (rising + cap * (seconds - secondsToCap)) / seconds };
}

/** 1e20 each. An empty side accrues nothing; with the multiplier on, the earning side shares what the paying side pays. */
export function aprMultipliers(input: { readonly rate: bigint; readonly oiToken: Sides; readonly enabled: boolean }): Sides {
  const { rate, oiToken } = input;
  if (rate === 0n) return { long: APR_UNIT, short: APR_UNIT };
  const of = (own: bigint, other: bigint, earns: boolean): bigint => {
    if (own === 0n) return 0n;
    return earns && input.enabled ? minimum((other * APR_UNIT) / own, APR_CAP) : APR_UNIT;
  };
  return { long: of(oiToken.long, oiToken.short, rate < 0n), short: of(oiToken.short, oiToken.long, rate > 0n) };
}

export interface AccruedFunding {
  /** 1e20 percent × price. */
  readonly longP: bigint;
  readonly shortP: bigint;
  /** 1e18 percent per second. */
  readonly rate: bigint;
}

interface Stretch {
  readonly rate: bigint;
  readonly seconds: bigint;
}

/** With the multiplier on, a rate that crosses zero changes the earning side, so the time is split in two parts. */
function stretches(input: { rates: FundingRates; last: bigint; velocity: bigint; seconds: bigint; split: boolean }): readonly Stretch[] {
  const { rates, last, seconds } = input;
  const flips = (rates.current > 0n && last < 0n) || (rates.current < 0n && last > 0n);
  if (!input.split || !flips) return [{ rate: rates.average, seconds }];
  const toZero = (-last * YEAR) / input.velocity / E8;
  return [
    { rate: last / 2n, seconds: toZero },
    { rate: rates.current / 2n, seconds: seconds - toZero },
  ];
}

/** The accumulators and the rate as the contract would return them at a time; a positive rate is paid by longs to shorts. */
export function accruedFunding(
  state: Pick<PairInCollateral, 'funding' | 'fundingParams' | 'oiToken'>,
  at: { readonly timestamp: bigint; readonly price: bigint; readonly collateral: Pick<CollateralUnits, 'priceUsd'> },
): AccruedFunding {
  const { funding, fundingParams: params, oiToken } = state;
  const last = funding.lastFundingRatePerSecondP;
  let [longP, shortP] = [funding.accFundingFeeLongP, funding.accFundingFeeShortP];
  if (!params.fundingFeesEnabled) return { longP, shortP, rate: last };
  const seconds = at.timestamp - funding.lastFundingUpdateTs;
  const velocity = fundingVelocity({ params, netToken: netSkew(oiToken), price: at.price, collateral: at.collateral });
  const rates = fundingRates({ last, velocity, seconds, absoluteCap: params.absoluteRatePerSecondCap });
  for (const stretch of stretches({ rates, last, velocity, seconds, split: params.aprMultiplierEnabled })) {
    const delta = (stretch.rate * stretch.seconds * at.price) / E8;
    const multipliers = aprMultipliers({ rate: stretch.rate, oiToken, enabled: params.aprMultiplierEnabled });
    longP += (delta * multipliers.long) / APR_UNIT;
    shortP -= (delta * multipliers.short) / APR_UNIT;
  }
  return { longP, shortP, rate: rates.current };
}
