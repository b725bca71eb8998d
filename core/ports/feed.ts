import type { ChainSlug } from '../chains/chains.js';
import type { Candle, CandleInterval } from '../domain/candle.js';
import type { MarketConfig, PricePoint, Session } from '../domain/market.js';
import type { MarketTrade } from '../domain/market-trade.js';
import type { Cancel } from '../types.js';

/** The port to whoever knows markets and prices. */

export const FEED_PARTS = ['config', 'price', 'events', 'history'] as const;
export type FeedPart = (typeof FEED_PARTS)[number];
export const FEED_STATES = ['ok', 'stale', 'down', 'absent'] as const;
export type FeedState = (typeof FEED_STATES)[number];

export interface FeedStatus {
  readonly ready: boolean;
  /** Whose configuration is served now; null when nobody has spoken lately enough. */
  readonly configFrom: 'backend' | 'chain' | null;
  readonly parts: Readonly<Record<FeedPart, { readonly state: FeedState; readonly ageMs: number | null; readonly lastError?: string }>>;
}

export interface FeedEvents {
  /** Pair indices whose price changed. */
  price: readonly number[];
  config: MarketConfig;
  status: FeedStatus;
  /** Told once each, as they happen. */
  trade: MarketTrade;
}

/** What upstream's charts say. */
export interface Charts {
  /** Ascending, gaps left as they are. */
  readonly candles: readonly Candle[];
  /** Epoch ms: nothing that happened later is in them; Infinity when all of them had ended. */
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
  /** Throws NOT_READY when the pair has no price or its price is stale while it should move. */
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
