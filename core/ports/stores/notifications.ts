import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** What no order and no fill tells: noticed by us, and kept. */
export interface Notice {
  readonly id: bigint;
  readonly kind: 'delegation_changed' | 'agent_expiring';
  /** The new delegate, or the agent; null when the slot was emptied. */
  readonly about: Address | null;
  /** Epoch ms. */
  readonly at: number;
}

/** A stop loss of a bot that the contract keeps elsewhere than it was asked for. */
export interface MovedStop {
  /** The bot's order. */
  readonly oid: bigint;
  readonly pairIndex: number;
  /** 1e10. */
  readonly asked: bigint;
  readonly kept: bigint;
  /** Epoch ms at which the chain had it. */
  readonly at: number;
}

export interface Expiring {
  readonly agent: Address;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** Addresses go in and come out in lower case. */
export interface NotificationStore {
  /** Who held the slot when it was last noted; undefined when it never was. */
  delegateSeen(chain: ChainSlug, trader: Address): Promise<Address | null | undefined>;
  /** Remembers who holds the slot. A holder other than the one remembered becomes a notice; the first one ever seen does not. */
  noteDelegate(chain: ChainSlug, trader: Address, delegate: Address | null, at: number): Promise<void>;
  /** Once per agent and expiry; one statement, however many agents. */
  noteExpiring(chain: ChainSlug, trader: Address, agents: readonly Expiring[], at: number): Promise<void>;
  /** Newest first. */
  notices(chain: ChainSlug, trader: Address, limit: number): Promise<Notice[]>;
  /** Newest first; follows from stored orders and events, so a reorganisation corrects it. */
  movedStops(chain: ChainSlug, trader: Address, limit: number): Promise<MovedStop[]>;
  /** Which of these the account has put away. */
  dismissed(trader: Address, ids: readonly number[]): Promise<Set<number>>;
  /** Doing it twice is doing it once. */
  dismiss(trader: Address, id: number, at: number): Promise<void>;
}
