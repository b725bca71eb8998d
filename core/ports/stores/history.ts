import type { ChainSlug } from '../../chains/chains.js';
import type { Executed, OrderKey } from '../../domain/chain-event.js';
import type { Order, OrderType } from '../../domain/order.js';
import type { Address } from '../../types.js';
import type { RelayPurpose } from './relay.js';

/** An order as public readers may see it: one prepared natively is private until it is on chain. */
export interface SeenOrder {
  readonly id: bigint;
  readonly order: Order;
  /** Its key on chain; null before it is mined. */
  readonly orderKey: OrderKey | null;
  /** Placed through the facade, so it is public before it is on chain. */
  readonly isRelayed: boolean;
}

export interface SeenFill {
  readonly id: bigint;
  readonly executed: Executed;
  /** The executed order, with its terms where it opens a natively requested size; null for the contract's own and for unknown orders. */
  readonly by: { readonly id: bigint; readonly isRelayed: boolean; readonly type: OrderType; readonly opening: Order | null } | null;
  /** The trader's net position in the market just before and after, 1e18 base units, each trade at the collateral price of its opening. */
  readonly before: bigint;
  readonly after: bigint;
}

/** As stored: null before the net position is folded. */
export interface StoredFill extends Omit<SeenFill, 'before' | 'after'> {
  readonly before: bigint | null;
  readonly after: bigint | null;
}

/** A fill among those of all traders. */
interface AmongOthers {
  /** How many fills of the same trader and second precede it. */
  readonly earlier: number;
}
export type TapeFill = SeenFill & AmongOthers;
export type StoredTapeFill = StoredFill & AmongOthers;

export interface LastExecution {
  readonly executed: Executed;
  /** The order of ours that was executed; null where it is not known or there is none. */
  readonly orderId: bigint | null;
}

export type TakenBack = Extract<RelayPurpose, 'scheduled-cancel' | 'reclaim'>;

/** Epoch ms, both ends included. */
export interface FillWindow {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly newestFirst: boolean;
}

export interface DayTotal {
  /** UTC days since the epoch. */
  readonly day: number;
  readonly collateralIndex: number;
  /** Traded volume, 1e18 USD. */
  readonly volumeUsd: bigint;
  /** Collateral units after all fees, withdrawn profit included: what moved to the trader. A close settles the fees of its opening. */
  readonly netPnl: bigint;
}

/** Account history for clients of the facade. Traders are in lower case. */
export interface HistoryStore {
  /** Newest first. */
  liveOrders(chain: ChainSlug, trader: Address): Promise<SeenOrder[]>;
  /** Newest first. */
  orders(chain: ChainSlug, trader: Address, limit: number): Promise<SeenOrder[]>;
  order(chain: ChainSlug, trader: Address, id: bigint): Promise<SeenOrder | null>;
  ordersOf(chain: ChainSlug, trader: Address, ids: readonly bigint[]): Promise<SeenOrder[]>;
  /** The order that is or was at this key. */
  orderAt(chain: ChainSlug, trader: Address, orderKey: OrderKey): Promise<SeenOrder | null>;
  /** The orders that rest or rested at these indices. */
  restingAt(chain: ChainSlug, trader: Address, slots: readonly number[]): Promise<ReadonlyMap<number, SeenOrder>>;
  /** The last execution on each of these trades. */
  lastExecutions(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<ReadonlyMap<number, LastExecution>>;
  /** The first executions on each of these trades, changes of leverage and withdrawals of profit included, in the order of the chain. */
  executionsOf(
    chain: ChainSlug,
    trader: Address,
    tradeIndices: readonly number[],
    limit: number,
  ): Promise<{ id: bigint; executed: Executed }[]>;
  /** Orders that the relayer cancelled without a cancel request: their schedule came due, or the oracle never answered. */
  takenBack(chain: ChainSlug, orderIds: readonly bigint[]): Promise<ReadonlyMap<bigint, TakenBack>>;
  /** Changes of position size. Fills of one second are never split: `limit` is exceeded by those that share the last one's time. */
  fills(chain: ChainSlug, trader: Address, window: FillWindow): Promise<StoredFill[]>;
  /** The newest fills of a market, newest first, of every indexed trader. */
  tape(chain: ChainSlug, pairIndex: number, limit: number): Promise<StoredTapeFill[]>;
  /** The time of the first fill of these orders; null where none has one. */
  firstFillAt(chain: ChainSlug, trader: Address, orderIds: readonly bigint[]): Promise<number | null>;
  /** The time of a trader's fill by its id; null where there is none. */
  fillAt(chain: ChainSlug, trader: Address, id: bigint): Promise<number | null>;
  /** Per day and collateral since a time; only the newest fills and withdrawals of profit are counted. */
  totals(chain: ChainSlug, trader: Address, since: number): Promise<DayTotal[]>;
  /** Whether any order or position of the trader is stored. */
  isKnown(chain: ChainSlug, trader: Address): Promise<boolean>;
}

/** How many of the newest fills are counted and searched. */
export const NEWEST_FILLS = 10_000;
