import type { ChainSlug } from '../../chains/chains.js';
import type { ExchangeOrder, Leg } from '../../domain/relay/exchange-order.js';
import type { PositionState } from '../../domain/position.js';
import type { LeverageSetting } from './leverage.js';
import type { Address } from '../../types.js';

/** What the bot wrote, letter by letter, for whoever shows the order again. */
export interface WireTerms {
  readonly limitPx: string;
  readonly sz: string;
  readonly tif: string | null;
  readonly triggerPx: string | null;
  readonly isMarket: boolean | null;
  readonly tpsl: 'tp' | 'sl' | null;
  /** How it was grouped with others of its action; absent in orders that were stored before it was kept. */
  readonly grouping?: Grouping | undefined;
}

export type Grouping = 'na' | 'normalTpsl' | 'positionTpsl';

export interface ExchangeLeg {
  readonly role: Leg['role'];
  /** The order of ours it became; null for a protection, which is none. */
  readonly orderId: bigint | null;
  readonly tradeIndex: number | null;
  /** 1e18. */
  readonly sizeBase: bigint;
}

/** An order of a bot and what became of it. */
export interface ExchangeRecord {
  readonly chain: ChainSlug;
  /** The id of its first order of ours, or of its protection. */
  readonly oid: bigint;
  readonly trader: Address;
  readonly agent: Address;
  /** The signed action it came with, and its place in it. */
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
   * `resting`: the bot was answered before the outcome was known, so that the order is listed until it is. `ended`: an order that missed
   * its price could not be left to rest. Absent until then.
   */
  readonly answered?: Answered;
  /** Of a take profit or stop loss that came with an opening: the order of ours that opens what it protects. */
  readonly parentOrder?: bigint | null;
}

/** A take profit or stop loss that comes with an opening, before it has a number. */
export interface ChildRecord extends Omit<ExchangeRecord, 'oid' | 'legs'> {
  readonly parentOrder: bigint;
  /** 1e18: what its parent opens. */
  readonly sizeBase: bigint;
}

export type Answered = 'resting' | 'ended';

export interface ScheduledCancel {
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly agent: Address;
  readonly action: bigint;
  /** When it came due, however often it was taken since. */
  readonly dueAt: number;
}

export interface HeldPosition {
  readonly tradeIndex: number;
  readonly position: PositionState;
  /** What its order asked for (base units, 1e18) and got (the contract's tokens); null where it did not come through the facade. */
  readonly opening: { readonly askedBase: bigint; readonly sizeToken: bigint } | null;
}

/** What the translation of a trader's orders stands on. */
export interface TraderFacts {
  /** The database's time. */
  readonly askedAt: number;
  readonly positions: readonly HeldPosition[];
  /** Trades that an order is about which is prepared or waits for the oracle. */
  readonly busy: ReadonlySet<number>;
  readonly leverage: ReadonlyMap<number, LeverageSetting>;
}

export interface ExchangeStore {
  /** One question, however many orders rest. */
  facts(chain: ChainSlug, trader: Address): Promise<TraderFacts>;
  /** Those of these names that an order bears which still lives. */
  liveCloids(chain: ChainSlug, trader: Address, cloids: readonly string[]): Promise<ReadonlySet<string>>;
  /** A second record of the same oid changes nothing. */
  record(record: ExchangeRecord): Promise<void>;
  /** The bot's order goes on with these legs: it missed its price, and rests at it under the same number. */
  extend(record: Pick<ExchangeRecord, 'chain' | 'oid' | 'manner' | 'legs'>): Promise<void>;
  /** Notes what the bot was answered, and writes its orders to the journal once more, so that every replica looks at them again. */
  answer(chain: ChainSlug, oid: bigint, answered: Answered, at: number): Promise<void>;
  /** Each gets a number of its own. */
  recordChildren(children: readonly ChildRecord[]): Promise<bigint[]>;
  find(chain: ChainSlug, trader: Address, oid: bigint): Promise<ExchangeRecord | null>;
  /** By their own ids; what has no record is absent. */
  ofOids(chain: ChainSlug, trader: Address, oids: readonly bigint[]): Promise<ReadonlyMap<bigint, ExchangeRecord>>;
  /** The newest of that name. */
  findByCloid(chain: ChainSlug, trader: Address, cloid: string): Promise<ExchangeRecord | null>;
  /** The last few of that name, newest first. */
  ofCloid(chain: ChainSlug, trader: Address, cloid: string): Promise<ExchangeRecord[]>;
  /** Take profits and stop losses of bots, newest first. */
  levels(chain: ChainSlug, trader: Address, limit: number): Promise<ExchangeRecord[]>;
  /** By the ids of our orders; those that came another way are absent. */
  ofOrders(chain: ChainSlug, orderIds: readonly bigint[]): Promise<ReadonlyMap<bigint, ExchangeRecord>>;
  /** Levels of positions that are on their way: what sets them is not over, or in a block whose events are not in. */
  awaited(chain: ChainSlug, trader: Address): Promise<ExchangeRecord[]>;
  /** Whether a change of the order that rests in this place is on its way. */
  isAmended(chain: ChainSlug, trader: Address, tradeIndex: number): Promise<boolean>;
  /** Those of these trades that an order placed by then has opened. */
  orderedBefore(chain: ChainSlug, trader: Address, tradeIndices: readonly number[], at: number): Promise<number[]>;
  /** null unsets it. False, with nothing stored, when the agent was removed meanwhile. */
  schedule(cancel: Omit<ScheduledCancel, 'dueAt'> & { readonly dueAt: number | null }): Promise<boolean>;
  /** Takes what is due, each by one of those who ask. Whoever does not say `fired` in time, perhaps because he died, leaves it to be taken again. */
  takeDue(chain: ChainSlug, now: number, againAt: number): Promise<ScheduledCancel[]>;
  /** It could not be begun: it is due again then, unless another was set meanwhile. */
  putBack(cancel: Pick<ScheduledCancel, 'chain' | 'trader' | 'action'>, dueAt: number): Promise<void>;
  /** It is done; a schedule that was set meanwhile stays. */
  fired(cancel: Pick<ScheduledCancel, 'chain' | 'trader' | 'action'>): Promise<void>;
}
