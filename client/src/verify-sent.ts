import type { CreateOrderRequest, Hex, Order } from './api.js';
import { decodeCalls, type Call } from './decode-calls.js';
import { requireSame, VerificationError } from './errors.js';
import { viewOfRequest } from './own-orders.js';
import type { SentTransaction } from './sent-transaction.js';
import { priceUnits, requireMarket, requirePrice, type Context } from './verify-context.js';
import { requireSentOpening, TRADE_TYPES } from './verify-open.js';
import { readLevels } from './verify-reduce.js';
import { levelOf, missing, requireThere } from './verify-stored.js';

/**
 * A request with a client id that is repeated may be answered without a transaction, because it was sent before. The caller's own node
 * decides whether it was: the transaction that is named must be there, by the agent, for what was asked.
 */
export async function requireSentBefore(context: Context, asked: CreateOrderRequest, order: Order): Promise<void> {
  const { txHash } = order;
  const own = [...context.own.hashesOf(order.id)].reverse();
  if (txHash === null && own.length === 0) {
    if (order.status === 'prepared' || order.status === 'filled')
      throw missing(`the reply calls the order ${order.status}, and has neither a transaction for it nor the hash of one`);
    return requireThere(context, viewOfRequest(asked, order));
  }
  const refusals: VerificationError[] = [];
  for (const hash of own) {
    const refused = await refusalOf(context, asked, { order, hash });
    if (refused === null) return;
    refusals.push(refused);
  }
  // What the reply names counts only where none of the client's own is unknown or reverted: it could be that of another order.
  if (txHash !== null && !own.includes(txHash) && refusals.every(({ reason }) => reason !== 'CALLS')) {
    const refused = await refusalOf(context, asked, { order, hash: txHash });
    if (refused === null) return;
    refusals.push(refused);
  }
  if (refusals[0] !== undefined) throw refusals[0];
}

/** Of a transaction of the order that does not prove it sent, such as a later change of it. */
async function refusalOf(context: Context, asked: CreateOrderRequest, named: Named): Promise<VerificationError | null> {
  try {
    const { isSuccess } = await requireSentAs(context, asked, named);
    return isSuccess === false ? missing(`the transaction ${named.hash} of the order was reverted`) : null;
  } catch (error) {
    if (error instanceof VerificationError) return error;
    throw error;
  }
}

interface Named {
  readonly order: Order;
  readonly hash: Hex;
}

/** The transaction that is named is the caller's, for what was asked. */
export async function requireSentAs(context: Context, asked: CreateOrderRequest, { order, hash }: Named): Promise<SentTransaction> {
  const sent = await requireOwn(context, hash);
  const calls = decodeCalls(sent.data, { trader: context.trader, sender: sent.from });
  if (asked.reduceOnly !== true) await requireOpening(context, asked, { order, calls });
  else if (asked.type === 'market') await requireClosings(context, asked, calls);
  else await requireLevelSet(context, asked, { order, calls });
  return sent;
}

interface Made {
  readonly order: Order;
  readonly calls: readonly Call[];
}

async function requireOpening(context: Context, asked: CreateOrderRequest, { order, calls }: Made): Promise<void> {
  const [call, second, ...others] = calls;
  if (call?.functionName === 'openTrade' && second === undefined) return requireSentOpening(context, asked, call);
  // Changed since: the order that the caller asked for is the one that was replaced.
  if (call?.functionName === 'cancelOpenOrder' && second?.functionName === 'openTrade' && others.length === 0) {
    const [trade] = second.args;
    await requireKind(context, asked, call.args[0]);
    requireSame('SIDE', 'the transaction opens the other side', asked.side, trade.long ? 'long' : 'short');
    requireSame('TYPE', 'the transaction is of another type', TRADE_TYPES[asked.type], trade.tradeType);
    await requireMarket(context, asked.market, trade.pairIndex);
    return requirePrice('PRICE', 'the price is not that of the reply', priceUnits('price', order.price ?? '0'), trade.openPrice);
  }
  throw new VerificationError(
    'FUNCTION',
    'the transaction opens nothing',
    'openTrade',
    calls.map(({ functionName }) => functionName).join(),
  );
}

/** A transaction of the caller, as the caller's node has it. One that is not mined yet counts: only the agent's key can have made it. */
export async function requireOwn({ reader, trader, sender, diamond }: Context, hash: Hex): Promise<SentTransaction> {
  const sent = await reader.sent(trader, hash);
  if (sent === null) throw missing(`your node does not know the transaction ${hash} that the reply names`);
  requireSame('TO', `the transaction ${hash} goes to another contract than the Diamond`, diamond, sent.to ?? 'none');
  const isOwn = [sender, trader].some((own) => own.toLowerCase() === sent.from.toLowerCase());
  if (!isOwn) throw new VerificationError('TRADER', `the transaction ${hash} is of another account`, sender, sent.from);
  return sent;
}

/** What was at the index, also after it was closed. */
async function requireKind(context: Context, { market, side }: Pick<CreateOrderRequest, 'market' | 'side'>, index: number): Promise<void> {
  const { pairIndex, long } = await context.reader.record(context.trader, index);
  await requireMarket(context, market, pairIndex);
  requireSame('SIDE', `the transaction is about the other side, at index ${index}`, side, long ? 'long' : 'short');
}

const opposite = ({ market, side }: CreateOrderRequest): Pick<CreateOrderRequest, 'market' | 'side'> => ({
  market,
  side: side === 'long' ? 'short' : 'long',
});

async function requireClosings(context: Context, asked: CreateOrderRequest, calls: readonly Call[]): Promise<void> {
  const closings = calls.filter(({ functionName }) => functionName !== 'updateMaxClosingSlippageP');
  if (closings.length === 0) throw new VerificationError('CALLS', 'the transaction closes nothing');
  for (const call of closings) {
    if (call.functionName !== 'closeTradeMarket' && call.functionName !== 'decreasePositionSize')
      throw new VerificationError('FUNCTION', 'the transaction is no closing', 'closeTradeMarket', call.functionName);
    await requireKind(context, opposite(asked), call.args[0]);
    const expected = call.functionName === 'closeTradeMarket' ? call.args[1] : call.args[3];
    if (asked.price !== undefined) requirePrice('PRICE', 'the price is another', priceUnits('price', asked.price), expected);
  }
}

/** The level may have been moved since: then the chain has it where the reply says. */
async function requireLevelSet(context: Context, asked: CreateOrderRequest, { order, calls }: Made): Promise<void> {
  const { index, ...set } = readLevels(calls);
  await requireKind(context, opposite(asked), index);
  const level = set[levelOf(asked)];
  if (level === null) throw new VerificationError('FUNCTION', `the transaction sets no ${levelOf(asked)}`);
  if (order.status === 'open') return requireThere(context, order);
  requirePrice('PRICE', 'the trigger price is another', priceUnits('price', asked.price ?? '0'), level);
}
