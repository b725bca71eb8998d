import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** A take-profit or stop-loss seen as an order of its own: the price says which one, so a changed price is another order. */
export interface Protection {
  /** The slot of the position, or of the resting order that will open one. */
  readonly tradeIndex: number;
  readonly kind: 'tp' | 'sl';
  /** 1e10. */
  readonly price: bigint;
}

export interface KnownProtection extends Protection {
  readonly id: bigint;
  /** Epoch ms at which it was first asked for. */
  readonly seenAt: number;
}

export interface ProtectionStore {
  /**
   * In the order asked for. One that was set by an order of ours is that order, for as long as it holds. One that never had an id gets it now, from the same numbers as orders and positions, and keeps it; a position
   * that a resting order opened keeps the ids of that order's protections.
   */
  identify(chain: ChainSlug, trader: Address, protections: readonly Protection[], at: number): Promise<KnownProtection[]>;
  /** Another number for one that is set again: its last one stays with whoever had it. null when it is no longer under that number. */
  renumber(chain: ChainSlug, trader: Address, id: bigint, at: number): Promise<bigint | null>;
  /** The level that had one number has the other from now on. */
  handOver(chain: ChainSlug, trader: Address, from: bigint, to: bigint): Promise<void>;
  /** All that ever had a number, newest first, as `find` tells them. */
  list(chain: ChainSlug, trader: Address, limit: number): Promise<KnownProtection[]>;
  /** With the slot it is on now: that of the position once its order was filled. */
  find(chain: ChainSlug, trader: Address, id: bigint): Promise<KnownProtection | null>;
}
