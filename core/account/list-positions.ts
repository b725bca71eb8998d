import { decimal, type Decimal } from '../domain/decimal.js';
import { figuresOf } from '../domain/interpret-executions.js';
import type { MarketConfig, PricePoint } from '../domain/market.js';
import { liquidationPrice } from '../domain/pricing/liquidation.js';
import { marketView, type MarketView } from '../domain/pricing/market-view.js';
import { pnlPercentP, rawPnl } from '../domain/pricing/pnl.js';
import { markIn } from '../domain/pricing/skew-impact.js';
import { HUNDRED_PERCENT } from '../domain/pricing/units.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, BlockHead } from '../ports.js';
import type { OpenTrade, OpenTrades } from './account-chain.js';
import type { ListedPosition } from './account-store.js';
import { LEVERAGE_SCALE, collateralOf, marketName, priceOf, tradeSize } from './describe-order.js';
import { tradePricing } from './trade-pricing.js';

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
  liquidationPrice: Decimal;
  unrealizedPnl: Decimal;
  unrealizedPnlPercent: Decimal;
  fundingFee: Decimal;
  borrowingFee: Decimal;
  sl: Decimal;
  tp: Decimal;
  openedAtBlock: number;
  marginMode: 'isolated';
}

/** A position as the chain held it at one block: what is needed to price it again without asking anybody. */
export interface HeldPosition {
  readonly own: OpenTrade;
  readonly place: PositionPlace;
}

/** The chain decides what is open; our own rows only give ids and spare a round trip. */
export async function readPositions(gateway: Gateway, venue: Venue, trader: Address): Promise<HeldPosition[]> {
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
  /** At which the chain was asked. */
  readonly block: BlockHead;
  readonly id: bigint;
  readonly trader: Address;
  /** undefined = before our memory; then the last block that changed it stands in. */
  readonly openedAtBlock: number | undefined;
}

/** A trade of the chain as people read it, at the price of this moment. */
export function positionOf(venue: Venue, own: OpenTrade, { block, id, trader, openedAtBlock }: PositionPlace): Position {
  return {
    ...describePosition(venue.feed.config(), own, { block, price: livePrice(venue, own.trade.pairIndex) }),
    id: id.toString(),
    trader,
    openedAtBlock: openedAtBlock ?? own.info.createdBlock,
  };
}

/** All open trades at the newest block; what we know already spares a round trip. */
export async function readOpenTrades(venue: Venue, trader: Address, known: readonly ListedPosition[]): Promise<OpenTrades> {
  const head = venue.state.head?.block;
  if (!head) throw new GatewayError('NOT_READY', { reason: 'the node has not been asked yet' });
  const guesses = known.map(({ tradeIndex, position }) => ({ index: tradeIndex, ...guessOf(position) }));
  try {
    return await venue.chain.openTrades({
      trader,
      block: head,
      guesses,
      priceOf: (pairIndex) => lastPrice(venue, pairIndex)?.oracle ?? 0n,
    });
  } catch (error) {
    throw error instanceof GatewayError ? error : new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' }, { cause: error });
  }
}

const guessOf = ({ pairIndex, collateralIndex, long, collateralAmount, leverage }: ListedPosition['position']) => ({
  pairIndex,
  collateralIndex,
  long,
  collateralAmount,
  leverage,
});

/** Stale ones included: an old price is better than none, and the market's own read says how old it is. */
const lastPrice = ({ feed }: Venue, pairIndex: number): PricePoint | undefined => feed.prices().get(pairIndex);

export function livePrice(venue: Venue, pairIndex: number): PricePoint {
  const price = lastPrice(venue, pairIndex);
  if (!price)
    throw new GatewayError('NOT_READY', { reason: 'there never was a price', market: marketName(venue.feed.config(), pairIndex) });
  return price;
}

export interface PriceMoment {
  readonly block: BlockHead;
  readonly price: PricePoint;
}

export interface PositionMoney {
  /** Collateral units; positive costs the trader. */
  readonly funding: bigint;
  readonly borrowing: bigint;
  readonly unrealized: bigint;
  /** 1e10. */
  readonly liquidation: bigint;
  /** 1e10; with the skew of the trade's own collateral at the block. */
  readonly mark: bigint;
}

/** As the contract reckons at this block: fees and liquidation at the oracle's price, profit at the mark. */
export function positionMoney(view: MarketView, own: OpenTrade, { block, price }: PriceMoment): PositionMoney {
  const { market, trade, account, held } = tradePricing(view, own, { block, oraclePrice: price.oracle });
  const mark = markIn(market.state, price);
  const gross = rawPnl(trade.collateralAmount, pnlPercentP({ ...trade, price: mark }));
  return {
    mark,
    funding: held.funding,
    borrowing: held.borrowing + own.borrowingV1,
    unrealized: gross - account.holdingFees + account.realizedPnl,
    // The trader's own spread is in the pair's already.
    liquidation: liquidationPrice({ market, terms: { fixedSpreadP: 0n }, ...trade, params: own.liquidation, account }),
  };
}

function describePosition(config: MarketConfig, own: OpenTrade, moment: PriceMoment): Omit<Position, 'id' | 'trader' | 'openedAtBlock'> {
  const { trade } = own;
  const view = marketView(config, trade);
  const collateral = collateralOf(config, trade.collateralIndex);
  if (!view || !collateral)
    throw new GatewayError('NOT_READY', { reason: 'the market is not described yet', market: marketName(config, trade.pairIndex) });
  const money = positionMoney(view, own, moment);
  const amount = (units: bigint): Decimal => decimal(units, collateral.decimals);
  return {
    market: marketName(config, trade.pairIndex),
    pairIndex: trade.pairIndex,
    side: trade.long ? 'long' : 'short',
    size: tradeSize(figuresOf(trade), { precision: collateral.precision, priceUsd: own.pair.collateralPriceUsd }),
    collateral: amount(trade.collateralAmount),
    collateralSymbol: collateral.symbol,
    leverage: decimal(BigInt(trade.leverage), LEVERAGE_SCALE),
    entryPrice: priceOf(trade.openPrice),
    markPrice: priceOf(money.mark),
    liquidationPrice: priceOf(money.liquidation),
    unrealizedPnl: amount(money.unrealized),
    unrealizedPnlPercent: decimal((money.unrealized * HUNDRED_PERCENT) / trade.collateralAmount, 10),
    fundingFee: amount(money.funding),
    borrowingFee: amount(money.borrowing),
    sl: priceOf(trade.sl),
    tp: priceOf(trade.tp),
    marginMode: 'isolated',
  };
}
