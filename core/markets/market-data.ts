import { decimal, round, type Decimal } from '../domain/decimal.js';
import { symbolOf, type MarketConfig, type MarketTrade, type Pair, type PricePoint, type TradeAction } from '../domain/market.js';
import type { Venue } from '../gateway.js';
import { activeCollaterals, directoryOf, pairOf, referenceCollateral } from './directory.js';
import { marketView, STANDARD_TERMS, type MarketView, type Moment } from '../domain/pricing/market-view.js';
import { BOOK_PRICE_SCALE, virtualBook, type BookLevel as PricedLevel, type VirtualBook } from '../domain/pricing/order-book.js';
import { PRICE_PRECISION } from './list-markets.js';

export interface Price {
  market: string;
  mark: Decimal;
  index: Decimal;
  updatedAt: number;
}

export const PRICE_SCALE = 10;

/** Last known prices, including closed markets, optionally of some pairs only; markets without a price are left out. */
export function listPrices(venue: Venue, only: ReadonlySet<number> | null = null): Price[] {
  const prices = venue.feed.prices();
  return directoryOf(venue.feed.config()).pairs.flatMap((pair) => {
    const point = only === null || only.has(pair.index) ? prices.get(pair.index) : undefined;
    if (!point) return [];
    return [
      { market: symbolOf(pair), mark: decimal(point.mark, PRICE_SCALE), index: decimal(point.index, PRICE_SCALE), updatedAt: point.at },
    ];
  });
}

export interface BookLevel {
  price: Decimal;
  size: Decimal;
  sizeUsd: Decimal;
  cumulativeUsd: Decimal;
}

export interface OrderBook {
  market: string;
  markPrice: Decimal;
  bids: BookLevel[];
  asks: BookLevel[];
  timestamp: number;
}

export const BOOK_LEVELS = { least: 1, most: 30, usual: 20 } as const;

const USD_SCALE = 18;
const EMPTY: VirtualBook = { asks: [], bids: [] };

/**
 * A virtual book of what the contract would fill now, derived from its depth bands, spread and skew in the reference collateral; there are no
 * resting orders in it. Prices have the precision of orders and are rounded away from the mid price, so that the USD-weighted average up to a
 * level is the contract's execution price, or worse by the last digit.
 */
export function getOrderBook(venue: Venue, symbol: string, levels: number = BOOK_LEVELS.usual): OrderBook {
  const config = venue.feed.config();
  const pair = pairOf(config, symbol);
  const point = venue.feed.price(pair.index);
  const { asks, bids } = bookOf(config, pair, point, momentOf(venue));
  return {
    market: symbolOf(pair),
    markPrice: decimal(point.mark, PRICE_SCALE),
    bids: bids.slice(0, levels).map((level) => describe(level, 'floor')),
    asks: asks.slice(0, levels).map((level) => describe(level, 'ceil')),
    timestamp: point.at,
  };
}

const describe = ({ price, base, usd, cumulativeUsd }: PricedLevel, rounding: 'floor' | 'ceil'): BookLevel => ({
  price: round(decimal(price, BOOK_PRICE_SCALE), PRICE_PRECISION, rounding),
  size: decimal(base, USD_SCALE),
  sizeUsd: decimal(usd, USD_SCALE),
  cumulativeUsd: decimal(cumulativeUsd, USD_SCALE),
});

/** Uses the later of block time and clock, because the contract counts volume by block time, which may be ahead. */
export function momentOf({ clock, state }: Pick<Venue, 'clock' | 'state'>): Moment {
  const now = BigInt(Math.floor(clock.now() / 1000));
  const head = state.head?.block;
  return { timestamp: head && head.timestamp > now ? head.timestamp : now, block: head?.number ?? 0n };
}

interface Made {
  readonly oracle: bigint;
  readonly window: bigint;
  readonly book: VirtualBook;
}

/** Cache by config snapshot and pair: a book changes with the parameters, the price and the volume window. */
const made = new WeakMap<MarketConfig, Map<number, Made>>();

function bookOf(config: MarketConfig, pair: Pair, { oracle }: PricePoint, moment: Moment): VirtualBook {
  const books = made.get(config) ?? new Map<number, Made>();
  made.set(config, books);
  const window = (moment.timestamp - config.oiWindows.startTs) / config.oiWindows.windowsDuration;
  const known = books.get(pair.index);
  if (known?.oracle === oracle && known.window === window) return known.book;
  const market = viewOf(config, pair);
  const book = market ? virtualBook({ market, terms: STANDARD_TERMS, moment, oraclePrice: oracle }) : EMPTY;
  books.set(pair.index, { oracle, window, book });
  return book;
}

/** In the reference collateral, or in the first active one that has the pair; null where none has it. */
function viewOf(config: MarketConfig, pair: Pair): MarketView | null {
  for (const collateral of [referenceCollateral(config), ...activeCollaterals(config)]) {
    const view = collateral && marketView(config, { pairIndex: pair.index, collateralIndex: collateral.index });
    if (view) return view;
  }
  return null;
}

export interface ShownTrade {
  market: string;
  price: Decimal;
  sizeUsd: Decimal;
  side: 'long' | 'short';
  action: TradeAction;
  timestamp: number;
  txHash: string;
}

const USUAL_LIMIT = 100;

/** Newest first; may be fewer than `limit`. */
export async function getRecentTrades({ feed }: Venue, symbol: string, limit: number = USUAL_LIMIT): Promise<ShownTrade[]> {
  const pair = pairOf(feed.config(), symbol);
  const trades = await feed.recentTrades({ pairIndex: pair.index, limit });
  return trades.map((trade) => describeTrade(symbolOf(pair), trade));
}

export const describeTrade = (market: string, { price, sizeUsd, side, action, at, txHash }: MarketTrade): ShownTrade => ({
  market,
  price: decimal(price, PRICE_SCALE),
  sizeUsd: decimal(sizeUsd, USD_SCALE),
  side,
  action,
  timestamp: at,
  txHash,
});
