import type { Sides } from '../domain/market.js';
import type { Address, Hex } from '../types.js';

/** A write to simulate on the node before it is signed; all results come back in one round trip. */
export interface Simulation {
  readonly trader: Address;
  /** The account that will send it: the agent or the relayer. */
  readonly sender: Address;
  /** The exact call data for the Diamond. */
  readonly data: Hex;
  /** The collateral whose balance and allowance are read along; null where the write takes none. */
  readonly token: Address | null;
  /**
   * Simulates with exactly this gas, and skips the estimate. A call that passes proves its delegate and its collateral; these are read
   * only when it fails.
   */
  readonly gas?: bigint;
  /** An opening like recent ones of the trader that passed with this gas; it may be simulated in one batch with others. */
  readonly isUsual?: boolean;
}

/** A position to be opened. */
export interface OpeningQuestion {
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  /** Collateral units. */
  readonly positionSizeCollateral: bigint;
}

/** Trader-specific terms of a market, in the contract's units. */
export interface OpeningTerms {
  readonly fixedSpreadP: bigint;
  /** 0 = none. */
  readonly cumulVolPriceImpactMultiplier: bigint;
}

/** Fees for changing the leverage of a position. */
export interface UpdateFees {
  /** Governance's share of the fee, 1e3 percent. */
  readonly govFeeP: bigint;
  /** 1e3: volume tier × staking tier, as the next action settles them. */
  readonly feeMultiplier: bigint;
}

/** Open interest of one pair in one collateral at the newest block. */
export interface PairOpenInterest {
  /** 1e18. */
  readonly oiToken: Sides;
  /** Token units of the collateral: positions opened before v10 counted open interest in tokens. */
  readonly oiBeforeV10: Sides;
}

/** Facts the oracle callback checks for an opening. */
export interface OpeningFacts extends OpeningTerms {
  readonly isWithinGroupOi: boolean;
  /** Null where this Diamond does not expose it; the feed's figures are used instead. */
  readonly oi: PairOpenInterest | null;
}

/** A decoded revert; `name` is null for an unknown error. */
export interface Revert {
  readonly name: string | null;
  readonly args: readonly string[];
  readonly data: Hex;
}

export interface SimulationResult {
  readonly revert: Revert | null;
  /** From the sender's account: the given gas if it sufficed, otherwise an estimate; null when the estimate failed. */
  readonly gas: bigint | null;
  /** The trader's trading delegate at the same block; null also when the sender is the trader, because it is then not read. */
  readonly delegate: Address | null;
  readonly token: { readonly balance: bigint; readonly allowance: bigint } | null;
}

/** A transaction as the node reports it. */
export interface SeenTransaction {
  readonly from: Address;
  readonly to: Address | null;
  readonly input: Hex;
  /** Null while it is pending. */
  readonly mined: { readonly blockNumber: bigint; readonly blockHash: Hex; readonly succeeded: boolean } | null;
}
