import type { ChainSlug } from '../../chains/chains.js';
import type { Executed, OrderKey } from '../../domain/chain-event.js';
import type { Order } from '../../domain/order.js';
import type { Address, Hex } from '../../types.js';
import type { RelayPurpose } from './relay.js';
import type { Protection } from './protections.js';

/** An order as anybody may see it: one that was prepared natively is nobody's business before the chain knows it. */
export interface SeenOrder {
  readonly id: bigint;
  readonly order: Order;
  /** Its place on chain; null before it is there. */
  readonly orderKey: OrderKey | null;
  /** It came through the facade, so it is public before the chain knows it. */
  readonly isRelayed: boolean;
}

export interface SeenFill {
  readonly id: bigint;
  readonly executed: Executed;
  /** The order that was executed, with its terms where it opens a size that was asked for natively; null where the contract acted by itself, or for an unknown order. */
  readonly by: { readonly id: bigint; readonly isRelayed: boolean; readonly opening: Order | null } | null;
  /**
   * The trader's net position of the market just before and after, 1e18 base units, each trade at the collateral's price of its opening.
   * Both are the positions of now with everything later taken back, so they never change once the fill is stored.
   */
  readonly before: bigint;
  readonly after: bigint;
}

/** A fill among those of all traders. */
export interface TapeFill extends SeenFill {
  /** How many fills of the same trader and second come before it. */
  readonly earlier: number;
}

/** What a size in base units is reckoned with where an event does not say it. */
export type SizeUnits = readonly { readonly index: number; readonly precision: bigint; readonly priceUsd: bigint }[];

/** A take profit or stop loss got a price, or was confirmed in it; 0 = it was taken off. */
export interface LevelStep extends Protection {
  /** Epoch ms. */
  readonly at: number;
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
  /** 1e18 USD that were traded. */
  readonly volumeUsd: bigint;
  /** Collateral units after all fees. */
  readonly netPnl: bigint;
}

/** The past of an account as clients of the facade ask for it. Traders go in in lower case. */
export interface HistoryStore {
  /** Newest first. */
  liveOrders(chain: ChainSlug, trader: Address): Promise<SeenOrder[]>;
  /** Newest first. */
  orders(chain: ChainSlug, trader: Address, limit: number): Promise<SeenOrder[]>;
  order(chain: ChainSlug, trader: Address, id: bigint): Promise<SeenOrder | null>;
  ordersOf(chain: ChainSlug, trader: Address, ids: readonly bigint[]): Promise<SeenOrder[]>;
  /** The order that is, or once was, at this place of the chain. */
  orderAt(chain: ChainSlug, trader: Address, orderKey: OrderKey): Promise<SeenOrder | null>;
  /** The orders that rest, or once rested, in these slots. */
  restingAt(chain: ChainSlug, trader: Address, slots: readonly number[]): Promise<ReadonlyMap<number, SeenOrder>>;
  /** What take profits and stop losses of these trades, and of the orders that rest in slots of these numbers, became; oldest first. Only the newest are looked through. */
  levelSteps(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<LevelStep[]>;
  /** The last thing that was executed on each of these trades. */
  lastExecutions(chain: ChainSlug, trader: Address, tradeIndices: readonly number[]): Promise<ReadonlyMap<number, Executed>>;
  /** Orders that nobody asked to cancel and the relayer took back: when their schedule came due, or because the oracle never answered. */
  takenBack(chain: ChainSlug, orderIds: readonly bigint[]): Promise<ReadonlyMap<bigint, TakenBack>>;
  /** The transaction that took this level off its position; null while one stands there, and where none ever was taken off. */
  levelEnd(chain: ChainSlug, trader: Address, level: Pick<Protection, 'tradeIndex' | 'kind'>): Promise<Hex | null>;
  /** What changed the size of a position. A second is never cut: `limit` is passed by as many fills as share the last one's time. */
  fills(chain: ChainSlug, trader: Address, window: FillWindow, units: SizeUnits): Promise<SeenFill[]>;
  /** The newest fills of a market, newest first, of every trader whom the chain was followed for. */
  tape(chain: ChainSlug, pairIndex: number, limit: number, units: SizeUnits): Promise<TapeFill[]>;
  /** The time of the first fill of these orders; null where none has one. */
  firstFillAt(chain: ChainSlug, trader: Address, orderIds: readonly bigint[]): Promise<number | null>;
  /** The time of a fill of the trader by its number; null where there is none. */
  fillAt(chain: ChainSlug, trader: Address, id: bigint): Promise<number | null>;
  /** Per day and collateral since a moment; only the newest fills are looked at. */
  totals(chain: ChainSlug, trader: Address, since: number): Promise<DayTotal[]>;
  /** Whether any order or position of the trader is known. */
  isKnown(chain: ChainSlug, trader: Address): Promise<boolean>;
}

/** As far back as fills are counted and looked through. */
export const NEWEST_FILLS = 10_000;
