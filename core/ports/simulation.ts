import type { Sides } from '../domain/market.js';
import type { Address, Hex } from '../types.js';

/** A write tried on the node before anybody signs it; all answers come back in one round trip. */
export interface Rehearsal {
  readonly trader: Address;
  /** Who will send it: the agent, or the relayer. */
  readonly sender: Address;
  /** Exactly what will be sent to the Diamond. */
  readonly data: Hex;
  /** The collateral whose balance and allowance are asked beside it; null where the write takes none. */
  readonly token: Address | null;
  /**
   * It is to be sent with this much gas, so it is tried with exactly that and nothing is estimated. A call that passes proves who its
   * delegate is and that the collateral is there; these are asked only when it fails.
   */
  readonly gas?: bigint;
  /** An opening like others of the trader that passed with this gas a moment ago: it may be tried together with its likes. */
  readonly isUsual?: boolean;
}

/** A position that is to be opened. */
export interface OpeningQuestion {
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  /** Collateral units. */
  readonly positionSizeCollateral: bigint;
}

/** What the contract grants or imposes on a trader in a market, in its units. */
export interface OpeningTerms {
  readonly fixedSpreadP: bigint;
  /** 0 = none. */
  readonly cumulVolPriceImpactMultiplier: bigint;
}

/** What the contract charges a trader for changing the leverage of a position. */
export interface UpdateFees {
  /** Governance's part of the fee, 1e3 percent. */
  readonly govFeeP: bigint;
  /** 1e3: volume tier × staking tier. */
  readonly feeMultiplier: bigint;
}

/** Open interest of one pair in one collateral at the newest block. */
export interface PairOpenInterest {
  /** 1e18. */
  readonly oiToken: Sides;
  /** Token units of the collateral: what was opened before tokens were counted. */
  readonly oiBeforeV10: Sides;
}

/** What the oracle's callback will hold against an opening. */
export interface OpeningFacts extends OpeningTerms {
  readonly isWithinGroupOi: boolean;
  /** null where this Diamond does not say: the feed's figures stand in. */
  readonly oi: PairOpenInterest | null;
}

/** Why a call fails, as the contract says; `name` is null where it says nothing we know. */
export interface Revert {
  readonly name: string | null;
  readonly args: readonly string[];
  readonly data: Hex;
}

export interface Rehearsed {
  readonly revert: Revert | null;
  /** From the sender's account: what was given if that did, otherwise an estimate; null when it could not be estimated. */
  readonly gas: bigint | null;
  /** The trader's trading delegate at the same moment; null also when the sender is the trader and nobody was asked. */
  readonly delegate: Address | null;
  readonly token: { readonly balance: bigint; readonly allowance: bigint } | null;
}

/** A transaction as a node knows it. */
export interface SeenTransaction {
  readonly from: Address;
  readonly to: Address | null;
  readonly input: Hex;
  /** null while it is in the pool. */
  readonly mined: { readonly blockNumber: bigint; readonly blockHash: Hex; readonly succeeded: boolean } | null;
}
