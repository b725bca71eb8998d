import { accruedFunding } from './funding.js';
import { CONTRACTS_VERSION, type MarketView, type StoredTrade } from './market-view.js';
import { positionSizeCollateral } from './size.js';
import type { BorrowingState } from '../market.js';
import { HUNDRED_PERCENT } from './units.js';

/** The accumulators a trade started from, 1e20 percent × price. */
export interface InitialAccumulators {
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
