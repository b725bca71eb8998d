import type { CreateOrderRequest, Hex } from './api.js';
import type { StoredTrade } from './chain-reader.js';
import type { Call } from './decode-calls.js';
import { requireSame } from './errors.js';
import {
  DEFAULT_ORDER_SLIPPAGE,
  leverageUnits,
  priceUnits,
  referencePrice,
  requireCollateral,
  requireLivePair,
  requireMarket,
  requireNear,
  requireOwnBound,
  requirePrice,
  requireSize,
  slippageUnits,
  together,
  toleranceOf,
  type Context,
} from './verify-context.js';
import { ClientError } from './errors.js';

export type OpenCall = Extract<Call, { functionName: 'openTrade' }>;
export type OpenedTrade = OpenCall['args'][0];

export const NO_REFERRER: Hex = '0x0000000000000000000000000000000000000000';

/** `TradeType` of the contract. */
export const TRADE_TYPES = { market: 0, limit: 1, stop: 2 } as const;

/** What a request leaves out is as the API documents it: no stop loss, no take profit, 1 % slippage. */
export async function verifyOpening(
  context: Context,
  asked: CreateOrderRequest,
  { args: [trade, slippageP, referrer] }: OpenCall,
): Promise<void> {
  requireOwnBound(asked, context.limits);
  const leverage = requireTerms(context, asked, { args: [trade, slippageP, referrer] });
  const [, , collateral, price, collateralUsd] = await together([
    requireMarket(context, asked.market, trade.pairIndex),
    requireLivePair(context, trade.pairIndex),
    requireCollateral(context, asked.collateral, trade.collateralIndex),
    requireOpenPrice(context, asked, trade.openPrice),
    context.reader.collateralPriceUsd(trade.collateralIndex),
  ]);
  const tolerance = asked.type === 'market' ? toleranceOf(context) : 0n;
  requireSize(context, { size: asked.size, price, leverage, collateral, collateralUsd, tolerance }, trade.collateralAmount);
}

/** In millionths: prices have moved since, that of the collateral too. */
const SENT_TOLERANCE = 250_000n;

/** An opening that was verified and sent before: it has the same terms, at the prices of then. */
export async function requireSentOpening(context: Context, asked: CreateOrderRequest, call: Pick<OpenCall, 'args'>): Promise<void> {
  const [trade] = call.args;
  const leverage = requireTerms(context, asked, call);
  if (asked.price !== undefined) requirePrice('PRICE', 'the price is another', priceUnits('price', asked.price), trade.openPrice);
  const [, collateral, collateralUsd] = await together([
    requireMarket(context, asked.market, trade.pairIndex),
    requireCollateral(context, asked.collateral, trade.collateralIndex),
    context.reader.collateralPriceUsd(trade.collateralIndex),
  ]);
  const sized = { size: asked.size, price: trade.openPrice, leverage, collateral, collateralUsd, tolerance: SENT_TOLERANCE };
  requireSize({ ...context, limits: {} }, sized, trade.collateralAmount);
}

/** What follows from the request alone. Answers the leverage. */
function requireTerms(context: Context, asked: CreateOrderRequest, { args: [trade, slippageP, referrer] }: Pick<OpenCall, 'args'>): bigint {
  if (asked.leverage === undefined) throw new ClientError('leverage is required unless reduceOnly.');
  const leverage = leverageUnits(asked.leverage);
  requireBlank(context, trade);
  requireSame('SIDE', 'the transaction opens the other side', asked.side, trade.long ? 'long' : 'short');
  requireSame('TYPE', 'the transaction is of another type', TRADE_TYPES[asked.type], trade.tradeType);
  requireSame('LEVERAGE', 'the leverage is another', leverage, BigInt(trade.leverage));
  requirePrice('TP', 'the take profit is another', priceUnits('tp', asked.tp ?? '0'), trade.tp);
  requirePrice('SL', 'the stop loss is another', priceUnits('sl', asked.sl ?? '0'), trade.sl);
  const wanted = asked.slippage === undefined ? DEFAULT_ORDER_SLIPPAGE : slippageUnits(asked.slippage);
  requireSame('SLIPPAGE', 'the slippage is another, in thousandths of a percent', wanted, slippageP);
  requireSame('REFERRER', 'the transaction names another referrer', asked.referrer ?? NO_REFERRER, referrer);
  return leverage;
}

/** Answers the price that the size is worth. A market order is sized at the price of now, whatever price it expects. */
async function requireOpenPrice(context: Context, { type, market, price }: CreateOrderRequest, found: bigint): Promise<bigint> {
  if (price !== undefined) requirePrice('PRICE', 'the price is another', priceUnits('price', price), found);
  if (type !== 'market') return found;
  const reference = await referencePrice(context, market, price);
  if (price === undefined) requireNear(context, 'the expected price is too far from the market', reference, found);
  return reference;
}

/** Fields that the contract fills in itself, and that no order has a use for. An order in the place of a counter trade's remains one. */
export function requireBlank(
  { trader }: Context,
  trade: OpenedTrade,
  { isCounterTrade }: Pick<StoredTrade, 'isCounterTrade'> = { isCounterTrade: false },
): void {
  requireSame('TRADER', 'the trade belongs to another account', trader, trade.user);
  requireSame('FIELD', 'isOpen must be set', true, trade.isOpen);
  requireSame(
    'FIELD',
    isCounterTrade ? 'isCounterTrade must stay' : 'isCounterTrade must not be set',
    isCounterTrade,
    trade.isCounterTrade,
  );
  requireSame('FIELD', 'index must be 0', 0, trade.index);
  requireSame('FIELD', 'positionSizeToken must be 0', 0n, trade.positionSizeToken);
  requireSame('FIELD', '__placeholder must be 0', 0, trade.__placeholder);
}
