import type { PendingOrderStruct, TradeStruct } from '../domain/diamond-log.js';
import type { BorrowingState, FundingState, LiquidationParams, Sides } from '../domain/market.js';
import type { READ_FUNCTIONS } from '../chains/diamond-functions.js';
import type { Address, BlockHead } from '../types.js';

/** Account data read from the chain, in the contract's units. */

export interface TradeInfo {
  readonly createdBlock: number;
  readonly maxSlippageP: number;
  readonly contractsVersion: number;
  readonly lastPosIncreaseBlock: number;
  /** 1e8: price of the collateral when the trade's open interest was last recorded. */
  readonly collateralPriceUsd: number;
}

export interface ChainTrade {
  readonly trade: TradeStruct;
  readonly info: TradeInfo;
}

/** Everything a trader has open. */
export interface OpenOrders {
  readonly positions: readonly ChainTrade[];
  /** Limit and stop orders. */
  readonly resting: readonly ChainTrade[];
  /** Every pending order of the trader that the contract still holds; null where it does not list them. */
  readonly pending: readonly PendingOrderStruct[] | null;
}

export type ListedOrders = OpenOrders & { readonly pending: readonly PendingOrderStruct[] };

/** Throws where the contract does not list all of them. */
export function requireListed(open: OpenOrders | null): ListedOrders {
  const pending = open?.pending;
  if (!open || !pending) throw new Error('the contract does not list the orders of a trader');
  return { ...open, pending };
}

/** State of one pair in one collateral that holding fees and liquidation depend on, at the block of the reads. */
export interface PairMoment {
  readonly funding: FundingState;
  readonly borrowing: Omit<BorrowingState, 'borrowingRatePerSecondP'>;
  readonly oiToken: Sides;
  /** 1e8; falls back to the price recorded with the trade where the contract has no price for the collateral. */
  readonly collateralPriceUsd: bigint;
  /** 1e10 percent, including the trader's own part. */
  readonly spreadP: bigint;
}

export type ReadFunction = keyof typeof READ_FUNCTIONS;

export interface OpenTrade extends ChainTrade {
  readonly liquidation: LiquidationParams;
  readonly fees: {
    readonly realizedTradingFeesCollateral: bigint;
    readonly realizedPnlCollateral: bigint;
    readonly initialAccFundingFeeP: bigint;
    readonly initialAccBorrowingFeeP: bigint;
  };
  /** Collateral units: borrowing fees of the first generation, which the contract still adds. */
  readonly borrowingV1: bigint;
  /** Collateral units: realised profit and loss of closed parts, and withdrawn profit; 0 where this Diamond does not expose it. */
  readonly takenOut: bigint;
  readonly pair: PairMoment;
  /** The function that the contract lacks and without which the liquidation price would be false; null: it can be computed. */
  readonly lacks: ReadFunction | null;
  /** As registered in the contract, active or not; null where this Diamond does not expose it. */
  readonly collateral: { readonly precision: bigint; readonly precisionDelta: bigint } | null;
}

/** A trade as far as the contract answers: null where it does not have the function. */
export interface ReadTrade {
  readonly trade: TradeStruct;
  readonly info: TradeInfo | null;
  readonly liquidation: OpenTrade['liquidation'] | null;
  readonly fees: OpenTrade['fees'] | null;
  readonly borrowingV1: bigint | null;
  readonly takenOut: bigint | null;
  readonly pair: { readonly [Field in keyof PairMoment]: PairMoment[Field] | null };
  readonly collateral: OpenTrade['collateral'];
}

export interface ReadTrades {
  readonly block: BlockHead;
  /** False: the contract does not list them, and `trades` were found one by one, or are those that were expected. */
  readonly isListed: boolean;
  readonly trades: readonly ReadTrade[];
}

export interface OpenTrades {
  /** All reads are at this block. */
  readonly block: BlockHead;
  /** Positions, by index; resting orders are not included. */
  readonly trades: readonly OpenTrade[];
}

/** A trade expected to be open, as it is stored. If the guesses are right, one round trip reads everything. */
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
  /** The same trades in the contract's form, for a contract that does not list them. */
  readonly expected: readonly TradeStruct[];
  /** 1e10; the price used to compute holding fees. */
  readonly priceOf: (pairIndex: number) => bigint;
}

/** A wallet and the orders of its trader, all at one block. */
export interface Wallet {
  readonly block: BlockHead;
  /** In the order of the requested tokens; null for a contract that does not answer like an ERC-20. */
  readonly tokens: readonly (TokenFunds | null)[];
  /** Collateral that the contract holds for resting orders and for requests, in token units by collateral index; null where it does not say. */
  readonly inOrders: ReadonlyMap<number, bigint> | null;
  /** False: the contract does not list trades or requests, and they were found in another way. */
  readonly isListed: boolean;
  /** 1e8, by collateral index: the contract's prices of the requested collaterals, as far as it has them. */
  readonly pricesUsd: ReadonlyMap<number, bigint>;
}

export interface WalletQuery {
  readonly trader: Address;
  readonly block: BlockHead;
  readonly tokens: readonly Address[];
  /** Indices of collaterals whose prices are read too. */
  readonly priced?: readonly number[];
}

/** Everything a trader has, all at one block. */
export type WholeAccount = ReadTrades & Wallet;

export interface TokenFunds {
  readonly balance: bigint;
  /** Towards the Diamond. */
  readonly allowance: bigint;
}

export interface AccountFacts {
  /** In the order of the requested tokens; null for a contract that does not answer like an ERC-20. */
  readonly tokens: readonly (TokenFunds | null)[];
  /** Share of the undiscounted fee that the trader's next action pays, 1e6; null when the Diamond does not expose it. */
  readonly feeMultiplier: bigint | null;
  readonly referrer: Address | null;
}
