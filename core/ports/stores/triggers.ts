import type { ChainSlug } from '../../chains/chains.js';
import type { Level } from '../../domain/chain-event.js';
import type { TriggerPhase } from '../../domain/trigger-phase.js';
import type { TriggerEnd, TriggerPlace } from '../../domain/triggers.js';
import type { Address } from '../../types.js';

/** A take profit or stop loss that an order asks for, for one trade. */
export interface WantedTrigger {
  /** The index of the trade, or of the resting order that will open one. */
  readonly tradeIndex: number;
  readonly kind: Level;
  /** 1e10. */
  readonly price: bigint;
}

/** A take profit or stop loss of one trade or resting order. An order for several trades has one on each. */
export interface Trigger {
  /** The id of its order as clients know it; one that was set elsewhere has a number of its own. */
  readonly owner: bigint;
  readonly origin: 'bot' | 'native' | 'other';
  readonly kind: Level;
  /** The order that it came with, or whose trigger it is as long as that rests; null for one that was set on a trade. */
  readonly parent: bigint | null;
  /** Where it stands, stood or will be set; null before its opening is on chain. */
  readonly place: TriggerPlace | null;
  /** 1e10: what the contract has, and before that what was asked for. */
  readonly price: bigint;
  /** Epoch ms. */
  readonly askedAt: number;
  readonly phase: TriggerPhase;
  /** The relayer's transaction that sets it; null where there is none. */
  readonly job: bigint | null;
  /** Null as long as it is not over on chain. `block`: null where that is not indexed yet. */
  readonly end: (TriggerEnd & { readonly block: bigint | null }) | null;
}

/** Reads are rows that the indexer and placing wrote; the first read of a trader without rows has them written. */
export interface TriggerStore {
  /** All that stand, wait or are under way. */
  live(chain: ChainSlug, trader: Address): Promise<Trigger[]>;
  /** All that these orders ever had, whatever became of them, in the order of their legs. */
  ofOwners(chain: ChainSlug, trader: Address, owners: readonly bigint[]): Promise<Trigger[]>;
  /** All that ever were at these trades and resting orders. */
  at(chain: ChainSlug, trader: Address, places: readonly TriggerPlace[]): Promise<Trigger[]>;
  /** Those of the newest owners. */
  newest(chain: ChainSlug, trader: Address, owners: number): Promise<Trigger[]>;
}
