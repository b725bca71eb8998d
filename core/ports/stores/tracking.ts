import type { ChainSlug } from '../../chains/chains.js';
import type { ChainEvent, Executed, OrderKey } from '../../domain/chain-event.js';
import type { MarketMinute, UncountedTrade } from '../../domain/market-minute.js';
import type { NetPosition } from '../../domain/net-position.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Referral } from '../../domain/referral.js';
import type { JournalFact } from './journal.js';
import type { ContractUnit } from './contract.js';
import type { NetPositionUnit } from './net-positions.js';
import type { Address, Hex } from '../../types.js';

/** How far the chain is indexed. */
export interface ChainCursor {
  /** The first block ever read; earlier history is known only as far as the chain's state shows it. */
  readonly startBlock: bigint;
  /** The last indexed block; one less than `startBlock` before the first. */
  readonly number: bigint;
  /** null before the first block. */
  readonly hash: Hex | null;
}

export interface Checkpoint {
  readonly number: bigint;
  readonly hash: Hex;
}

export interface OrderRef {
  readonly trader: Address;
  readonly orderKey: OrderKey;
}

export interface TradeRef {
  readonly trader: Address;
  readonly tradeIndex: number;
}

export const orderRefKey = ({ trader, orderKey }: OrderRef): string => `${trader}/${orderKey}`;
export const tradeRefKey = ({ trader, tradeIndex }: TradeRef): string => `${trader}/${tradeIndex}`;

/** `order: null` = a reorganisation removed its events; the id stays. */
export interface StoredOrder {
  readonly id: bigint;
  readonly trader: Address;
  /** Its current key on chain; null before it is mined. */
  readonly orderKey: OrderKey | null;
  /** The key at which a foreign order was first seen: after a reorganisation the order at this key gets the id back. null = made here. */
  readonly firstKey: OrderKey | null;
  /** The agent that placed it here. */
  readonly agent: Address | null;
  /** The order whose call data was mined again and created this one. */
  readonly repeatOf: bigint | null;
  readonly order: Order | null;
}

export interface StoredPosition extends TradeRef {
  readonly id: bigint;
  readonly position: PositionState | null;
}

/** Call data prepared for an order. */
export interface KnownTag {
  readonly tag: Hex;
  readonly orderId: bigint;
  readonly purpose: 'place' | 'replace';
  /** The whole call data, tag included. */
  readonly data: Hex;
  /** The expected terms on chain; `shapeOf` in `core/domain/order-machine.ts`. */
  readonly shape: string;
}

/** An event and its order: 0 = deliberately none, null = unknown. */
export interface LinkedEvent {
  readonly event: ChainEvent;
  readonly orderId: bigint | null;
  /** Of a fill, where it is folded. */
  readonly net?: NetPosition | undefined;
}

export interface StoredEvent extends LinkedEvent {
  readonly id: bigint;
}

export interface StoredTrade extends UncountedTrade {
  readonly id: bigint;
}

export interface TakenBack {
  readonly orderIds: readonly bigint[];
  /** Keys with events of orders that have no id. */
  readonly places: readonly OrderRef[];
  readonly trades: readonly TradeRef[];
  readonly fills: readonly { readonly id: bigint; readonly executed: Executed }[];
  readonly traders: readonly Address[];
  /** Those of trades, oldest first. */
  readonly events: readonly ChainEvent[];
}

/**
 * One transaction on the index of a chain; no other transaction indexes the same chain meanwhile. Methods that only write are queued and
 * run with the next read or at the end, in call order.
 */
export interface TrackingUnit extends ContractUnit, NetPositionUnit {
  /** Locked until the transaction ends. */
  cursor(): Promise<ChainCursor | null>;
  /** `passed`: block hashes on the way there, to find the fork point of a reorganisation. */
  setCursor(cursor: ChainCursor, passed?: readonly Checkpoint[]): void;
  /** Orders whose current or first key is one of these, and those with these ids; locked until the transaction ends. */
  orders(wanted: { readonly refs: readonly OrderRef[]; readonly ids: readonly bigint[] }): Promise<StoredOrder[]>;
  tags(tags: readonly Hex[]): Promise<KnownTag[]>;
  newOrderIds(count: number): Promise<bigint[]>;
  positions(refs: readonly TradeRef[]): Promise<Map<string, PositionState | null>>;
  /** Those that are not stored, or were undone. */
  unknown(events: readonly ChainEvent[]): Promise<ChainEvent[]>;
  /** Adds events, or restores those a reorganisation had undone. Returns at least the fills among the newly valid ones. */
  append(events: readonly LinkedEvent[]): Promise<StoredEvent[]>;
  /** Links all valid events at this key to another order. */
  moveEvents(ref: OrderRef, orderId: bigint): void;
  /** Undoes every event above the block. */
  orphanAbove(block: bigint): Promise<TakenBack>;
  /** Valid events of these orders, oldest first. */
  eventsOfOrders(ids: readonly bigint[]): Promise<Map<bigint, ChainEvent[]>>;
  eventsOfTrades(refs: readonly TradeRef[]): Promise<Map<string, ChainEvent[]>>;
  /** Inserts and updates; their reserved spending follows their status. */
  saveOrders(orders: readonly StoredOrder[]): void;
  /** Transactions seen to contain these orders. */
  noteHashes(seen: readonly { readonly orderId: bigint; readonly hash: Hex; readonly at: number }[]): void;
  savePositions(changes: readonly (TradeRef & { readonly position: PositionState | null })[]): Promise<StoredPosition[]>;
  /** Folds the triggers of these traders again. `since`: the block of the oldest event that was stored late. */
  refoldTriggers(traders: readonly Address[], since?: bigint): Promise<void>;
  /** Referral events; idempotent. `orphanAbove` undoes them with all others. */
  recordReferrals(referrals: readonly Referral[]): void;
  /** Executions that the minutes of the markets do not have yet, or have although they are orphaned; the newest ones. */
  uncountedTrades(limit: number): Promise<readonly StoredTrade[]>;
  /** Adds to the minutes, and marks these executions as counted, or no longer counted where they are orphaned. */
  countTrades(ids: readonly bigint[], minutes: readonly MarketMinute[]): void;
  /** Marks the trader's open orders as backfilled at the block. */
  markBackfilled(trader: Address, block: bigint): void;
  /** Appends to the journals of the accounts; once and last. */
  publish(at: number, entries: readonly { readonly trader: Address; readonly fact: JournalFact }[]): void;
}

/** While it is held, no other replica indexes the chain. */
export interface Lease {
  isHeld(): boolean;
  release(): Promise<void>;
}

export interface TrackingStore {
  cursor(chain: ChainSlug): Promise<ChainCursor | null>;
  /** Newest first. */
  checkpoints(chain: ChainSlug, below: bigint, limit: number): Promise<Checkpoint[]>;
  knownTrades(chain: ChainSlug, refs: readonly TradeRef[]): Promise<Set<string>>;
  /** Whether the trader's open orders were backfilled, including those older than our index. */
  isBackfilled(chain: ChainSlug, trader: Address): Promise<boolean>;
  /** Of these logs, the ones that are stored. */
  knownLogs(chain: ChainSlug, places: readonly LogRef[]): Promise<Set<string>>;
  /** Moves the cursor over blocks without events, and returns what `waiting` would; null when the cursor is not where `from` says. */
  pass(chain: ChainSlug, from: ChainCursor, to: Checkpoint, passed: readonly Checkpoint[], upToBlock: bigint): Promise<UnloggedWork | null>;
  waiting(chain: ChainSlug, upToBlock: bigint): Promise<UnloggedWork>;
  /** Requests the oracle has not answered, made in this block or before. */
  unanswered(chain: ChainSlug, upToBlock: bigint): Promise<(OrderRef & { readonly requestedBlock: bigint })[]>;
  change<Result>(chain: ChainSlug, work: (unit: TrackingUnit) => Promise<Result>): Promise<Result>;
  /** null while another replica holds it. With a signal a repeated try waits for others, at most a second; null too once it aborts. */
  lease(chain: ChainSlug, noLongerWanted?: AbortSignal): Promise<Lease | null>;
}

/** What may have changed without a log. */
export interface UnloggedWork {
  /** There are requests up to the given block that the oracle has not answered. */
  readonly unanswered: boolean;
  /** There are prepared orders with a known hash. */
  readonly sent: boolean;
}

export interface LogRef {
  readonly blockHash: Hex;
  readonly txHash: Hex;
  readonly logIndex: number;
}

export const logKey = ({ blockHash, txHash, logIndex }: LogRef): string => `${blockHash}/${txHash}/${logIndex}`;

/** What a set of chain events changed in the stored rows. */
export interface Changes {
  readonly events: readonly ChainEvent[];
  readonly orders: readonly StoredOrder[];
  readonly positions: readonly StoredPosition[];
  /** Journal entries of the accounts, in chain order. */
  readonly journalEntries: readonly NewJournalEntry[];
}

export interface NewJournalEntry {
  readonly trader: Address;
  readonly fact: JournalFact;
}

export const NO_CHANGES: Changes = { events: [], orders: [], positions: [], journalEntries: [] };

export const merge = (a: Changes, b: Changes): Changes => ({
  events: [...a.events, ...b.events],
  orders: [...a.orders, ...b.orders],
  positions: [...a.positions, ...b.positions],
  journalEntries: [...a.journalEntries, ...b.journalEntries],
});
