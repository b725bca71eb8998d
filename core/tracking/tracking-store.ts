import type { ChainSlug } from '../chains.js';
import type { ChainEvent, OrderKey } from '../domain/chain-event.js';
import type { Order } from '../domain/order.js';
import type { PositionState } from '../domain/position.js';
import type { Address, Hex } from '../ports.js';

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

export interface Touched {
  readonly orders: readonly OrderRef[];
  readonly trades: readonly TradeRef[];
}

/** `order: null` = the chain took its events back; the id stays with the key. */
export interface StoredOrder extends OrderRef {
  readonly id: bigint;
  readonly order: Order | null;
}

export interface StoredPosition extends TradeRef {
  readonly id: bigint;
  readonly position: PositionState | null;
}

/** One all-or-nothing change of what we know of a chain. Nobody else changes the same chain meanwhile. */
export interface TrackingUnit {
  cursor(): Promise<ChainCursor | null>;
  setCursor(cursor: ChainCursor): Promise<void>;
  orders(refs: readonly OrderRef[]): Promise<Map<string, Order | null>>;
  positions(refs: readonly TradeRef[]): Promise<Map<string, PositionState | null>>;
  /** Adds events, or revives those a reorganisation had taken back; answers the ones that count only since now. */
  append(events: readonly ChainEvent[]): Promise<ChainEvent[]>;
  /** Takes back every event above the block. */
  orphanAbove(block: bigint): Promise<Touched>;
  /** What happened to these, in chain order. */
  eventsOfOrders(refs: readonly OrderRef[]): Promise<Map<string, ChainEvent[]>>;
  eventsOfTrades(refs: readonly TradeRef[]): Promise<Map<string, ChainEvent[]>>;
  saveOrders(changes: readonly (OrderRef & { readonly order: Order | null })[]): Promise<StoredOrder[]>;
  savePositions(changes: readonly (TradeRef & { readonly position: PositionState | null })[]): Promise<StoredPosition[]>;
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
  /** Requests the oracle has not answered, made in this block or before. */
  unanswered(chain: ChainSlug, upToBlock: bigint): Promise<(OrderRef & { readonly requestedBlock: bigint })[]>;
  change<Result>(chain: ChainSlug, work: (unit: TrackingUnit) => Promise<Result>): Promise<Result>;
  /** null while another replica holds it. */
  lease(chain: ChainSlug): Promise<Lease | null>;
}
