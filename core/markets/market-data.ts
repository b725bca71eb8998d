import { decimal, multiply, round, type Decimal } from '../domain/decimal.js';
import {
  groupOf,
  maxLeverageOf,
  publicBase,
  symbolOf,
  type Collateral,
  type MarketConfig,
  type MarketGroup,
  type MarketTrade,
  type Pair,
  type PricePoint,
  type TradeAction,
  activeCollaterals,
  directoryOf,
  pairOf,
  referenceCollateral,
} from '../domain/market.js';
import type { Venue } from '../gateway.js';
import { marketView, STANDARD_TERMS, type MarketView, type Moment } from '../domain/pricing/market-view.js';
import { BOOK_PRICE_SCALE, virtualBook, type BookLevel as PricedLevel, type VirtualBook } from '../domain/pricing/order-book.js';
import { minFeeUsd } from '../domain/pricing/fees.js';
import { GatewayError } from '../errors.js';
import { fundingSnapshot, type FundingSnapshot } from './funding.js';

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
function momentOf({ clock, state }: Pick<Venue, 'clock' | 'state'>): Moment {
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

interface Market {
  symbol: string;
  pairIndex: number;
  base: string;
  quote: string;
  group: MarketGroup;
  groupIndex: number;
  feeIndex: number;
  isOpen: boolean;
  minLeverage: Decimal;
  maxLeverage: Decimal;
  minCollateralUsd: Decimal;
  minPositionUsd: Decimal;
  pricePrecision: number;
  sizePrecision: number;
  spreadRate: Decimal;
  fees: { openFeeRate: Decimal; closeFeeRate: Decimal; minPositionSizeUsd: Decimal };
  funding: FundingSnapshot;
  onlyIsolated: true;
  collaterals: { symbol: string; index: number; address: string; decimals: number }[];
}

/** The contract's own resolution: prices are stored with ten decimals. */
const PRICE_PRECISION = 10;
/** Finer sizes are below the token units of every collateral. */
const SIZE_PRECISION = 8;
/** The minimum collateral of an opening is five times the minimum fee. */
const MIN_OPENING_FEES = decimal(5n, 0);

/** Every listed pair; a pair whose group or fee row is unknown is left out. */
export function listMarkets(venue: Venue): Market[] {
  const config = venue.feed.config();
  return directoryOf(config).pairs.flatMap((pair) => describeMarket(venue, config, pair) ?? []);
}

export function getMarket(venue: Venue, symbol: string): Market {
  const config = venue.feed.config();
  const market = describeMarket(venue, config, pairOf(config, symbol));
  if (!market) throw new GatewayError('MARKET_NOT_FOUND', { market: symbol });
  return market;
}

function describeMarket(venue: Venue, config: MarketConfig, pair: Pair): Market | null {
  const group = config.groups[pair.groupIndex];
  const fees = config.fees[pair.feeIndex];
  if (!group || !fees) return null;
  const now = venue.clock.now();
  const feeRate = decimal(fees.totalPositionSizeFeeP, 12);
  const minCollateralUsd = multiply(MIN_OPENING_FEES, decimal(minFeeUsd(fees), 18));
  return {
    symbol: symbolOf(pair),
    pairIndex: pair.index,
    base: publicBase(pair.from),
    quote: pair.to,
    group: groupOf(group.name),
    groupIndex: group.index,
    feeIndex: fees.index,
    isOpen: venue.feed.session(pair.index, now) === 'open',
    minLeverage: decimal(group.minLeverage, 3),
    maxLeverage: decimal(maxLeverageOf(pair, group), 3),
    minCollateralUsd,
    minPositionUsd: multiply(minCollateralUsd, decimal(group.minLeverage, 3)),
    pricePrecision: PRICE_PRECISION,
    sizePrecision: SIZE_PRECISION,
    spreadRate: decimal(pair.spreadP, 12),
    fees: { openFeeRate: feeRate, closeFeeRate: feeRate, minPositionSizeUsd: decimal(fees.minPositionSizeUsd, 3) },
    funding: fundingSnapshot(config, pair.index, venue.feed.lastPrice(pair.index) ?? undefined, now),
    onlyIsolated: true,
    collaterals: activeCollaterals(config).map(describeCollateral),
  };
}

const describeCollateral = ({ symbol, index, address, decimals }: Collateral): Market['collaterals'][number] => ({
  symbol,
  index,
  address,
  decimals,
});
