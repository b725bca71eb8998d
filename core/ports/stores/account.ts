import type { ChainSlug } from '../../chains/chains.js';
import type { Executed, OrderKey } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { PositionState } from '../../domain/position.js';
import type { Address } from '../../types.js';

export interface ListedOrder {
  readonly id: bigint;
  /** Its place on chain; null before it is there. */
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

/** Where a page of fills ends: chain order, which no insert disturbs. */
export interface FillMark {
  readonly block: bigint;
  readonly logIndex: number;
}

/** What the database answers about one account. Traders go in in lower case. */
export interface AccountStore {
  /** Newest first. */
  liveOrders(chain: ChainSlug, trader: Address): Promise<ListedOrder[]>;
  /** Newest first, below the id. */
  ordersBefore(chain: ChainSlug, trader: Address, before: bigint | null, limit: number): Promise<ListedOrder[]>;
  /** Those that were filled, rejected or left unanswered, whichever that happened to last first. */
  endedOrders(chain: ChainSlug, trader: Address, limit: number): Promise<ListedOrder[]>;
  order(chain: ChainSlug, trader: Address, id: bigint): Promise<ListedOrder | null>;
  /** Newest first. */
  fillsBefore(chain: ChainSlug, trader: Address, before: FillMark | null, limit: number): Promise<ListedFill[]>;
  openPositions(chain: ChainSlug, trader: Address): Promise<ListedPosition[]>;
  /** Ids by trade index; a trade that never had one gets it now and keeps it. */
  positionIds(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<Map<number, bigint>>;
}
