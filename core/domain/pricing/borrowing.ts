import type { BorrowingState } from '../market.js';
import { HUNDRED_PERCENT } from './units.js';

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
