import type { PendingOrderStruct, TradeStruct } from '../domain/diamond-log.js';
import type { BorrowingState, FundingState, LiquidationParams, Sides } from '../domain/market.js';
import type { Address, BlockHead } from '../types.js';

/** What the chain answers about one account; the contract's units. */

export interface TradeInfo {
  readonly createdBlock: number;
  readonly maxSlippageP: number;
  readonly contractsVersion: number;
  readonly lastPosIncreaseBlock: number;
  /** 1e8: of the collateral, when the trade's open interest was counted last. */
  readonly collateralPriceUsd: number;
}

export interface ChainTrade {
  readonly trade: TradeStruct;
  readonly info: TradeInfo;
}

/** All that is open of a trader. */
export interface OpenOrders {
  readonly positions: readonly ChainTrade[];
  /** Limit and stop orders. */
  readonly resting: readonly ChainTrade[];
  /** Every pending order of the trader that the contract still holds open. */
  readonly pending: readonly PendingOrderStruct[];
}

/** State of one pair in one collateral that holding fees and liquidation depend on, at the block of the answer. */
export interface PairMoment {
  readonly funding: FundingState;
  readonly borrowing: Omit<BorrowingState, 'borrowingRatePerSecondP'>;
  readonly oiToken: Sides;
  /** 1e8; where the contract has no price for the collateral, the one that the trade was counted at last. */
  readonly collateralPriceUsd: bigint;
  /** 1e10 percent, the trader's own part included. */
  readonly spreadP: bigint;
}

export interface OpenTrade extends ChainTrade {
  readonly liquidation: LiquidationParams;
  readonly fees: {
    readonly realizedTradingFeesCollateral: bigint;
    readonly realizedPnlCollateral: bigint;
    readonly initialAccFundingFeeP: bigint;
    readonly initialAccBorrowingFeeP: bigint;
  };
  /** Collateral units: the first generation of borrowing fees, which the contract still adds. */
  readonly borrowingV1: bigint;
  /** Collateral units: profit and loss of parts that were closed, and profit that was withdrawn; 0 where this Diamond does not say. */
  readonly takenOut: bigint;
  readonly pair: PairMoment;
  /** As the contract registered it, switched off or not; null where this Diamond does not say. */
  readonly collateral: { readonly precision: bigint; readonly precisionDelta: bigint } | null;
}

export interface OpenTrades {
  /** All answers are of this block. */
  readonly block: BlockHead;
  /** Positions, by index; resting orders hold nothing yet. */
  readonly trades: readonly OpenTrade[];
}

/** A trade we expect to be open. Right guesses make the whole question one round trip. */
export interface TradeGuess {
  readonly index: number;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  readonly collateralAmount: bigint;
  readonly leverage: bigint;
}

export interface OpenTradesQuery {
  readonly trader: Address;
  readonly block: BlockHead;
  readonly guesses: readonly TradeGuess[];
  /** 1e10; what holding fees are reckoned at. */
  readonly priceOf: (pairIndex: number) => bigint;
}

export interface AccountFacts {
  /** In the order of the tokens asked for; null for a token that answers as none does. */
  readonly tokens: readonly ({ readonly balance: bigint; readonly allowance: bigint } | null)[];
  /** Part of the undiscounted fee that the trader pays; 1e6. null when the Diamond cannot say. */
  readonly feeMultiplier: bigint | null;
  readonly referrer: Address | null;
}
