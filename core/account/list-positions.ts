import { decimal, type Decimal } from '../domain/decimal.js';
import { figuresOf } from '../domain/interpret-executions.js';
import { type MarketConfig, type PricePoint, marketName } from '../domain/market.js';
import { liquidationPrice } from '../domain/pricing/liquidation.js';
import { marketView, type MarketView } from '../domain/pricing/market-view.js';
import { pnlPercentP, rawPnl } from '../domain/pricing/fees.js';
import { markIn } from '../domain/pricing/exposure.js';
import { E18, E8, HUNDRED_PERCENT } from '../domain/pricing/units.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, BlockHead } from '../types.js';
import { fromNode } from '../ports/chain.js';
import { livePrice } from '../ports/feed.js';
import type { OpenTrade, OpenTrades, OpenTradesQuery, ReadTrades, Wallet } from '../ports/account-chain.js';
import type { ListedPosition } from '../ports/stores/account.js';
import { LEVERAGE_SCALE, collateralOf, priceOf, tradeSize } from './describe-order.js';
import { completeTrades, structOf } from './complete-trades.js';
import { noticeMissing } from '../indexer/identify.js';
import { tradePricing } from './trade-pricing.js';

export const MARK_SOURCES = ['live', 'last', 'entry'] as const;
/** The source of a mark: a live price, the last known price, or the entry price if there never was one. */
export type MarkSource = (typeof MARK_SOURCES)[number];

export interface Position {
  id: string;
  trader: Address;
  market: string;
  pairIndex: number;
  side: 'long' | 'short';
  size: Decimal;
  collateral: Decimal;
  collateralSymbol: string;
  leverage: Decimal;
  entryPrice: Decimal;
  markPrice: Decimal;
  markSource: MarkSource;
  liquidationPrice: Decimal;
  unrealizedPnl: Decimal;
  unrealizedPnlPercent: Decimal;
  /** From closed parts and withdrawn profit. */
  realizedPnl: Decimal;
  fundingFee: Decimal;
  borrowingFee: Decimal;
  sl: Decimal;
  tp: Decimal;
  openedAtBlock: number;
  marginMode: 'isolated';
}

/** A position read at one block, with everything needed to price it again without a chain read. */
export interface PositionAtBlock {
  readonly own: OpenTrade;
  readonly place: PositionPlace;
}

/** The chain decides which positions are open; stored rows only give ids and save a round trip. */
export async function readPositions(gateway: Gateway, venue: Venue, trader: Address): Promise<PositionAtBlock[]> {
  const { slug } = venue.definition;
  const known = await gateway.store.account.openPositions(slug, trader);
  const { trades: open, block } = await readOpenTrades(venue, trader, known);
  const ids = await gateway.store.account.positionIds(
    slug,
    trader,
    open.map(({ trade }) => trade.index),
  );
  const opened = new Map(known.map(({ tradeIndex, position }) => [tradeIndex, Number(position.openedBlock)]));
  return open.map((own) => ({
    own,
    place: { block, id: ids.get(own.trade.index) ?? 0n, trader, openedAtBlock: opened.get(own.trade.index) },
  }));
}

export async function listPositions(gateway: Gateway, venue: Venue, trader: Address): Promise<Position[]> {
  const held = await readPositions(gateway, venue, trader);
  return held.map(({ own, place }) => positionOf(venue, own, place));
}

export interface PositionPlace {
  /** The block that was read. */
  readonly block: BlockHead;
  readonly id: bigint;
  readonly trader: Address;
  /** undefined = before the start block; then `createdBlock` of the contract is used. */
  readonly openedAtBlock: number | undefined;
}

/**
 * A trade of the chain in API format, at the current price. It is always returned, because clients treat a missing position as closed; figures
 * that need missing market parameters or prices are zero.
 */
export function positionOf(venue: Venue, own: OpenTrade, { block, id, trader, openedAtBlock }: PositionPlace): Position {
  const price = lastPrice(venue, own.trade.pairIndex) ?? null;
  const markSource = price === null ? 'entry' : livePrice(venue.feed, own.trade.pairIndex) !== null ? 'live' : 'last';
  return {
    ...describePosition(venue, own, { block, price, markSource }),
    id: id.toString(),
    trader,
    openedAtBlock: openedAtBlock ?? own.info.createdBlock,
  };
}

/** All open trades at the newest block; stored positions save a round trip. */
export async function readOpenTrades(venue: Venue, trader: Address, known: readonly ListedPosition[]): Promise<OpenTrades> {
  const read = await fromNode(venue.chain.openTrades(openTradesQuery(venue, trader, { block: newestBlock(venue), known })));
  return wholeTrades(venue, trader, { read, known });
}

/** The trades with what the contract does not answer any more. */
export function wholeTrades(
  venue: Venue,
  trader: Address,
  { read, known }: { readonly read: ReadTrades; readonly known: readonly ListedPosition[] },
): OpenTrades {
  noticeMissing(venue, read);
  return completeTrades(venue, trader, read, known);
}

/** Of these orders alone; refused where the contract does not say, because clients take a part that is missing for a loss. */
export function heldInOrders(venue: Venue, { inOrders, isListed }: Pick<Wallet, 'inOrders' | 'isListed'>): ReadonlyMap<number, bigint> {
  noticeMissing(venue, { isListed, trades: [] });
  if (inOrders !== null) return inOrders;
  const reason =
    'the contracts do not say what a trader’s orders hold: they serve neither the list of them (getTrades, getPendingOrders) nor each';
  throw new GatewayError('NOT_READY', { reason });
}

export const openTradesQuery = (
  venue: Venue,
  trader: Address,
  { block, known }: { readonly block: BlockHead; readonly known: readonly ListedPosition[] },
): OpenTradesQuery => ({
  trader,
  block,
  guesses: known.map(({ tradeIndex, position }) => ({ index: tradeIndex, ...guessOf(position) })),
  expected: known.map((listed) => structOf(trader, listed)),
  priceOf: (pairIndex) => lastPrice(venue, pairIndex)?.oracle ?? 0n,
});

/** The block at which an account is read. */
export function newestBlock({ state }: Venue): BlockHead {
  if (state.head === null) throw new GatewayError('NOT_READY', { reason: 'the node has not been asked yet' });
  return state.head.block;
}

const guessOf = ({ pairIndex, collateralIndex, long, collateralAmount, leverage }: ListedPosition['position']) => ({
  pairIndex,
  collateralIndex,
  long,
  collateralAmount,
  leverage,
});

/** Includes stale prices; the market's price endpoint shows their age. */
const lastPrice = ({ feed }: Venue, pairIndex: number): PricePoint | undefined => feed.prices().get(pairIndex);

/** Of a closed market the last one. */
export function requireLastPrice(venue: Venue, pairIndex: number): PricePoint {
  const price = lastPrice(venue, pairIndex);
  if (!price)
    throw new GatewayError('NOT_READY', { reason: 'there never was a price', market: marketName(venue.feed.config(), pairIndex) });
  return price;
}

export interface PriceMoment {
  readonly block: BlockHead;
  readonly price: PricePoint;
}

/** The collateral units of a trade, from the feed or else from the contract. */
export interface TradeUnits {
  readonly symbol: string;
  readonly decimals: number;
  readonly precision: bigint;
  readonly precisionDelta: bigint;
  /** 1e8, at the block. */
  readonly priceUsd: bigint;
}

export function unitsOf(config: MarketConfig, { trade, pair, collateral }: OpenTrade): TradeUnits {
  const listed = collateralOf(config, trade.collateralIndex);
  const precision = listed?.precision ?? collateral?.precision ?? E18;
  return {
    symbol: listed?.symbol ?? `#${trade.collateralIndex}`,
    decimals: precision.toString().length - 1,
    precision,
    precisionDelta: listed?.precisionDelta ?? collateral?.precisionDelta ?? 1n,
    priceUsd: [pair.collateralPriceUsd, listed?.priceUsd].find((price) => price !== undefined && price > 0n) ?? E8,
  };
}

export interface PositionMoney {
  /** Collateral units; positive costs the trader. */
  readonly funding: bigint;
  readonly borrowing: bigint;
  readonly unrealized: bigint;
  /** Profit by price alone, without fees. */
  readonly gross: bigint;
  /** 1e10. */
  readonly liquidation: bigint;
  /** 1e10; with the skew of the trade's own collateral at the block. */
  readonly mark: bigint;
}

/** Computed as the contract does at this block: fees and liquidation at the oracle's price, profit at the mark. */
export function positionMoney(view: MarketView, own: OpenTrade, { block, price }: PriceMoment): PositionMoney {
  const { market, trade, account, held } = tradePricing(view, own, { block, oraclePrice: price.oracle });
  const mark = markIn(market.state, price);
  const gross = rawPnl(trade.collateralAmount, pnlPercentP({ ...trade, price: mark }));
  return {
    mark,
    funding: held.funding,
    borrowing: held.borrowing + own.borrowingV1,
    gross,
    unrealized: gross - account.holdingFees + account.realizedPnl,
    // The trader's own spread is already part of the pair's.
    liquidation: liquidationPrice({ market, terms: { fixedSpreadP: 0n }, ...trade, params: own.liquidation, account }),
  };
}

/** `price` is null if there never was one. */
type AnyPriceMoment = Omit<PriceMoment, 'price'> & { readonly price: PricePoint | null };

/** The money of any trade; without market parameters or after a pricing error, only from the trade's own figures and the price. */
export function moneyOf({ feed, log }: Pick<Venue, 'feed' | 'log'>, own: OpenTrade, { block, price }: AnyPriceMoment): PositionMoney {
  if (own.lacks !== null)
    throw new GatewayError('NOT_READY', {
      reason: `the contracts do not serve ${own.lacks}, without which the liquidation price of trade ${own.trade.index} would be false`,
    });
  const view = marketView(feed.config(), own.trade);
  if (price === null || view === null) return bareMoney(own, price);
  try {
    return positionMoney(view, own, { block, price });
  } catch (error) {
    log.warn('account.position-not-priced', { pairIndex: own.trade.pairIndex, collateralIndex: own.trade.collateralIndex, error });
    return bareMoney(own, price);
  }
}

function bareMoney({ trade, fees, borrowingV1 }: OpenTrade, price: PricePoint | null): PositionMoney {
  const nothing = { funding: 0n, borrowing: borrowingV1, liquidation: 0n };
  if (price === null || trade.openPrice === 0n) return { ...nothing, mark: trade.openPrice, gross: 0n, unrealized: 0n };
  const gross = rawPnl(trade.collateralAmount, pnlPercentP({ ...figuresOf(trade), price: price.mark }));
  const realized = fees.realizedPnlCollateral - fees.realizedTradingFeesCollateral;
  return { ...nothing, mark: price.mark, gross, unrealized: gross - borrowingV1 + realized };
}

function describePosition(
  venue: Venue,
  own: OpenTrade,
  moment: AnyPriceMoment & { readonly markSource: MarkSource },
): Omit<Position, 'id' | 'trader' | 'openedAtBlock'> {
  const { trade } = own;
  const config = venue.feed.config();
  const units = unitsOf(config, own);
  const money = moneyOf(venue, own, moment);
  const amount = (value: bigint): Decimal => decimal(value, units.decimals);
  return {
    market: marketName(config, trade.pairIndex),
    pairIndex: trade.pairIndex,
    side: trade.long ? 'long' : 'short',
    size: tradeSize(figuresOf(trade), units),
    collateral: amount(trade.collateralAmount),
    collateralSymbol: units.symbol,
    leverage: decimal(BigInt(trade.leverage), LEVERAGE_SCALE),
    entryPrice: priceOf(trade.openPrice),
    markPrice: priceOf(money.mark),
    markSource: moment.markSource,
    liquidationPrice: priceOf(money.liquidation),
    unrealizedPnl: amount(money.unrealized),
    unrealizedPnlPercent: decimal((money.unrealized * HUNDRED_PERCENT) / (trade.collateralAmount || 1n), 10),
    realizedPnl: amount(own.takenOut),
    fundingFee: amount(money.funding),
    borrowingFee: amount(money.borrowing),
    sl: priceOf(trade.sl),
    tp: priceOf(trade.tp),
    marginMode: 'isolated',
  };
}
