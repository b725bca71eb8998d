import type { OrderType } from './order.js';

/**
 * One thing a trader wants done on the Diamond, in the contract's units. Everything both doors can write is one of these; what it
 * becomes on the wire is decided by `core/trading/encode-intent.ts` alone.
 */

export interface OpenTerms {
  readonly type: OrderType;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  readonly leverage: bigint;
  readonly collateralAmount: bigint;
  /** The price a market order expects, the trigger of a limit or stop. */
  readonly price: bigint;
  /** 0 = none. */
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
  /** Becomes the trader's referrer unless the trader has one; absent = none. */
  readonly referrer?: `0x${string}`;
}

export interface OpenIntent extends OpenTerms {
  readonly kind: 'open';
}

/** `slippageP` null = what the position has stored. */
export interface CloseIntent {
  readonly kind: 'close';
  readonly tradeIndex: number;
  readonly expectedPrice: bigint;
  readonly slippageP: bigint | null;
}

/** Closes a part: this much of the collateral, at the position's leverage. */
export interface DecreaseIntent extends Omit<CloseIntent, 'kind'> {
  readonly kind: 'decrease';
  readonly collateralDelta: bigint;
}

/** Closes several positions, or parts of them, in one transaction; at least two, each with its own request. */
export interface ReduceIntent {
  readonly kind: 'reduce';
  readonly parts: readonly (CloseIntent | DecreaseIntent)[];
}

/** Adds collateral when it lowers the leverage, takes some out when it raises it; the size stays. */
export interface LeverageIntent {
  readonly kind: 'leverage';
  readonly tradeIndex: number;
  readonly leverage: bigint;
}

/** null = leave as it is, 0 = remove. */
export interface ProtectIntent {
  readonly kind: 'protect';
  readonly tradeIndex: number;
  readonly tp: bigint | null;
  readonly sl: bigint | null;
  /** How far from its level it may be executed, 1e3 percent; absent = what the position has stored. */
  readonly slippageP?: bigint;
}

/** All four overwrite what the resting order has. */
export interface AmendIntent {
  readonly kind: 'amend';
  readonly tradeIndex: number;
  readonly price: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  readonly slippageP: bigint;
}

/** A resting order given up for another in the same transaction. */
export interface ReplaceIntent {
  readonly kind: 'replace';
  readonly tradeIndex: number;
  readonly by: OpenTerms;
}

export interface WithdrawIntent {
  readonly kind: 'withdraw';
  readonly tradeIndex: number;
}

/** Takes back a market request that the oracle did not answer in time. */
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
  | ProtectIntent
  | AmendIntent
  | ReplaceIntent
  | WithdrawIntent
  | ReclaimIntent;
