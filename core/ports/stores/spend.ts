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
  /** What the notional is for, for example an order's id; at most one reservation per id. */
  readonly id: string;
  readonly usd: Decimal;
  /** Epoch ms until which it is held unless the order is on chain by then; absent: as long as the order. */
  readonly expiresAt?: number;
}

export interface SpendStore {
  /**
   * Checks and reserves in one statement; false, with nothing changed, when it would exceed the cap. Reserving a held id again only extends
   * it; a released id is reserved anew, on the current day.
   */
  reserve(reservation: Reservation, capUsd: Decimal | null): Promise<boolean>;
  /** Releases the notional; idempotent, and false when nothing was held. */
  release(chain: ChainSlug, id: string): Promise<boolean>;
  /** Counts a released notional again regardless of the cap: its order reached the chain after all. */
  restore(chain: ChainSlug, id: string): Promise<boolean>;
  /** Releases expired reservations that are not on chain; returns the count. */
  releaseUnsent(chain: ChainSlug, now: number): Promise<number>;
  spent(account: SpendAccount): Promise<Decimal>;
}
