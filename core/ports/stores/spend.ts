import type { ChainSlug } from '../../chains/chains.js';
import type { Decimal } from '../../domain/decimal.js';
import type { Address } from '../../types.js';

export interface SpendAccount {
  readonly chain: ChainSlug;
  readonly agent: Address;
  readonly trader: Address;
  /** UTC day since the epoch. */
  readonly day: number;
}

export interface Reservation extends SpendAccount {
  /** What the notional is for, for example an order's id; it holds at most one at a time. */
  readonly id: string;
  readonly usd: Decimal;
  /** Epoch ms until which it holds unless the chain has it by then; absent: as long as what it is for. */
  readonly expiresAt?: number;
}

export interface SpendStore {
  /**
   * Checks and reserves in one step; false, with nothing changed, when it would pass the cap. While an id holds, asking again changes
   * nothing but how long; once released, it is reserved anew, on the day it is asked for.
   */
  reserve(reservation: Reservation, capUsd: Decimal | null): Promise<boolean>;
  /** Gives the notional back; the second time, and for an unknown id, it changes nothing and says false. */
  release(chain: ChainSlug, id: string): Promise<boolean>;
  /** Counts a released notional again, cap or no cap: it reached the chain after all. */
  restore(chain: ChainSlug, id: string): Promise<boolean>;
  /** Gives back what was reserved until then and is not on chain; says how many. */
  releaseUnsent(chain: ChainSlug, now: number): Promise<number>;
  spent(account: SpendAccount): Promise<Decimal>;
}
