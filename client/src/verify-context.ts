import { formatUnits } from 'viem/utils';
import type { CreateOrderRequest, Hex, Operations, Order, UpdateOrderRequest } from './api.js';
import type { ChainReader, CollateralOnChain, StoredTrade } from './chain-reader.js';
import { divideUp, isWithin, toUnits } from './decimal.js';
import { ClientError, requireSame, VerificationError, type Reason } from './errors.js';

/** Operations whose reply has a transaction for the agent to sign. */
export type WriteOperation = 'createOrder' | 'updateOrder' | 'cancelOrder' | 'closePosition' | 'updatePosition';

/** What the caller asked for. */
export type Asked = { [Id in WriteOperation]: { readonly operation: Id; readonly input: Operations[Id]['input'] } }[WriteOperation];

/** Bounds that are not part of a request. A market order needs `price`, `maxCollateral` or a price of its own, unless prices are trusted. */
export interface Limits {
  /** Price of the market by a source of the caller's own: a market order is compared with it. */
  readonly price?: string | undefined;
  /** Size a market order by the gateway's own price: nothing then bounds what a gateway that lies about it can take. */
  readonly trustPrices?: boolean | undefined;
  /** Percent by which a market order's price and size may differ from that price; 1 by default. */
  readonly priceTolerance?: string | undefined;
  /** Most collateral that an order may take, in token units. */
  readonly maxCollateral?: string | undefined;
}

/** What a prepared transaction is compared with. */
export interface Context {
  readonly trader: Hex;
  /** The agent, or the trader itself. */
  readonly sender: Hex;
  readonly diamond: Hex;
  readonly reader: ChainReader;
  readonly limits: Limits;
  readonly own: OwnOrders;
  /** Whether a transaction of this client can never be mined, because another one has its nonce. */
  readonly isReplaced: (hash: Hex) => Promise<boolean>;
  /** For so long, in ms, a reply without a transaction may be ahead of the caller's node. */
  readonly nodeLagMs: number;
  /** The order as the caller saw it, where the caller passed one. */
  readonly expected: OrderView | null;
  /** Price of a market, where neither the request nor the limits name one. */
  readonly price: (market: string) => Promise<string>;
  /** The order or position as it was described before the transaction was prepared. */
  readonly order: (id: string) => Promise<OrderView>;
  readonly position: (id: string) => Promise<PositionView>;
}

/** The orders that this client prepared or sent: what it knows of their ids without the gateway's word. */
export interface OwnOrders {
  prepared(order: Order, asked: CreateOrderRequest): void;
  /** A transaction left for the order; `changes` is what it changed of one that was there. */
  sent(id: string, hash: Hex, changes?: UpdateOrderRequest): void;
  /** Null where another process made the order. */
  viewOf(id: string): OrderView | null;
  hashesOf(id: string): readonly Hex[];
  /** The newest prices that the order was prepared or changed with. */
  pricesOf(id: string): readonly string[];
  /** Hashes of other orders with the same terms. */
  hashesOfTwins(id: string, view: OrderView): readonly Hex[];
}

export interface OrderView {
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly type: 'market' | 'limit' | 'stop';
  readonly price: string | null;
  readonly leverage: string;
  readonly collateral: string;
  readonly reduceOnly: boolean;
  /** Base units. Compared where it is given: two orders may differ in nothing else. */
  readonly size?: string | undefined;
  /** Of the transaction that placed it. It finds the order on the chain even where another one is like it. */
  readonly txHash?: Hex | null | undefined;
}

export interface PositionView {
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly entryPrice: string;
  readonly leverage: string;
  readonly collateralSymbol: string;
  /** Token units. Compared where it is given: two positions may differ in nothing else. */
  readonly collateral?: string | undefined;
}

export const PRICE_DECIMALS = 10;
export const LEVERAGE_DECIMALS = 3;
const SLIPPAGE_DECIMALS = 3;
const BASE_DECIMALS = 18;
/** A trade that never set one: 1 %. */
const DEFAULT_SLIPPAGE_P = 1000;
/** The gateway may have read the collateral's price a moment before. In millionths. */
const COLLATERAL_DRIFT = 5_000n;

export function units(name: string, text: string, decimals: number): bigint {
  const found = toUnits(text, decimals);
  if (found === null) throw new ClientError(`${name} must be a decimal text with at most ${decimals} decimals, not ${text}.`);
  return found;
}

export const priceUnits = (name: string, text: string): bigint => units(name, text, PRICE_DECIMALS);
export const leverageUnits = (text: string): bigint => units('leverage', text, LEVERAGE_DECIMALS);
export const slippageUnits = (text: string): number => Number(units('slippage', text, SLIPPAGE_DECIMALS));
export const storedSlippage = ({ slippageP }: Pick<StoredTrade, 'slippageP'>): number => (slippageP === 0 ? DEFAULT_SLIPPAGE_P : slippageP);
export const DEFAULT_ORDER_SLIPPAGE = DEFAULT_SLIPPAGE_P;

export const symbolOf = (market: string): string => market.toUpperCase().replace('-', '/');

export function requirePrice(reason: Reason, sentence: string, asked: bigint, found: bigint): void {
  if (asked !== found)
    throw new VerificationError(reason, sentence, formatUnits(asked, PRICE_DECIMALS), formatUnits(found, PRICE_DECIMALS));
}

/** In millionths. */
export const toleranceOf = ({ limits }: Context): bigint => units('priceTolerance', limits.priceTolerance ?? '1', 4);

/** The price that a market order is compared with: the caller's own, or the request's, or the gateway's. */
export async function referencePrice(context: Context, market: string, named?: string): Promise<bigint> {
  const text = context.limits.price ?? named ?? (await context.price(market));
  return priceUnits('price', text);
}

/** The collateral of a market order follows from its price, which the chain does not have: a source other than the gateway must bound it. */
export function requireOwnBound({ type, price }: Pick<CreateOrderRequest, 'type' | 'price'>, limits: Limits): void {
  if (type !== 'market' || limits.trustPrices === true) return;
  if (price !== undefined || limits.price !== undefined || limits.maxCollateral !== undefined) return;
  throw new ClientError(
    "A market order is sized by a price, and nothing bounds the gateway's: give limits.maxCollateral, limits.price or price. To go by the gateway's price, give limits.trustPrices: true.",
  );
}

export function requireNear(context: Context, sentence: string, reference: bigint, found: bigint): void {
  if (!isWithin(reference, found, toleranceOf(context), 1n))
    throw new VerificationError('PRICE', sentence, formatUnits(reference, PRICE_DECIMALS), formatUnits(found, PRICE_DECIMALS));
}

export async function requireMarket({ reader }: Context, market: string, pairIndex: number): Promise<void> {
  requireSame('MARKET', `the transaction trades pair ${pairIndex}`, symbolOf(market), await reader.marketOf(pairIndex));
}

/** After a split two pairs have the same public name. The old one can be closed, not opened. */
export async function requireLivePair({ reader }: Context, pairIndex: number): Promise<void> {
  const successor = await reader.successorOf(pairIndex);
  if (successor !== null) throw new VerificationError('MARKET', `pair ${pairIndex} has a successor`, successor, String(pairIndex));
}

/** The collateral of an index, which must be the one that was asked for; USDC, or the only active one, when none was. */
export async function requireCollateral({ reader }: Context, asked: string | undefined, index: number): Promise<CollateralOnChain> {
  const all = await reader.collaterals();
  const found = all.find((each) => each.index === index);
  const active = all.filter(({ isActive }) => isActive);
  const usual = active.find(({ symbol }) => symbol === 'USDC')?.symbol ?? (active.length === 1 ? active[0]?.symbol : undefined);
  const wanted = asked ?? usual;
  if (found === undefined || found.symbol.toUpperCase() !== wanted?.toUpperCase())
    throw new VerificationError('COLLATERAL', 'the transaction uses another collateral', wanted ?? null, found?.symbol ?? String(index));
  return found;
}

/** Reads and checks at the same time, because each is a round trip. Of several failures the first in the list is thrown, whichever came first. */
export async function together<Checks extends readonly Promise<unknown>[]>(
  checks: readonly [...Checks],
): Promise<{ [At in keyof Checks]: Awaited<Checks[At]> }> {
  await Promise.allSettled(checks);
  for (const check of checks) await check;
  return Promise.all(checks);
}

export interface Sized {
  readonly size: string;
  readonly price: bigint;
  readonly leverage: bigint;
  readonly collateral: CollateralOnChain;
  /** 1e8. */
  readonly collateralUsd: bigint;
  /** In millionths, besides that of the collateral's price. */
  readonly tolerance: bigint;
}

/** Size × price ÷ leverage ÷ the collateral's price must be the collateral that the transaction takes. */
export function requireSize(context: Context, sized: Sized, found: bigint): void {
  const { collateral, collateralUsd, price, leverage, tolerance } = sized;
  const base = units('size', sized.size, BASE_DECIMALS);
  const divisor = collateralUsd * leverage * 10n ** BigInt(PRICE_DECIMALS + BASE_DECIMALS);
  const expected = divideUp(base * price * 10n ** BigInt(collateral.decimals) * 1_000n * 10n ** 8n, divisor);
  const show = (amount: bigint): string => `${formatUnits(amount, collateral.decimals)} ${collateral.symbol}`;
  if (!isWithin(expected, found, tolerance + COLLATERAL_DRIFT, 1n))
    throw new VerificationError('SIZE', 'the collateral is not that of the size', show(expected), show(found));
  requireAffordable(context, collateral, found);
}

export function requireAffordable({ limits }: Context, collateral: CollateralOnChain, amount: bigint): void {
  if (limits.maxCollateral === undefined) return;
  const most = units('maxCollateral', limits.maxCollateral, collateral.decimals);
  if (amount > most)
    throw new VerificationError(
      'SIZE',
      'the order takes more collateral than allowed',
      limits.maxCollateral,
      formatUnits(amount, collateral.decimals),
    );
}
