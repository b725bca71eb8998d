import { accruedBorrowingP, accumulatedFee } from './borrowing.js';
import { accruedFunding } from './funding.js';
import { CONTRACTS_VERSION, type MarketView, type StoredTrade } from './market-view.js';
import { positionSizeCollateral } from './size.js';

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
