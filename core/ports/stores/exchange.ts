import type { ChainSlug } from '../../chains/chains.js';
import type { ExchangeOrder, Leg } from '../../domain/relay/exchange-order.js';
import type { PositionState } from '../../domain/position.js';
import type { WantedTrigger } from './triggers.js';
import type { Address } from '../../types.js';

/** The bot's values exactly as sent, to echo them in replies. */
export interface WireTerms {
  readonly limitPx: string;
  readonly sz: string;
  readonly tif: string | null;
  readonly triggerPx: string | null;
  readonly isMarket: boolean | null;
  readonly tpsl: 'tp' | 'sl' | null;
  /** The grouping of its action; absent where a change replaces an order without a record. */
  readonly grouping?: Grouping | undefined;
}

export type Grouping = 'na' | 'normalTpsl' | 'positionTpsl';

export interface ExchangeLeg {
  readonly role: Leg['role'];
  /** The order it became; null for a TP/SL, which is not an order. */
  readonly orderId: bigint | null;
  readonly tradeIndex: number | null;
  /** 1e18. */
  readonly sizeBase: bigint;
}

/** A bot's order and the legs it became. */
export interface ExchangeRecord {
  readonly chain: ChainSlug;
  /** The id of its first order, or of its TP/SL. */
  readonly oid: bigint;
  readonly trader: Address;
  readonly agent: Address;
  /** The signed action it came with, and its index there. */
  readonly action: bigint;
  readonly item: number;
  readonly cloid: string | null;
  readonly pairIndex: number;
  readonly manner: 'market' | 'resting' | 'protection';
  readonly order: ExchangeOrder;
  readonly wire: WireTerms;
  readonly createdAt: number;
  readonly legs: readonly ExchangeLeg[];
  /**
   * `resting`: the bot was answered before the outcome was known, so the order is listed as resting until then. `ended`: an order that
   * missed its price could not be left resting. Absent until then.
   */
  readonly answered?: Answered;
  /** For a TP/SL that came with an opening: the order that opens the position it protects. */
  readonly parentOrder?: bigint | null;
}

/** A TP/SL that comes with an opening, before it has an oid. */
export interface ChildRecord extends Omit<ExchangeRecord, 'oid' | 'legs'> {
  readonly parentOrder: bigint;
  /** 1e18: the size its parent opens. */
  readonly sizeBase: bigint;
  /** The trigger that it sets, at the price at which the contract stores it. */
  readonly trigger: Pick<WantedTrigger, 'kind' | 'price'>;
}

export type Answered = 'resting' | 'ended';

export interface ScheduledCancel {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly agent: Address;
  readonly action: bigint;
  /** When it first came due, however often it was taken since. */
  readonly dueAt: number;
}

export interface PositionWithOpening {
  readonly tradeIndex: number;
  readonly position: PositionState;
  /** Requested size (base units, 1e18) and executed size (the contract's tokens) of its order; null if not placed through the facade. */
  readonly opening: { readonly askedBase: bigint; readonly sizeToken: bigint } | null;
}

/** Stored facts that the translation of a trader's orders depends on. */
export interface TraderFacts {
  /** The database's time. */
  readonly askedAt: number;
  readonly positions: readonly PositionWithOpening[];
  /** Trades with a prepared order or one that waits for the oracle. */
  readonly busy: ReadonlySet<number>;
  readonly leverage: ReadonlyMap<number, LeverageSetting>;
}

export interface ExchangeStore {
  /** One query, however many orders rest. */
  facts(chain: ChainSlug, trader: Address): Promise<TraderFacts>;
  /** Of these cloids, those of live orders. */
  liveCloids(chain: ChainSlug, trader: Address, cloids: readonly string[]): Promise<ReadonlySet<string>>;
  /** A second record of the same oid changes nothing. */
  record(record: ExchangeRecord): Promise<void>;
  /** Stores the answer given to the bot and journals its orders again, so that every replica reloads them. */
  answer(chain: ChainSlug, oid: bigint, answered: Answered, at: number): Promise<void>;
  find(chain: ChainSlug, trader: Address, oid: bigint): Promise<ExchangeRecord | null>;
  /** By oid; oids without a record are absent. */
  ofOids(chain: ChainSlug, trader: Address, oids: readonly bigint[]): Promise<ReadonlyMap<bigint, ExchangeRecord>>;
  /** Those with this cloid: the live ones first, then the newest. */
  ofCloid(chain: ChainSlug, trader: Address, cloid: string, limit: number): Promise<ExchangeRecord[]>;
  /** By the ids of our orders; orders not placed through the facade are absent. */
  ofOrders(chain: ChainSlug, orderIds: readonly bigint[]): Promise<ReadonlyMap<bigint, ExchangeRecord>>;
  /** Whether a change of the order resting at this index is under way. */
  isAmended(chain: ChainSlug, trader: Address, tradeIndex: number): Promise<boolean>;
  /** Of these trades, those opened by an order placed by then. */
  orderedBefore(chain: ChainSlug, trader: Address, tradeIndices: readonly number[], at: number): Promise<number[]>;
  /** Null removes it. False, with nothing stored, when the agent was removed meanwhile. */
  schedule(cancel: Omit<ScheduledCancel, 'dueAt'> & { readonly dueAt: number | null }): Promise<boolean>;
  /** Claims due schedules, each by one caller. A schedule without `fired` by `againAt`, for example after a crash, can be claimed again. */
  takeDue(chain: ChainSlug, now: number, againAt: number): Promise<ScheduledCancel[]>;
  /** Reschedules one that could not start, unless another was set meanwhile. */
  putBack(cancel: Pick<ScheduledCancel, 'chain' | 'trader' | 'action'>, dueAt: number): Promise<void>;
  /** Removes it; a schedule set meanwhile stays. */
  fired(cancel: Pick<ScheduledCancel, 'chain' | 'trader' | 'action'>): Promise<void>;
}

/** A trader's leverage setting for the next opening in a market. */
export interface LeverageSetting {
  readonly leverage: number;
  readonly isCross: boolean;
  /** The signed action that set it; null where a release before set it and kept none. */
  readonly action?: bigint | null;
}

export interface LeverageStore {
  /** By pair index; traders in lower case. */
  of(chain: ChainSlug, trader: Address): Promise<ReadonlyMap<number, LeverageSetting>>;
  set(chain: ChainSlug, trader: Address, pairIndex: number, setting: LeverageSetting): Promise<void>;
}
