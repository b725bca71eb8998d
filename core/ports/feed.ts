import type { ChainSlug } from '../chains/chains.js';
import type { Candle, CandleInterval } from '../domain/candle.js';
import type { MarketConfig, MarketTrade, PricePoint, Session } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Cancel } from '../types.js';

/** The port to the source of markets and prices. */

export const FEED_PARTS = ['config', 'price', 'events', 'history'] as const;
export type FeedPart = (typeof FEED_PARTS)[number];
export const FEED_STATES = ['ok', 'stale', 'down', 'absent'] as const;
export type FeedState = (typeof FEED_STATES)[number];

export interface FeedStatus {
  readonly ready: boolean;
  /** The source of the configuration in use; null when every source is stale. */
  readonly configFrom: 'backend' | 'chain' | null;
  readonly parts: Readonly<Record<FeedPart, { readonly state: FeedState; readonly ageMs: number | null; readonly lastError?: string }>>;
}

export interface FeedEvents {
  /** Pair indices whose price changed. */
  price: readonly number[];
  config: MarketConfig;
  status: FeedStatus;
  /** Published once each, as they happen. */
  trade: MarketTrade;
}

/** Candles as upstream charts them. */
export interface Charts {
  /** Ascending; gaps are not filled. */
  readonly candles: readonly Candle[];
  /** Epoch ms: later events are not included; Infinity when every candle has ended. */
  readonly knownUntil: number;
}

export interface MarketFeed {
  readonly chain: ChainSlug;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Never throws. */
  status(): FeedStatus;
  /** Throws NOT_READY before the first snapshot. */
  config(): MarketConfig;
  /** Throws NOT_READY when the pair has no price, or a stale one while its market is open. */
  price(pairIndex: number): PricePoint;
  /** Last known prices, stale ones included. */
  prices(): ReadonlyMap<number, PricePoint>;
  lastPrice(pairIndex: number): PricePoint | null;
  session(pairIndex: number, at: number): Session;
  /** Candles that open in [from, to), both multiples of the interval. Throws UPSTREAM_UNAVAILABLE. */
  candles(query: {
    readonly pairIndex: number;
    readonly interval: CandleInterval;
    readonly from: number;
    readonly to: number;
  }): Promise<Charts>;
  /** Executions of the last day, newest first. Throws UPSTREAM_UNAVAILABLE. */
  recentTrades(query: { readonly pairIndex: number; readonly limit: number }): Promise<readonly MarketTrade[]>;
  on<Kind extends keyof FeedEvents>(kind: Kind, listener: (event: FeedEvents[Kind]) => void): Cancel;
}

/** Null where the pair has no price, or a stale one while its market is open. */
export function livePrice(feed: Pick<MarketFeed, 'price'>, pairIndex: number): PricePoint | null {
  try {
    return feed.price(pairIndex);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
