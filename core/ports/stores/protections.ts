import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import type { ExchangeRecord } from './exchange.js';

/** A TP or SL as an order of its own: the price is part of its identity, so a changed price is another order. */
export interface Protection {
  /** The index of the position, or of the resting order that will open one. */
  readonly tradeIndex: number;
  readonly kind: 'tp' | 'sl';
  /** 1e10. */
  readonly price: bigint;
}

export interface KnownProtection extends Protection {
  /** That of the order that has it. An order for several trades has one on each. */
  readonly id: bigint;
  /** Epoch ms at which it was first requested. */
  readonly seenAt: number;
}

/** One that an order has or had. */
export interface PastProtection extends KnownProtection {
  /** Its open trade has it now, from this order. */
  readonly isSet: boolean;
  /** Epoch ms at which a native order set the same price on the trade, which has the level since; null if none did. */
  readonly takenOverAt: number | null;
}

/** An order of a bot that has the level of an earlier native order. */
export interface Successor {
  readonly oid: bigint;
  /** Epoch ms. */
  readonly since: number;
}

export interface ProtectionStore {
  /**
   * In the requested order. A TP/SL set by one of our orders has that order's id while it is set. Others get a permanent id from the
   * sequence of orders and positions; a position keeps the ids of the TP/SL of the resting order that opened it.
   */
  identify(chain: ChainSlug, trader: Address, protections: readonly Protection[], at: number): Promise<KnownProtection[]>;
  /** Of native orders that are levels: those whose level a bot's order set again at the same price, with that order and when it did. */
  successors(chain: ChainSlug, trader: Address, orderIds: readonly bigint[]): Promise<ReadonlyMap<bigint, Successor>>;
  /** Of native orders those that set their level after an order that also opens did. */
  laterThan(
    order: Pick<ExchangeRecord, 'chain' | 'trader' | 'action' | 'item' | 'createdAt'>,
    orderIds: readonly bigint[],
  ): Promise<ReadonlySet<bigint>>;
  /** All that ever had an id, newest first, in the form of `everOf`. */
  list(chain: ChainSlug, trader: Address, limit: number): Promise<PastProtection[]>;
  /** All that an order ever had, whether they still stand or not, with their current index: that of the position once its order was filled. */
  everOf(chain: ChainSlug, trader: Address, id: bigint): Promise<PastProtection[]>;
  /** Those of an order that its open trades have now; all on open trades while the order is under way. */
  standing(chain: ChainSlug, trader: Address, id: bigint): Promise<KnownProtection[]>;
  /** Whether a later order at the same price is under way on one of its open trades: if that fails, the level is still this order's. */
  isContested(chain: ChainSlug, trader: Address, id: bigint): Promise<boolean>;
}
