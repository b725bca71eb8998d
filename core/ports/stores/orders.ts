import type { ChainSlug } from '../../chains/chains.js';
import type { ChainEvent, OrderKey, PreparationSteps } from '../../domain/chain-event.js';
import type { Decimal } from '../../domain/decimal.js';
import type { Order } from '../../domain/order.js';
import type { Address, Hex } from '../../types.js';
import type { OpeningGuard } from './rules.js';

/** Call data prepared for an order, recognised on chain by its tag. */
export interface HandedOut {
  /** 16 random bytes; `core/trading/encode-intent.ts` appends them, with a magic before them, to the call data. */
  readonly tag: Hex;
  /** The whole call data, tag included. */
  readonly data: Hex;
  readonly gas: bigint | null;
  /** Durations of the preparation, stored with the order's first event. */
  readonly steps?: PreparationSteps;
}

/** An order to be stored with `order.status` = prepared, completely or not at all. */
export interface Draft extends HandedOut {
  readonly chain: ChainSlug;
  readonly agent: Address;
  readonly order: Order;
  /** Hash of the request in canonical form: the same clientId with another fingerprint is a conflict. */
  readonly fingerprint: Hex;
  /** Notional that counts against the agent's daily cap; null unless it opens something. */
  readonly spend: { readonly account: SpendAccount; readonly usd: Decimal; readonly capUsd: Decimal | null } | null;
  /** Limit of this agent's prepared and unsent orders. */
  readonly maxUnsent: number;
  /** The trade it closes, if nothing else may be under way for that trade; checked in the same transaction. */
  readonly soleOn?: number;
  /** The cloid of a bot's order, which no live order and no TP/SL that stands may have; checked in the same transaction. */
  readonly freeCloid?: string;
  /** For relayed openings: the operator's rules, checked in the same transaction, which throws GuardrailError. */
  readonly guard?: OpeningGuard;
  /** For relayed openings: the trader's funds, checked against the openings that are not mined yet. */
  readonly funds?: OpeningFunds;
}

/** The funds an opening needs and those the wallet had when they were read, in the collateral's units. */
export interface OpeningFunds {
  readonly collateralIndex: number;
  /** The collateral of the opening; the allowance must cover it. */
  readonly amount: bigint;
  /** What leaves the wallet: less than `amount` where the same transaction frees the collateral of another order. */
  readonly takes: bigint;
  readonly balance: bigint;
  readonly allowance: bigint;
  /** The database's time before the chain was read: openings prepared after it may not be in the figures. */
  readonly readAt: number;
  /** The database's time when the request arrived: a later read is valid for all its openings. */
  readonly askedAt: number;
}

/** A relayed opening that the index has not seen in a block. */
export interface UnminedOpening extends Pick<OpeningFunds, 'amount' | 'takes'> {
  /** Its block, where the relayer has seen it in one before the index; null otherwise. */
  readonly minedBlock: bigint | null;
}

export interface UnminedOpenings {
  /** The last indexed block at the moment of this answer; null before the first. */
  readonly indexedBlock: bigint | null;
  readonly openings: readonly UnminedOpening[];
}

/** `others` are the further orders of the same transaction. */
export type Placed = { readonly kind: 'placed'; readonly stored: KnownOrder; readonly others: readonly KnownOrder[] } | NotPlaced;

export type NotPlaced =
  /** The clientId is taken, by the same order or another one: compare fingerprints. Nothing was stored. */
  | { readonly kind: 'known'; readonly stored: KnownOrder }
  | { readonly kind: 'over-cap'; readonly spentUsd: Decimal }
  | { readonly kind: 'too-many'; readonly earliestExpiry: number }
  /** A live order, or a TP/SL that stands, has one of its cloids. */
  | { readonly kind: 'cloid-taken' }
  /** Another order is under way for the trade of `soleOn`. */
  | { readonly kind: 'busy' }
  /** Insufficient funds besides the openings not mined yet; `takes` and `amount` are their sums. `askedAt` is the database's time. */
  | { readonly kind: 'short'; readonly takes: bigint; readonly amount: bigint; readonly askedAt: number };

/** An order and how it got to the chain. Orders made elsewhere have no agent, no transaction and no fingerprint. */
export interface KnownOrder {
  readonly id: bigint;
  readonly order: Order;
  /** Its current key on chain; null before it is mined. */
  readonly orderKey: OrderKey | null;
  readonly agent: Address | null;
  readonly fingerprint: Hex | null;
  /** The order whose call data was mined again and created this one; null otherwise. */
  readonly repeatOf: bigint | null;
  /** The call data prepared last. */
  readonly transaction: HandedOut | null;
  /** Call data prepared before that, which may still be sent. */
  readonly formerData: readonly Hex[];
  /** Transactions reported or seen for it, oldest first. */
  readonly hashes: readonly Hex[];
}

/** A change that repeats all of a resting order. */
export interface OrderChange {
  readonly id: bigint;
  readonly tradeIndex: number;
  /** The order as it was read, and as it will be. */
  readonly was: Order;
  readonly becomes: Order;
  /** Of the transaction that is given to the agent. */
  readonly data: Hex;
  readonly now: number;
  readonly expiresAt: number;
  /** What its growth counts against the agent's cap; null where it does not grow. */
  readonly growth: { readonly reservation: Reservation; readonly capUsd: Decimal | null } | null;
}

export type ChangeNoted =
  | { readonly kind: 'noted' }
  | { readonly kind: 'beyond-cap' }
  /** Another change was given to an agent and may be sent until then. */
  | { readonly kind: 'prepared'; readonly until: number }
  /** Another change is with the relayer, or the order is no longer as it was read. */
  | { readonly kind: 'changing' };

export interface OrdersStore {
  /** One transaction for all: clientId, number of unsent orders, spending cap, order, first event, journal. */
  place(draft: Draft, others?: readonly Draft[]): Promise<Placed>;
  /** Prepares an unsent expired order again under its id; `moved-on` when it is no longer expired, or a hash is known. */
  renew(chain: ChainSlug, id: bigint, draft: Draft, others?: readonly Draft[]): Promise<Placed | { readonly kind: 'moved-on' }>;
  /** The trader's orders prepared with one of these tags, by id. */
  tagged(chain: ChainSlug, trader: Address, tags: readonly Hex[]): Promise<KnownOrder[]>;
  find(chain: ChainSlug, trader: Address, id: bigint): Promise<KnownOrder | null>;
  findByClientId(chain: ChainSlug, trader: Address, clientId: string): Promise<KnownOrder | null>;
  /** Relayed openings in a collateral that may still be mined, and how far the chain is indexed, as of one moment. */
  unminedOpenings(chain: ChainSlug, trader: Address, collateralIndex: number): Promise<UnminedOpenings>;
  /** The live order at this key. */
  findByKey(chain: ChainSlug, trader: Address, orderKey: OrderKey): Promise<KnownOrder | null>;
  /** The trader's orders that wait for the oracle and concern this trade, oldest first. */
  pendingOnTrade(chain: ChainSlug, trader: Address, tradeIndex: number): Promise<KnownOrder[]>;
  /** Notes that this change is about to be given to an agent and reserves its growth: both, or neither while another one is in the way. */
  prepareChange(chain: ChainSlug, change: OrderChange): Promise<ChangeNoted>;
  /** A transaction with this input failed: the change that it contains is in the way of no other. False where it contains none. */
  releaseChange(chain: ChainSlug, id: bigint, input: Hex): Promise<boolean>;
  /** A replacement of a resting order was prepared: its new index belongs to the same order. */
  expectReplacement(chain: ChainSlug, id: bigint, transaction: HandedOut, order: Order): Promise<void>;
  /** Idempotent. */
  recordHash(chain: ChainSlug, id: bigint, hash: Hex, at: number): Promise<KnownOrder>;
  /** The same for many in one transaction; ignores orders that no longer exist. */
  recordHashes(chain: ChainSlug, sent: readonly { readonly id: bigint; readonly hash: Hex }[], at: number): Promise<void>;
  /** Cancels an unsent order; false when it is no longer prepared, or a hash is known. */
  giveUp(chain: ChainSlug, trader: Address, id: bigint, at: number): Promise<boolean>;
  /** Expires overdue prepared orders, those with a known hash only if in `sent`, none that the relayer may send; returns the count. */
  expire(chain: ChainSlug, now: number, sent?: readonly bigint[]): Promise<number>;
  /** Prepared orders with a known hash, oldest first: their transaction may have failed or been dropped. */
  sent(chain: ChainSlug, limit: number, after?: bigint): Promise<KnownOrder[]>;
  /** Of these, the orders prepared with one of these tags. */
  sentWith(chain: ChainSlug, tags: readonly Hex[]): Promise<KnownOrder[]>;
  /** All events of the order, oldest first; those undone by a reorganisation are marked. */
  timeline(chain: ChainSlug, trader: Address, id: bigint): Promise<OrderHistory | null>;
}

export interface OrderHistory {
  readonly events: readonly { readonly event: ChainEvent; readonly isTakenBack: boolean }[];
  /** Orders created when the same call data was mined again. */
  readonly repeats: readonly bigint[];
}

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
   * Checks and reserves in one step; false, with nothing changed, when it would exceed the cap. Reserving a held id again only extends it; a
   * released id is reserved anew, on the current day.
   */
  reserve(reservation: Reservation, capUsd: Decimal | null): Promise<boolean>;
  /** Releases expired reservations that are not on chain; returns the count. */
  releaseUnsent(chain: ChainSlug, now: number): Promise<number>;
  /** The sum of the reservations that are held. */
  spent(account: SpendAccount): Promise<Decimal>;
}
