import type { Order, UpdateOrderRequest, UpdatePositionRequest } from './api.js';
import type { StoredTrade } from './chain-reader.js';
import { VerificationError } from './errors.js';
import { leverageUnits, priceUnits, slippageUnits, storedSlippage, type Asked, type Context, type OrderView } from './verify-context.js';
import { requireLevel, requirePosition, requireResting } from './verify-stored.js';

/**
 * A reply without a transaction says that the chain is as it was asked for. The caller's own node must say so too, or a gateway that lies
 * could leave a stop loss out, or an order in place.
 */
export async function verifyNothingToDo(context: Context, asked: Asked, order: Order | null): Promise<void> {
  switch (asked.operation) {
    case 'closePosition':
      throw missing('the reply has no transaction, so nothing would happen');
    case 'createOrder':
      if (asked.input.clientId === undefined) throw missing('the reply has no transaction, so nothing would happen');
      // A repeated request. What became of the order is in its status; one that rests is there.
      return order?.status === 'open' ? requireThere(context, order) : undefined;
    case 'cancelOrder':
      return requireGone(context, await context.order(asked.input.id));
    case 'updateOrder':
      return requireOrderAsAsked(context, await context.order(asked.input.id), asked.input);
    case 'updatePosition':
      return requirePositionAsAsked(context, asked.input);
  }
}

const missing = (sentence: string): VerificationError => new VerificationError('CALLS', sentence, 'a transaction', null);

/** The trades on chain that the check accepts; a check refuses with a VerificationError. */
async function matching({ reader, trader }: Context, check: (trade: StoredTrade) => Promise<void>): Promise<StoredTrade[]> {
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
const likeOrder = (context: Context, view: OrderView): Promise<StoredTrade[]> =>
  matching(context, (trade) => (view.reduceOnly ? requireLevel(context, view, trade) : requireResting(context, view, trade)));

async function requireThere(context: Context, view: OrderView): Promise<void> {
  if ((await likeOrder(context, view)).length === 0) throw missing('the chain has no such order, and the reply has no transaction for it');
}

async function requireGone(context: Context, view: OrderView): Promise<void> {
  const sentence = 'the order is still on the chain, and the reply has no transaction that takes it back';
  if (view.type !== 'market') {
    const [left] = await likeOrder(context, view);
    if (left !== undefined) throw new VerificationError('CALLS', sentence, 'a transaction', `index ${left.index}`);
    return;
  }
  for (const request of await context.reader.pendingRequests(context.trader)) {
    const isOfSide = !request.isOpening || view.reduceOnly || (request.long ? 'long' : 'short') === view.side;
    if (isOfSide && (await context.reader.marketOf(request.pairIndex)) === view.market)
      throw new VerificationError('CALLS', sentence, 'a transaction', `request ${request.index}`);
  }
}

/** An order of the wanted values stands; what was not asked for is as it was described. */
async function requireOrderAsAsked(context: Context, view: OrderView, asked: UpdateOrderRequest): Promise<void> {
  const wanted = { ...view, price: asked.price ?? view.price, size: asked.size ?? view.size };
  const found = await likeOrder(context, wanted);
  const isAsAsked = (trade: StoredTrade): boolean =>
    (view.reduceOnly || hasLevels(trade, asked)) &&
    (asked.slippage === undefined || storedSlippage(trade) === slippageUnits(asked.slippage));
  if (!found.some(isAsAsked))
    throw missing('the chain has no order as it was asked for, and the reply has no transaction that changes one');
}

async function requirePositionAsAsked(context: Context, { id, ...asked }: UpdatePositionRequest & { readonly id: string }): Promise<void> {
  // These change the position whenever they are asked for.
  if (asked.increase !== undefined || asked.withdrawPnl !== undefined || asked.collateral !== undefined)
    throw missing('the reply has no transaction, so nothing would happen');
  const view = await context.position(id);
  const wanted = { ...view, leverage: asked.leverage ?? view.leverage };
  const found = await matching(context, (trade) => requirePosition(context, wanted, trade));
  const isAsAsked = (trade: StoredTrade): boolean =>
    hasLevels(trade, asked) && (asked.leverage === undefined || BigInt(trade.leverage) === leverageUnits(asked.leverage));
  if (!found.some(isAsAsked))
    throw missing('the position on the chain is not as it was asked for, and the reply has no transaction that changes it');
}

const hasLevels = (trade: StoredTrade, asked: { readonly tp?: string | undefined; readonly sl?: string | undefined }): boolean =>
  (['tp', 'sl'] as const).every((name) => asked[name] === undefined || trade[name] === priceUnits(name, asked[name]));
