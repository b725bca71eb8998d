import type { ChainSlug } from '../../chains/chains.js';
import type { Address, Hex } from '../../types.js';
import type { Attempt, RelayJob } from './relay.js';

/** What a lane stores while it is compared with the chain after commits were lost. Every step may be repeated. */
export interface LaneRecoveryStore {
  lane(chain: ChainSlug, wallet: Address): Promise<LaneMemory>;
  /** Open jobs of before the newest loss, by nonce and age: what became of them may be forgotten. */
  survivors(chain: ChainSlug, wallet: Address): Promise<RelayJob[]>;
  /** Nonces of this range that no job has, in order; the newest, at most `limit`. */
  missing(
    chain: ChainSlug,
    wallet: Address,
    range: { readonly from: number; readonly below: number; readonly limit: number },
  ): Promise<number[]>;
  /** The newest block with a mined job of a lower nonce; null if there is none. */
  minedBefore(chain: ChainSlug, wallet: Address, nonce: number): Promise<bigint | null>;
  /** Transactions with indexed events above this block, at most `limit`. */
  indexedAbove(chain: ChainSlug, block: bigint, limit: number): Promise<Hex[]>;
  /** Another transaction has the nonce of this job for good: it is queued as if it never had one. */
  release(chain: ChainSlug, id: bigint): Promise<void>;
  /** This job was sent in a transaction that was forgotten. Null if it is over or has an attempt of another nonce. */
  recall(chain: ChainSlug, id: bigint, sent: Recalled): Promise<RelayJob | null>;
  /** A transaction of which no job is left: kept as one that served no trader, so that its nonce and its cost are. Null if its nonce has a job. */
  keep(chain: ChainSlug, wallet: Address, sent: Recalled): Promise<RelayJob | null>;
  /** The lane was compared with the chain after this loss, and goes on at this nonce. */
  finish(chain: ChainSlug, wallet: Address, at: { readonly loss: bigint; readonly nextNonce: number }): Promise<void>;
}

export interface LaneMemory {
  /** Null for a lane that has not begun. */
  readonly nextNonce: number | null;
  /** The highest of a job that is over; null if there is none. What was forgotten has a higher one. */
  readonly highestOver: number | null;
  /** The newest loss after which the lane was compared with the chain; 0 if none. */
  readonly reconciledLoss: bigint;
}

export interface Recalled {
  readonly nonce: number;
  readonly attempt: Attempt;
}
