import { formatUnits } from 'viem/utils';
import type { PendingRequest, StoredTrade } from './chain-reader.js';
import { isWithin } from './decimal.js';
import { requireSame, VerificationError } from './errors.js';
import {
  leverageUnits,
  PRICE_DECIMALS,
  priceUnits,
  symbolOf,
  units,
  type Context,
  type OrderView,
  type PositionView,
} from './verify-context.js';

/**
 * A call on a position or resting order names it by its index on chain, which only the gateway relates to the ids of the API. What the
 * chain has at that index must be what the id was said to be.
 */

export async function storedTrade({ reader, trader }: Context, index: number): Promise<StoredTrade> {
  const trade = await reader.trade(trader, index);
  if (trade === null) throw new VerificationError('INDEX', `the trader has nothing open at index ${index}`);
  return trade;
}

const TOKEN_UNITS = 10n ** 18n;
const PRICE_UNITS = 10n ** 10n;
const BASE_DECIMALS = 18;
/** In millionths: an order keeps its collateral while the collateral's price moves. */
const SIZE_LIKENESS = 250_000n;

/** Base units (1e18) of a trade at the collateral's price of now. */
export async function baseOf({ reader }: Context, trade: StoredTrade): Promise<bigint> {
  const collateral = (await reader.collaterals()).find(({ index }) => index === trade.collateralIndex);
  if (collateral === undefined) throw new VerificationError('COLLATERAL', 'the chain has no such collateral');
  const held = (trade.collateralAmount * BigInt(trade.leverage)) / 1_000n;
  const opened = (held * TOKEN_UNITS * PRICE_UNITS) / 10n ** BigInt(collateral.decimals) / (trade.openPrice || 1n);
  const token = trade.positionSizeToken > 0n ? trade.positionSizeToken : opened;
  return (token * (await reader.collateralPriceUsd(collateral.index))) / 10n ** 8n;
}

const price = (units: bigint): string => formatUnits(units, PRICE_DECIMALS);
const priceOf = (view: Pick<OrderView, 'price'>): string => (view.price === null ? 'none' : price(priceUnits('price', view.price)));
const is = (index: number, what: string): string => `index ${index} on chain is not the one that was named: its ${what} differs`;

async function requireLikeness(
  { reader }: Context,
  { market, side, leverage, collateral }: { market: string; side: 'long' | 'short'; leverage: string; collateral: string },
  trade: StoredTrade,
): Promise<void> {
  const { index } = trade;
  requireSame('INDEX', is(index, 'market'), symbolOf(market), await reader.marketOf(trade.pairIndex));
  requireSame('INDEX', is(index, 'side'), side, trade.long ? 'long' : 'short');
  requireSame('INDEX', is(index, 'leverage'), leverageUnits(leverage), BigInt(trade.leverage));
  const found = (await reader.collaterals()).find((each) => each.index === trade.collateralIndex)?.symbol ?? 'none';
  requireSame('INDEX', is(index, 'collateral'), collateral.toUpperCase(), found.toUpperCase());
}

export async function requirePosition(context: Context, view: PositionView, trade: StoredTrade): Promise<void> {
  const { index } = trade;
  requireSame('INDEX', is(index, 'kind'), 'position', trade.tradeType === 0 ? 'position' : 'order');
  await requireLikeness(context, { ...view, collateral: view.collateralSymbol }, trade);
  requireSame('INDEX', is(index, 'entry price'), price(priceUnits('entryPrice', view.entryPrice)), price(trade.openPrice));
  const token = (await context.reader.collaterals()).find((each) => each.index === trade.collateralIndex);
  if (view.collateral !== undefined && token !== undefined)
    requireSame('INDEX', is(index, 'collateral'), units('collateral', view.collateral, token.decimals), trade.collateralAmount);
}

/** A limit or stop order that rests. */
export async function requireResting(context: Context, view: OrderView, trade: StoredTrade): Promise<void> {
  const { index } = trade;
  requireSame('INDEX', is(index, 'type'), view.type, ['position', 'limit', 'stop'][trade.tradeType] ?? 'unknown');
  await requireLikeness(context, view, trade);
  requireSame('INDEX', is(index, 'price'), priceOf(view), price(trade.openPrice));
  if (view.size === undefined) return;
  const [asked, found] = [units('size', view.size, BASE_DECIMALS), await baseOf(context, trade)];
  if (!isWithin(asked, found, SIZE_LIKENESS, 1n))
    throw new VerificationError('INDEX', is(index, 'size'), view.size, formatUnits(found, BASE_DECIMALS));
}

/** An order that only reduces rests as the take profit (limit) or stop loss (stop) of an opposite position. */
export type Level = 'tp' | 'sl';
export const levelOf = ({ type }: Pick<OrderView, 'type'>): Level => (type === 'limit' ? 'tp' : 'sl');

export async function requireLevel(context: Context, view: OrderView, trade: StoredTrade): Promise<void> {
  requireSame('INDEX', is(trade.index, 'kind'), 'position', trade.tradeType === 0 ? 'position' : 'order');
  await requireLikeness(context, { ...view, side: view.side === 'long' ? 'short' : 'long' }, trade);
  requireSame('INDEX', is(trade.index, levelOf(view)), priceOf(view), price(trade[levelOf(view)]));
}

/** What a reply without a transaction is refused with. */
export const missing = (sentence: string, found: string | null = null): VerificationError =>
  new VerificationError('CALLS', sentence, 'a transaction', found);

/** The trades on chain that the check accepts; a check refuses with a VerificationError. */
export async function matching({ reader, trader }: Context, check: (trade: StoredTrade) => Promise<void>): Promise<StoredTrade[]> {
  const trades = await reader.trades(trader);
  const found = await Promise.all(
    trades.map(async (trade) => {
      try {
        await check(trade);
        return [trade];
      } catch (error) {
        if (error instanceof VerificationError) return [];
        throw error;
      }
    }),
  );
  return found.flat();
}

/** Resting orders, or positions with the level, that are like the order. */
export const likeOrder = (context: Context, view: OrderView): Promise<StoredTrade[]> =>
  matching(context, (trade) => (view.reduceOnly ? requireLevel(context, view, trade) : requireResting(context, view, trade)));

/** Requests that wait for the oracle and are like a market order. One that closes names its position, whose side is the other one. */
export async function likeRequest({ reader, trader }: Context, view: OrderView): Promise<PendingRequest[]> {
  const requests = await reader.pendingRequests(trader);
  const isLong = view.reduceOnly ? view.side === 'short' : view.side === 'long';
  const ofKind = requests.filter(({ isOpening, isClosing, long }) => (view.reduceOnly ? isClosing : isOpening) && long === isLong);
  const markets = await Promise.all(ofKind.map(({ pairIndex }) => reader.marketOf(pairIndex)));
  return ofKind.filter((_, at) => markets[at] === symbolOf(view.market));
}

export async function requireThere(context: Context, view: OrderView): Promise<void> {
  const found = view.type === 'market' ? await likeRequest(context, view) : await likeOrder(context, view);
  if (found.length === 0) throw missing('the chain has no such order, and the reply has no transaction for it');
}
