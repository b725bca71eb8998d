import type { BorrowingState, FeeGroup } from '../market.js';
import {
  CONTRACTS_VERSION,
  type CollateralUnits,
  type MarketView,
  type StoredTrade,
  type TraderTerms,
  type TradeAccount,
} from './market-view.js';
import { positionSizeCollateral, usdToCollateral } from './size.js';
import { E18, E3, HUNDRED_PERCENT, maximum, P10 } from './units.js';
import { accruedFunding } from './funding.js';

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

/** The accumulators a trade started from, 1e20 percent × price. */
interface InitialAccumulators {
  readonly fundingP: bigint;
  readonly borrowingP: bigint;
}

/** Collateral units; positive costs the trader. Without v1 borrowing fees, which are read from the contract. */
export interface HoldingFees {
  readonly funding: bigint;
  readonly borrowing: bigint;
  readonly total: bigint;
}

/** What has accrued on a trade and is not yet realised. Funding is for trades since v10 only. */
export function holdingFees(
  { state, collateral }: Pick<MarketView, 'state' | 'collateral'>,
  trade: Pick<StoredTrade, 'long' | 'collateralAmount' | 'leverage' | 'openPrice' | 'contractsVersion'>,
  at: { readonly initial: InitialAccumulators; readonly timestamp: bigint; readonly price: bigint },
): HoldingFees {
  const position = { positionSizeCollateral: positionSizeCollateral(trade), openPrice: trade.openPrice };
  const { longP, shortP } = accruedFunding(state, { timestamp: at.timestamp, price: at.price, collateral });
  const fundingP = { accumulatorP: trade.long ? longP : shortP, initialAccumulatorP: at.initial.fundingP };
  const funding = trade.contractsVersion < CONTRACTS_VERSION.v10 ? 0n : accumulatedFee({ ...position, ...fundingP });
  const accumulatorP = accruedBorrowingP(state.borrowing, at);
  const borrowing = accumulatedFee({ ...position, accumulatorP, initialAccumulatorP: at.initial.borrowingP });
  return { funding, borrowing, total: funding + borrowing };
}

/** Accumulator (1e20 percent × price) at a moment; both sides pay the same. */
export function accruedBorrowingP(state: BorrowingState, at: { readonly timestamp: bigint; readonly price: bigint }): bigint {
  return state.accBorrowingFeeP + state.borrowingRatePerSecondP * (at.timestamp - state.lastBorrowingUpdateTs) * at.price;
}

/** Fee in collateral units of a position between two accumulator values; positive costs the trader. Funding uses the same rule. */
export function accumulatedFee(input: {
  readonly positionSizeCollateral: bigint;
  readonly openPrice: bigint;
  readonly accumulatorP: bigint;
  readonly initialAccumulatorP: bigint;
}): bigint {
  return (input.positionSizeCollateral * (input.accumulatorP - input.initialAccumulatorP)) / input.openPrice / HUNDRED_PERCENT;
}

export interface PnlInput {
  readonly openPrice: bigint;
  /** Execution price for "if closed now", market price for display. */
  readonly price: bigint;
  readonly long: boolean;
  readonly leverage: bigint;
}

/** 1e10 percent of the collateral, never below -100 %. */
export function pnlPercentP(input: PnlInput): bigint {
  if (input.openPrice === 0n) return 0n;
  const gain = input.long ? input.price - input.openPrice : input.openPrice - input.price;
  return maximum((gain * 100n * P10 * input.leverage) / input.openPrice / E3, -HUNDRED_PERCENT);
}

/** Collateral units, before every fee. */
export const rawPnl = (collateralAmount: bigint, pnlP: bigint): bigint => (pnlP * collateralAmount) / HUNDRED_PERCENT;

/** What closing pays: never negative. Scaled by `precisionDelta` before the division so that few decimals lose nothing. */
export function tradeValue(input: {
  readonly collateralAmount: bigint;
  readonly precisionDelta: bigint;
  readonly pnlP: bigint;
  readonly closingFee: bigint;
  readonly account: TradeAccount;
}): bigint {
  const scaled = input.collateralAmount * input.precisionDelta;
  const gross = (scaled + (scaled * input.pnlP) / HUNDRED_PERCENT) / input.precisionDelta;
  return maximum(gross - input.closingFee - input.account.holdingFees + input.account.realizedPnl, 0n);
}

/** A stop must fire this far (plus opening and closing fee) before the liquidation threshold. */
const STOP_BUFFER_P = 5n * P10;

/** The stop the contract stores for the requested one; 0 = none, also when fees make any stop impossible. */
export function clampStopLoss(input: {
  readonly sl: bigint;
  readonly openPrice: bigint;
  readonly long: boolean;
  readonly leverage: bigint;
  /** `totalPositionSizeFeeP` of the pair. */
  readonly feeP: bigint;
  /** `liquidationThresholdP` of the trade. */
  readonly thresholdP: bigint;
}): bigint {
  if (input.sl === 0n) return 0n;
  const buffer = (2n * input.feeP * input.leverage) / E3 + STOP_BUFFER_P;
  if (buffer >= input.thresholdP) return 0n;
  const deepestLossP = input.thresholdP - buffer;
  if (pnlPercentP({ ...input, price: input.sl }) >= -deepestLossP) return input.sl;
  const distance = (input.openPrice * deepestLossP * E3) / input.leverage / HUNDRED_PERCENT;
  return input.long ? input.openPrice - distance : input.openPrice + distance;
}
