import type { ChainSlug } from '../../chains/chains.js';
import type { Executed, OrderKey } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Address } from '../../types.js';

export interface ListedOrder {
  readonly id: bigint;
  /** Its key on chain; null before it is mined. */
  readonly orderKey: OrderKey | null;
  readonly order: Order;
}

export interface ListedPosition {
  readonly id: bigint;
  readonly tradeIndex: number;
  readonly position: PositionState;
}

export interface ListedFill {
  readonly id: bigint;
  readonly executed: Executed;
}

/** Page cursor of fills, in chain order, which inserts do not disturb. */
export interface FillMark {
  readonly block: bigint;
  readonly logIndex: number;
}

/** Account queries. Traders are in lower case. */
export interface AccountStore {
  /** Newest first. */
  liveOrders(chain: ChainSlug, trader: Address): Promise<ListedOrder[]>;
  /** Newest first, with ids below `before`. */
  ordersBefore(chain: ChainSlug, trader: Address, before: bigint | null, limit: number): Promise<ListedOrder[]>;
  /** Filled, rejected or unanswered orders, most recently ended first. */
  endedOrders(chain: ChainSlug, trader: Address, limit: number): Promise<ListedOrder[]>;
  order(chain: ChainSlug, trader: Address, id: bigint): Promise<ListedOrder | null>;
  /** Newest first. */
  fillsBefore(chain: ChainSlug, trader: Address, before: FillMark | null, limit: number): Promise<ListedFill[]>;
  openPositions(chain: ChainSlug, trader: Address): Promise<ListedPosition[]>;
  /** Those that are gone since a transaction whose logs wait to be read. */
  goneUnread(chain: ChainSlug, trader: Address): Promise<ListedPosition[]>;
  /** Open and closed ones, by trade index. */
  positionsAt(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<Map<number, PositionState>>;
  /** Ids by trade index; a trade without an id gets a permanent one. */
  positionIds(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<Map<number, bigint>>;
}
