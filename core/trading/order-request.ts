import { decimal, formatDecimal, type Decimal, decimalsOf, round, toUnits } from '../domain/decimal.js';
import type { OpenTerms } from '../domain/intent.js';
import {
  maxLeverageOf,
  symbolOf,
  type Collateral,
  type MarketConfig,
  type Pair,
  type PricePoint,
  activeCollaterals,
  pairOf,
} from '../domain/market.js';
import type { OrderType } from '../domain/order.js';
import { liquidationThresholdP } from '../domain/pricing/liquidation.js';
import { marketView, type MarketView } from '../domain/pricing/market-view.js';
import { collateralForBaseSize, positionSizeCollateral } from '../domain/pricing/size.js';
import { markIn } from '../domain/pricing/exposure.js';
import { clampStopLoss } from '../domain/pricing/fees.js';
import { GatewayError } from '../errors.js';
import type { Venue, Gateway } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { MAX_PRICE } from '../domain/pricing/units.js';

/** An order as a client requests it. */
export interface OrderRequest {
  /** Canonical symbol. */
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
  /** Replaces the venue's referrer in an opening; the zero address = none. */
  readonly referrer?: Address | undefined;
}

/** The market and collateral of an order. */
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
  /** 1e18, as requested. */
  readonly sizeBase: bigint;
  readonly sizeCollateral: bigint;
  readonly isPriceGiven: boolean;
  /** The stop loss that the contract will store; it clamps silently, so the answer shows the clamped value. */
  readonly storedSl: bigint;
}

/** An opening requested in base units. */
export interface AskedOpening extends Opening {
  /** 1e10; the price used to convert size to collateral. */
  readonly sizedAt: bigint;
}

const DEFAULT_SLIPPAGE = decimal(1n, 0);
export const MAX_COLLATERAL = 2n ** 120n - 1n;

export function checkCollateral(collateralAmount: bigint): void {
  if (collateralAmount > MAX_COLLATERAL) throw invalid('size', 'is more than the contracts can hold');
}

export function orderMarket(venue: Venue, { market, collateral: wanted }: Pick<OrderRequest, 'market' | 'collateral'>): OrderMarket {
  const config = venue.feed.config();
  const pair = pairOf(config, market);
  const collateral = findCollateral(config, pair, wanted);
  const view = marketView(config, { pairIndex: pair.index, collateralIndex: collateral.index });
  if (!view) throw new GatewayError('MARKET_NOT_FOUND', { market });
  return { config, pair, symbol: symbolOf(pair), collateral, view };
}

/** The default collateral; undefined where it must be named or the market is unknown. */
export function usualCollateral(venue: Venue, { market }: Pick<OrderRequest, 'market'>): string | undefined {
  try {
    return orderMarket(venue, { market }).collateral.symbol;
  } catch (error) {
    if (error instanceof GatewayError && error.code !== 'NOT_READY') return undefined;
    throw error;
  }
}

/** Default: USDC where it is listed, otherwise the only supported one. */
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
 * The contract takes collateral: size × price ÷ leverage ÷ the collateral's price, rounded to the nearest token unit, so that the position is
 * as close to the requested size as the token allows. A market order is sized at the mark; its expected price only bounds the execution.
 */
export function readOpening(venue: Venue, market: OrderMarket, request: OrderRequest): AskedOpening {
  const { pair, collateral, view } = market;
  if (request.leverage === undefined) throw invalid('leverage', 'is required unless reduceOnly');
  const long = request.side === 'long';
  const leverage = requireLeverage(view, exactUnits('leverage', request.leverage, LEVERAGE_DECIMALS));
  const [tp, sl] = [triggerUnits('tp', request.tp), triggerUnits('sl', request.sl)];
  const slippageP = slippageUnits(request.slippage);
  const sizeBase = baseUnits(request.size);
  const { price, sizedAt } = pricesOf(venue, market, request);
  const collateralAmount = collateralForBaseSize({ baseSize: sizeBase, price: sizedAt, leverage, collateral, rounding: 'half-up' });
  checkCollateral(collateralAmount);
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
 * Checked before any arithmetic, because sizes are divided by it. A disabled market has a maximum below the minimum; then the group's
 * maximum applies here.
 */
function requireLeverage({ pair, group }: MarketView, leverage: bigint): bigint {
  const [min, own] = [group.minLeverage, maxLeverageOf(pair, group)];
  const max = own < min ? group.maxLeverage : own;
  if (leverage >= min && leverage <= max) return leverage;
  const text = (units: bigint): string => formatDecimal(decimal(units, LEVERAGE_DECIMALS));
  throw new GatewayError('LEVERAGE_OUT_OF_RANGE', { leverage: text(leverage), min: text(min), max: text(max) });
}

/** 1e10: the expected price, and the one that converts size to collateral. */
interface OpeningPrices {
  readonly price: bigint;
  readonly sizedAt: bigint;
}

function pricesOf(venue: Venue, { view }: OrderMarket, { type, price: given }: OrderRequest): OpeningPrices {
  if (type === 'market') return marketPrices(venue, view, given);
  if (given === undefined) throw invalid('price', `is required for a ${type} order`);
  const price = priceUnits('price', given);
  return { price, sizedAt: price };
}

/** What is bought at the market is sized at the mark in its own collateral, which is also expected where no price is given. */
export function marketPrices(venue: Venue, { pair, state }: MarketView, given: Decimal | undefined): OpeningPrices {
  const mark = markIn(state, currentPrice(venue, pair.index));
  return { price: given === undefined ? mark : priceUnits('price', given), sizedAt: mark };
}

/** The live price of an open market, or the last price of a closed one. */
export function currentPrice({ feed, clock }: Venue, pairIndex: number): PricePoint {
  const isOpen = feed.session(pairIndex, clock.now()) === 'open';
  const last = isOpen ? null : feed.lastPrice(pairIndex);
  return last ?? feed.price(pairIndex);
}

/** The stop loss as the contract clamps it when the position opens at the expected price. */
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

/** Absent = unchanged; 0 removes an sl or tp. */
export interface OrderChanges {
  readonly price?: Decimal | undefined;
  /** Base units. */
  readonly size?: Decimal | undefined;
  readonly sl?: Decimal | undefined;
  readonly tp?: Decimal | undefined;
  readonly slippage?: Decimal | undefined;
}

/** Hash of the normalised request: `1.0` and `1`, `btc-usd` and `BTC/USD`, an explicit and an omitted default are equal. */
export function fingerprintOf(gateway: Gateway, venue: Venue, request: OrderRequest): Hex {
  const usual = usualCollateral(venue, request);
  const isUsual = request.collateral?.toUpperCase() === usual?.toUpperCase();
  return fingerprintWith(gateway, venue, isUsual ? { ...request, collateral: undefined } : request);
}

/** Whether the stored order has the same request. Fingerprints of older orders include an explicitly named default collateral. */
export function isSameRequest(gateway: Gateway, venue: Venue, request: OrderRequest, stored: Hex | null): boolean {
  const asked = fingerprintOf(gateway, venue, request);
  if (stored === asked) return true;
  const usual = usualCollateral(venue, request);
  const isUsual = request.collateral === undefined || request.collateral.toUpperCase() === usual?.toUpperCase();
  return usual !== undefined && isUsual && stored === fingerprintWith(gateway, venue, { ...request, collateral: usual });
}

function fingerprintWith(gateway: Gateway, venue: Venue, request: OrderRequest): Hex {
  const { market, side, type, size, leverage, price, collateral, sl, tp, reduceOnly, slippage, referrer } = request;
  const fields = [
    market,
    side,
    type,
    text(size),
    text(leverage),
    text(price),
    collateral?.toUpperCase() ?? null,
    text(sl),
    text(tp),
    reduceOnly,
    text(slippage ?? (reduceOnly ? undefined : DEFAULT_SLIPPAGE)),
    // Added only when named, so that fingerprints from before referrers existed stay valid.
    ...(referrer === undefined || referrer === venue.referrers.native ? [] : [referrer]),
  ];
  return hashOf(gateway, Buffer.from(JSON.stringify(fields)));
}

/** For writes without an order request: hash of the trader's call. */
export const fingerprintOfCall = (gateway: Gateway, inner: Hex): Hex => hashOf(gateway, Buffer.from(inner.slice(2), 'hex'));

const hashOf = ({ access }: Gateway, bytes: Uint8Array): Hex => `0x${Buffer.from(access.crypto.keccak(bytes)).toString('hex')}`;

/** Zero is equal to absent. */
const text = (value: Decimal | undefined): string | null => (value === undefined || value.units === 0n ? null : formatDecimal(value));

/** Converts decimal input to the contract's units. Nothing is rounded silently: excess decimals are rejected. */

export const PRICE_DECIMALS = 10;
export const SIZE_DECIMALS = 8;
export const LEVERAGE_DECIMALS = 3;
export const SLIPPAGE_DECIMALS = 3;
/** uint16 on chain. */
const MAX_SLIPPAGE_P = 65_535n;

export const invalid = (path: string, message: string): GatewayError =>
  new GatewayError('VALIDATION_ERROR', { issues: [{ path, message }] });

export function exactUnits(field: string, value: Decimal, maxDecimals: number): bigint {
  if (decimalsOf(value) <= maxDecimals) return toUnits(value, maxDecimals, 'down');
  throw new GatewayError('PRECISION_ERROR', { field, value: formatDecimal(value), maxDecimals, nearest: nearest(value, maxDecimals) });
}

/** The nearest value that fits, at least one unit. */
function nearest(value: Decimal, maxDecimals: number): string {
  const rounded = round(value, maxDecimals, 'half-up');
  return formatDecimal(rounded.units === 0n ? decimal(1n, maxDecimals) : rounded);
}

/** 1e10. */
export function priceUnits(field: string, value: Decimal): bigint {
  const units = exactUnits(field, value, PRICE_DECIMALS);
  if (units > 0n && units <= MAX_PRICE) return units;
  throw invalid(field, `must be above 0 and at most ${formatDecimal(decimal(MAX_PRICE, PRICE_DECIMALS))}`);
}

/** 1e10; 0 = none. */
export const triggerUnits = (field: string, value: Decimal | undefined): bigint =>
  value === undefined || value.units === 0n ? 0n : priceUnits(field, value);

/** 1e3 percent; that of an opening unless it is given. */
export function slippageUnits(value: Decimal = DEFAULT_SLIPPAGE): bigint {
  const units = exactUnits('slippage', value, SLIPPAGE_DECIMALS);
  if (units > 0n && units <= MAX_SLIPPAGE_P) return units;
  throw invalid('slippage', 'must be above 0 and at most 65.535 percent');
}
