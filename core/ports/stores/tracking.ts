import type { ChainSlug } from '../../chains/chains.js';
import type { ChainEvent, Executed, OrderKey } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Referral } from '../../domain/referral.js';
import type { JournalFact } from './journal.js';
import type { Address, Hex } from '../../types.js';

/** How far the chain has been followed. */
export interface ChainCursor {
  /** The first block that was ever read; what happened before is known only as far as the chain's state tells. */
  readonly startBlock: bigint;
  /** The last block whose events are in; one less than `startBlock` before the first. */
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

/** `order: null` = the chain took its events back; the id stays. */
export interface StoredOrder {
  readonly id: bigint;
  readonly trader: Address;
  /** Its place on chain now; null before it is there. */
  readonly orderKey: OrderKey | null;
  /** Where an order made elsewhere was first seen: after a reorganisation whoever stands there gets the id back. null = made here. */
  readonly homeKey: OrderKey | null;
  /** Who had it made here. */
  readonly agent: Address | null;
  /** The order whose bytes were mined once more and made this one. */
  readonly repeatOf: bigint | null;
  readonly order: Order | null;
}

export interface StoredPosition extends TradeRef {
  readonly id: bigint;
  readonly position: PositionState | null;
}

/** Bytes that were handed out for an order. */
export interface KnownTag {
  readonly tag: Hex;
  readonly orderId: bigint;
  readonly purpose: 'place' | 'replace';
  /** The whole call data, tag included. */
  readonly data: Hex;
  /** What the chain will say of it; `shapeOf` in `core/domain/order-shape.ts`. */
  readonly shape: string;
}

/** An event and the order it is about: 0 = none by decision, null = none we know. */
export interface LinkedEvent {
  readonly event: ChainEvent;
  readonly orderId: bigint | null;
}

export interface StoredEvent extends LinkedEvent {
  readonly id: bigint;
}

export interface TakenBack {
  readonly orderIds: readonly bigint[];
  /** Where something happened to an order nobody had named. */
  readonly places: readonly OrderRef[];
  readonly trades: readonly TradeRef[];
  readonly fills: readonly { readonly id: bigint; readonly executed: Executed }[];
}

/**
 * One all-or-nothing change of what we know of a chain. Nobody else takes in blocks of the same chain meanwhile. What only writes is done
 * with the next question or at the end, in the order told.
 */
export interface TrackingUnit {
  /** Locked until the change is done. */
  cursor(): Promise<ChainCursor | null>;
  /** `passed`: blocks on the way there, by which a reorganisation is told from the ones below it. */
  setCursor(cursor: ChainCursor, passed?: readonly Checkpoint[]): void;
  /** Orders that stand or stood first at these places, and those of these ids; locked until the change is done. */
  orders(wanted: { readonly refs: readonly OrderRef[]; readonly ids: readonly bigint[] }): Promise<StoredOrder[]>;
  tags(tags: readonly Hex[]): Promise<KnownTag[]>;
  newOrderIds(count: number): Promise<bigint[]>;
  positions(refs: readonly TradeRef[]): Promise<Map<string, PositionState | null>>;
  /** Those that do not count yet. */
  unknown(events: readonly ChainEvent[]): Promise<ChainEvent[]>;
  /** Adds events, or revives those a reorganisation had taken back. Answers at least the fills among those that count only since now. */
  append(events: readonly LinkedEvent[]): Promise<StoredEvent[]>;
  /** Everything that counts at this place is about another order than was thought. */
  moveEvents(ref: OrderRef, orderId: bigint): void;
  /** Takes back every event above the block. */
  orphanAbove(block: bigint): Promise<TakenBack>;
  /** What happened to these, oldest first. */
  eventsOfOrders(ids: readonly bigint[]): Promise<Map<bigint, ChainEvent[]>>;
  eventsOfTrades(refs: readonly TradeRef[]): Promise<Map<string, ChainEvent[]>>;
  /** New ones and known ones; the spending they count for follows their status. */
  saveOrders(orders: readonly StoredOrder[]): void;
  /** Transactions that were seen to carry these orders. */
  noteHashes(seen: readonly { readonly orderId: bigint; readonly hash: Hex; readonly at: number }[]): void;
  savePositions(changes: readonly (TradeRef & { readonly position: PositionState | null })[]): Promise<StoredPosition[]>;
  /** Referral events; one that is in already stays as it is. `orphanAbove` takes them back with all others. */
  recordReferrals(referrals: readonly Referral[]): void;
  /** The trader's open orders are known as of the block. */
  meet(trader: Address, block: bigint): void;
  /** Told to the accounts; once and last. */
  tell(at: number, told: readonly { readonly trader: Address; readonly fact: JournalFact }[]): void;
}

/** While it is held, no other replica follows the chain. */
export interface Lease {
  isHeld(): boolean;
  release(): Promise<void>;
}

export interface TrackingStore {
  cursor(chain: ChainSlug): Promise<ChainCursor | null>;
  /** Newest first. */
  checkpoints(chain: ChainSlug, below: bigint, limit: number): Promise<Checkpoint[]>;
  knownTrades(chain: ChainSlug, refs: readonly TradeRef[]): Promise<Set<string>>;
  /** Whether the trader's open orders are known although they may be older than our memory. */
  hasMet(chain: ChainSlug, trader: Address): Promise<boolean>;
  /** Of these logs, the ones that are in. */
  knownLogs(chain: ChainSlug, places: readonly LogRef[]): Promise<Set<string>>;
  /** Moves the cursor over blocks in which nothing happened; false when it does not stand where it is believed to. */
  pass(chain: ChainSlug, from: ChainCursor, to: Checkpoint, passed: readonly Checkpoint[]): Promise<boolean>;
  /** Whether there is anything `unanswered` up to this block, and whether any prepared order is known to be sent. */
  waiting(chain: ChainSlug, upToBlock: bigint): Promise<{ readonly unanswered: boolean; readonly sent: boolean }>;
  /** Requests the oracle has not answered, made in this block or before. */
  unanswered(chain: ChainSlug, upToBlock: bigint): Promise<(OrderRef & { readonly requestedBlock: bigint })[]>;
  change<Result>(chain: ChainSlug, work: (unit: TrackingUnit) => Promise<Result>): Promise<Result>;
  /** null while another replica holds it. */
  lease(chain: ChainSlug): Promise<Lease | null>;
}

export interface LogRef {
  readonly blockHash: Hex;
  readonly txHash: Hex;
  readonly logIndex: number;
}

export const logKey = ({ blockHash, txHash, logIndex }: LogRef): string => `${blockHash}/${txHash}/${logIndex}`;
