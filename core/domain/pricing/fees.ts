import type { FeeGroup } from '../market.js';
import type { CollateralUnits, MarketView, TraderTerms } from './market-view.js';
import { usdToCollateral } from './size.js';
import { E18, E3, HUNDRED_PERCENT, maximum } from './units.js';

/** The minimum collateral of an opening, in multiples of the minimum fee. */
const MIN_OPENING_FEES = 5n;

/** 1e18 USD. */
export const minPositionSizeUsd = (fees: FeeGroup): bigint => (fees.minPositionSizeUsd * E18) / E3;

/** 1e18 USD. */
export const minFeeUsd = (fees: FeeGroup): bigint => (minPositionSizeUsd(fees) * fees.totalPositionSizeFeeP) / HUNDRED_PERCENT;

/** Collateral that must remain in a trade after an update. */
export const minRemainingCollateral = (fees: FeeGroup, collateral: CollateralUnits): bigint => usdToCollateral(minFeeUsd(fees), collateral);

export const minOpeningCollateral = (fees: FeeGroup, collateral: CollateralUnits): bigint =>
  MIN_OPENING_FEES * minRemainingCollateral(fees, collateral);

export interface TradingFeeInput {
  readonly market: Pick<MarketView, 'pair' | 'fees' | 'collateral'>;
  readonly positionSizeCollateral: bigint;
  readonly isCounterTrade: boolean;
  readonly feeMultiplier: TraderTerms['feeMultiplier'];
}

/** One formula for openings, closings and both partials (on their delta). The floor is not reduced for counter trades. */
export function tradingFee({ market, ...input }: TradingFeeInput): bigint {
  const { feeRateMultiplier } = market.pair.counterTrade;
  const rateMultiplier = input.isCounterTrade && feeRateMultiplier > 0n ? feeRateMultiplier : E3;
  const floor = usdToCollateral(minPositionSizeUsd(market.fees), market.collateral) * E3;
  const basis = maximum(input.positionSizeCollateral * rateMultiplier, floor);
  const full = (basis * market.fees.totalPositionSizeFeeP) / HUNDRED_PERCENT / E3;
  return (full * input.feeMultiplier) / E3;
}

/** Charged on every refused action, and on leverage updates. `govFeeP` is 1e3 percent. */
export function minGovFee(input: Pick<TradingFeeInput, 'market' | 'feeMultiplier'> & { readonly govFeeP: bigint }): bigint {
  const minimum = tradingFee({ ...input, positionSizeCollateral: 0n, isCounterTrade: false });
  return ((minimum / 2n) * input.govFeeP) / E3 / 100n;
}

export const liquidationFee = (fees: FeeGroup, collateralAmount: bigint): bigint =>
  (collateralAmount * fees.totalLiqCollateralFeeP) / HUNDRED_PERCENT;
