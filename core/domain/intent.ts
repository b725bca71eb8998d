import type { OrderType } from './order.js';

/**
 * One change on the Diamond that a trader wants, in the contract's units. Every write of both APIs is one of these; only
 * `core/trading/encode-intent.ts` encodes them.
 */

export interface OpenTerms {
  readonly type: OrderType;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  readonly leverage: bigint;
  readonly collateralAmount: bigint;
  /** The expected price of a market order, or the trigger price of a limit or stop. */
  readonly price: bigint;
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
  /** An order in the place of a counter trade's, which some other front end placed; absent = no. */
  readonly isCounterTrade?: boolean;
  /** Becomes the trader's referrer unless the trader has one; absent = none. */
  readonly referrer?: `0x${string}`;
}

export interface OpenIntent extends OpenTerms {
  readonly kind: 'open';
}

/** `slippageP` null = the position's stored slippage. */
export interface CloseIntent {
  readonly kind: 'close';
  readonly tradeIndex: number;
  readonly expectedPrice: bigint;
  readonly slippageP: bigint | null;
}

/** Closes a part: this amount of collateral, at the position's leverage. */
export interface DecreaseIntent extends Omit<CloseIntent, 'kind'> {
  readonly kind: 'decrease';
  readonly collateralDelta: bigint;
}

/** Closes several positions, or parts of them, in one transaction; at least two, each with its own request. */
export interface ReduceIntent {
  readonly kind: 'reduce';
  readonly parts: readonly (CloseIntent | DecreaseIntent)[];
}

/** Adds collateral when it lowers the leverage, removes some when it raises it; the size stays. */
export interface LeverageIntent {
  readonly kind: 'leverage';
  readonly tradeIndex: number;
  readonly leverage: bigint;
}

/** Adds to a position: collateral at a leverage of its own. */
export interface IncreaseIntent {
  readonly kind: 'increase';
  readonly tradeIndex: number;
  readonly collateralDelta: bigint;
  /** Of the added part. */
  readonly leverageDelta: bigint;
  readonly expectedPrice: bigint;
  readonly slippageP: bigint;
}

/** Pays the profit of a position to the trader; the position keeps its size, collateral and leverage. */
export interface WithdrawPnlIntent {
  readonly kind: 'withdrawPnl';
  readonly tradeIndex: number;
  /** The contract pays at most what is available when the oracle answers. */
  readonly amount: bigint;
}

/** null = unchanged, 0 = remove. */
export interface ProtectIntent {
  readonly kind: 'protect';
  readonly tradeIndex: number;
  readonly tp: bigint | null;
  readonly sl: bigint | null;
  /** Closing slippage, 1e3 percent; absent = the position's stored slippage. */
  readonly slippageP?: bigint;
}

/** All four values overwrite those of the resting order. */
export interface AmendIntent {
  readonly kind: 'amend';
  readonly tradeIndex: number;
  readonly price: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
}

/** Cancels a resting order and opens another in the same transaction. */
export interface ReplaceIntent {
  readonly kind: 'replace';
  readonly tradeIndex: number;
  readonly by: OpenTerms;
}

export interface WithdrawIntent {
  readonly kind: 'withdraw';
  readonly tradeIndex: number;
}

/** Reclaims a market request that the oracle did not answer in time. */
export interface ReclaimIntent {
  readonly kind: 'reclaim';
  readonly requestIndex: number;
}

export type Intent =
  | OpenIntent
  | CloseIntent
  | DecreaseIntent
  | ReduceIntent
  | LeverageIntent
  | IncreaseIntent
  | WithdrawPnlIntent
  | ProtectIntent
  | AmendIntent
  | ReplaceIntent
  | WithdrawIntent
  | ReclaimIntent;
