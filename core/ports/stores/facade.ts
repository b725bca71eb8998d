import type { HistoryStore } from './history.js';
import type { LeverageStore } from './exchange.js';
import type { TriggerStore } from './triggers.js';
import type { ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';

/** Stores used only by the facade. */
export interface FacadeStore {
  readonly assets: AssetStore;
  readonly leverage: LeverageStore;
  readonly triggers: TriggerStore;
  readonly history: HistoryStore;
  readonly funding: FundingStore;
}

/** Units of a market for clients that read them once; they stay fixed although prices move by orders of magnitude. */
export interface AssetUnits {
  readonly pairIndex: number;
  /** Symbol of the pair when it was listed: a pair index reused by another pair is another asset. */
  readonly symbol: string;
  readonly szDecimals: number;
  /** Base units that one unit of the asset stands for: 1, or 1000 where the price would have no digits left. */
  readonly multiplier: number;
}

export interface AssetStore {
  /** Units that are already fixed. */
  all(chain: ChainSlug): Promise<AssetUnits[]>;
  /** Fixes units that are not fixed yet; later callers get the units fixed first. */
  fix(chain: ChainSlug, units: readonly AssetUnits[]): Promise<AssetUnits[]>;
}

/** The hourly rate longs pay, as of the start of the hour. */
export interface FundingHour {
  readonly pairIndex: number;
  /** Epoch ms at which the hour began. */
  readonly time: number;
  /** 1e20 of one: 1e18 percent. */
  readonly rate: bigint;
  /** 1e10 of one: how far the mark was above the oracle price. */
  readonly premium: bigint;
}

export interface FundingStore {
  /** The first record of an hour wins. */
  record(chain: ChainSlug, hours: readonly FundingHour[]): Promise<void>;
  /** Oldest first, both ends included. */
  between(chain: ChainSlug, pairIndex: number, from: number, to: number, limit: number): Promise<FundingHour[]>;
}

/**
 * Closing slippage still to be set for the TP/SL of a bot's order: the contract gives every new trade its own small closing slippage, and
 * the trade index is not known before the order is executed.
 */
export interface OwedClosingSlippage {
  readonly id: bigint;
  readonly chain: ChainSlug;
  readonly trader: Address;
  readonly agent: Address;
  /** The signed action that requests it, the index in it, and the bot's order. */
  readonly action: bigint;
  readonly item: number;
  readonly oid: bigint;
  /** The opening whose trade it is for; null where the trade index is known. */
  readonly orderId: bigint | null;
  readonly tradeIndex: number | null;
  /** 1e3 percent. */
  readonly closingSlippageP: bigint;
  /** How often it was sent. */
  readonly tries: number;
}

export interface ClosingSlippageStore {
  /** Claims due entries whose opening is final, each by one caller; after a crash they become due again. */
  takeDue(chain: ChainSlug, now: number, againAt: number): Promise<OwedClosingSlippage[]>;
  /** Stores that it was sent; it is checked again at `againAt`. */
  tried(chain: ChainSlug, id: bigint, againAt: number): Promise<void>;
  settle(chain: ChainSlug, id: bigint): Promise<void>;
}
