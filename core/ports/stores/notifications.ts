import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** Notices that do not follow from an order or a fill and are therefore stored. */
export interface Notice {
  readonly id: bigint;
  readonly kind: 'delegation_changed' | 'agent_expiring';
  /** The new delegate, or the agent; null when the delegate was removed. */
  readonly about: Address | null;
  /** Epoch ms. */
  readonly at: number;
}

/** A bot's stop loss that the contract stored at another price than requested. */
export interface MovedStop {
  /** The bot's order. */
  readonly oid: bigint;
  readonly pairIndex: number;
  /** 1e10. */
  readonly asked: bigint;
  readonly kept: bigint;
  /** Epoch ms of the block. */
  readonly at: number;
}

export interface Expiring {
  readonly agent: Address;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** Addresses are in lower case. */
export interface NotificationStore {
  /** The delegate last noted; undefined when none was ever noted. */
  delegateSeen(chain: ChainSlug, trader: Address): Promise<Address | null | undefined>;
  /** Stores the delegate. A change creates a notice; the first value does not. */
  noteDelegate(chain: ChainSlug, trader: Address, delegate: Address | null, at: number): Promise<void>;
  /** Once per agent and expiry; one statement, however many agents. */
  noteExpiring(chain: ChainSlug, trader: Address, agents: readonly Expiring[], at: number): Promise<void>;
  /** Newest first. */
  notices(chain: ChainSlug, trader: Address, limit: number): Promise<Notice[]>;
  /** Newest first; follows from stored orders and events, so a reorganisation corrects it. */
  movedStops(chain: ChainSlug, trader: Address, limit: number): Promise<MovedStop[]>;
  /** Which of these the account has dismissed. */
  dismissed(trader: Address, ids: readonly number[]): Promise<Set<number>>;
  /** Idempotent. */
  dismiss(trader: Address, id: number, at: number): Promise<void>;
}

/** A notification of the protocol's own service, which documents no fields; these are the ones every message has. */
export interface ForeignNotice {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

export interface NoticeSource {
  /** Throws UPSTREAM_UNAVAILABLE when it does not answer. */
  list(address: Address): Promise<readonly ForeignNotice[]>;
}
