import { decimal, formatDecimal, type Decimal } from '../domain/decimal.js';
import type { OpenTerms } from '../domain/intent.js';
import { maxLeverageOf, symbolOf, type Collateral, type MarketConfig, type Pair, type PricePoint } from '../domain/market.js';
import type { OrderType } from '../domain/order.js';
import { liquidationThresholdP } from '../domain/pricing/liquidation.js';
import { marketView, type MarketView } from '../domain/pricing/market-view.js';
import { collateralForBaseSize, positionSizeCollateral } from '../domain/pricing/size.js';
import { markIn } from '../domain/pricing/skew-impact.js';
import { clampStopLoss } from '../domain/pricing/stop-loss.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { activeCollaterals, pairOf } from '../markets/directory.js';
import { exactUnits, invalid, LEVERAGE_DECIMALS, priceUnits, SIZE_DECIMALS, slippageUnits, triggerUnits } from './exact-units.js';

/** An order as somebody asks for it. */
export interface OrderRequest {
  /** In its canonical spelling. */
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly type: OrderType;
  /** Base units. */
  readonly size: Decimal;
  readonly leverage?: Decimal | undefined;
  readonly price?: Decimal | undefined;
  readonly collateral?: string | undefined;
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
  readonly reduceOnly: boolean;
  /** Percent. */
  readonly slippage?: Decimal | undefined;
  readonly clientId?: string | undefined;
  /** Named in an opening instead of the venue's own; the zero address = none. */
  readonly referrer?: Address | undefined;
}

/** Where an order belongs. */
export interface OrderMarket {
  readonly config: MarketConfig;
  readonly pair: Pair;
  readonly symbol: string;
  readonly collateral: Collateral;
  readonly view: MarketView;
}

/** An order that opens a position, in the contract's units. */
export interface Opening extends OrderMarket {
  readonly terms: OpenTerms;
  /** 1e18, as asked for. */
  readonly sizeBase: bigint;
  readonly sizeCollateral: bigint;
  readonly isPriceGiven: boolean;
  /** The stop loss that the contract will store; it clamps in silence, so we say it beforehand. */
  readonly storedSl: bigint;
}

/** An opening that was asked for in base units. */
export interface AskedOpening extends Opening {
  /** 1e10; the price that made collateral of the size. */
  readonly sizedAt: bigint;
}

export const DEFAULT_SLIPPAGE = decimal(1n, 0);
export const MAX_COLLATERAL = 2n ** 120n - 1n;

export function orderMarket(venue: Venue, { market, collateral: wanted }: Pick<OrderRequest, 'market' | 'collateral'>): OrderMarket {
  const config = venue.feed.config();
  const pair = pairOf(config, market);
  const collateral = findCollateral(config, pair, wanted);
  const view = marketView(config, { pairIndex: pair.index, collateralIndex: collateral.index });
  if (!view) throw new GatewayError('MARKET_NOT_FOUND', { market });
  return { config, pair, symbol: symbolOf(pair), collateral, view };
}

/** The collateral of an order that names none; undefined where it has to be named, or the market is not known. */
export function usualCollateral(venue: Venue, { market }: Pick<OrderRequest, 'market'>): string | undefined {
  try {
    return orderMarket(venue, { market }).collateral.symbol;
  } catch (error) {
    if (error instanceof GatewayError && error.code !== 'NOT_READY') return undefined;
    throw error;
  }
}

/** USDC where it is listed, otherwise the only one there is. */
function findCollateral(config: MarketConfig, pair: Pair, wanted: string | undefined): Collateral {
  const supported = activeCollaterals(config).filter(({ pairs }) => (pairs[pair.index] ?? null) !== null);
  const symbols = supported.map(({ symbol }) => symbol);
  const found = supported.find(({ symbol }) => symbol.toUpperCase() === (wanted ?? 'USDC').toUpperCase());
  if (found) return found;
  if (wanted !== undefined || supported.length === 0)
    throw new GatewayError('COLLATERAL_NOT_SUPPORTED', { collateral: wanted ?? 'USDC', supported: symbols });
  const [only, ...others] = supported;
  if (!only || others.length > 0) throw invalid('collateral', `is required here: one of ${symbols.join(', ')}`);
  return only;
}

/**
 * Collateral is what the contract takes: size × price ÷ leverage ÷ the collateral's own price, rounded to its nearest token unit, so
 * that the position is as close to the size as the token allows. A market order opens at the mark, whatever price it expects: that one
 * only bounds it.
 */
export function readOpening(venue: Venue, market: OrderMarket, request: OrderRequest): AskedOpening {
  const { pair, collateral, view } = market;
  if (request.leverage === undefined) throw invalid('leverage', 'is required unless reduceOnly');
  const long = request.side === 'long';
  const leverage = requireLeverage(view, exactUnits('leverage', request.leverage, LEVERAGE_DECIMALS));
  const [tp, sl] = [triggerUnits('tp', request.tp), triggerUnits('sl', request.sl)];
  const slippageP = slippageUnits(request.slippage ?? DEFAULT_SLIPPAGE);
  const sizeBase = baseUnits(request.size);
  const { price, sizedAt } = pricesOf(venue, market, request);
  const collateralAmount = collateralForBaseSize({ baseSize: sizeBase, price: sizedAt, leverage, collateral, rounding: 'half-up' });
  if (collateralAmount > MAX_COLLATERAL) throw invalid('size', 'is more than the contracts can hold');
  const place = { pairIndex: pair.index, collateralIndex: collateral.index };
  const referrer = referrerFor(venue, request);
  const figures = { type: request.type, ...place, long, leverage, collateralAmount, price, tp, sl, slippageP };
  const terms: OpenTerms = { ...figures, ...(referrer && { referrer }) };
  return {
    ...market,
    terms,
    sizeBase,
    sizedAt,
    sizeCollateral: positionSizeCollateral(terms),
    isPriceGiven: request.price !== undefined,
    storedSl: storedStopLoss(view, terms),
  };
}

function referrerFor({ referrers }: Venue, { referrer = referrers.native ?? undefined }: OrderRequest): Address | null {
  return referrer === undefined || BigInt(referrer) === 0n ? null : referrer;
}

/** 1e18. */
export function baseUnits(size: Decimal, maxDecimals = SIZE_DECIMALS): bigint {
  if (size.units <= 0n) throw invalid('size', 'must be above 0');
  return exactUnits('size', size, maxDecimals) * 10n ** BigInt(18 - maxDecimals);
}

/**
 * Before any arithmetic with it: nothing is divided by a leverage that is none. A market is disabled by a bound that nothing can meet,
 * which says nothing of the leverage: the group's holds.
 */
function requireLeverage({ pair, group }: MarketView, leverage: bigint): bigint {
  const [min, own] = [group.minLeverage, maxLeverageOf(pair, group)];
  const max = own < min ? group.maxLeverage : own;
  if (leverage >= min && leverage <= max) return leverage;
  const text = (units: bigint): string => formatDecimal(decimal(units, LEVERAGE_DECIMALS));
  throw new GatewayError('LEVERAGE_OUT_OF_RANGE', { leverage: text(leverage), min: text(min), max: text(max) });
}

/** The price a market order expects is the mark in its own collateral unless it says another. */
function pricesOf(
  venue: Venue,
  { pair, view }: OrderMarket,
  { type, price: given }: OrderRequest,
): { readonly price: bigint; readonly sizedAt: bigint } {
  const price = given === undefined ? null : priceUnits('price', given);
  if (type === 'market') {
    const mark = markIn(view.state, currentPrice(venue, pair.index));
    return { price: price ?? mark, sizedAt: mark };
  }
  if (price === null) throw invalid('price', `is required for a ${type} order`);
  return { price, sizedAt: price };
}

/** Of an open market a price that moves; of a shut one the last there was. */
export function currentPrice({ feed, clock }: Venue, pairIndex: number): PricePoint {
  const isOpen = feed.session(pairIndex, clock.now()) === 'open';
  const last = isOpen ? null : feed.lastPrice(pairIndex);
  return last ?? feed.price(pairIndex);
}

/** What becomes of a stop loss when the position opens at the price expected. */
export const storedStopLoss = (
  { pair, fees }: MarketView,
  { sl, price, long, leverage }: Pick<OpenTerms, 'sl' | 'price' | 'long' | 'leverage'>,
): bigint =>
  clampStopLoss({
    sl,
    openPrice: price,
    long,
    leverage,
    feeP: fees.totalPositionSizeFeeP,
    thresholdP: liquidationThresholdP(pair.liquidation, leverage),
  });

/** Absent = as it is; 0 removes an sl or tp. */
export interface OrderChanges {
  readonly price?: Decimal | undefined;
  /** Base units. */
  readonly size?: Decimal | undefined;
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
  readonly slippage?: Decimal | undefined;
}
