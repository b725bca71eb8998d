import type { CreateOrderRequest, Hex, Order, UpdateOrderRequest, UpdatePositionRequest } from './api.js';
import type { StoredTrade } from './chain-reader.js';
import { VerificationError } from './errors.js';
import { viewOfRequest } from './own-orders.js';
import { leverageUnits, priceUnits, slippageUnits, storedSlippage, type Asked, type Context, type OrderView } from './verify-context.js';
import { requireOwn, requireSentAs, requireSentBefore } from './verify-sent.js';
import { likeOrder, likeRequest, matching, missing, requirePosition } from './verify-stored.js';

/** Of an order that is over and never became a trade. */
const CAME_TO_NOTHING: readonly Order['status'][] = ['rejected', 'canceled', 'expired'];

const NOTHING_HAPPENS = 'the reply has no transaction, so nothing would happen';

/**
 * A reply without a transaction says that the chain is as it was asked for. The caller's own node must say so too, or a gateway that lies
 * could leave a stop loss out, or an order in place.
 */
export async function verifyNothingToDo(context: Context, asked: Asked, order: Order | null): Promise<void> {
  switch (asked.operation) {
    case 'closePosition':
      throw missing(NOTHING_HAPPENS);
    case 'createOrder': {
      if (asked.input.clientId === undefined || order === null) throw missing(NOTHING_HAPPENS);
      const isOver = CAME_TO_NOTHING.includes(order.status);
      return inTime(context, () => (isOver ? requireOver : requireSentBefore)(context, asked.input, order));
    }
    case 'cancelOrder': {
      const view = context.expected ?? context.own.viewOf(asked.input.id);
      return inTime(context, () =>
        view === null ? requireNothingLeft(context, asked.input.id) : requireGone(context, asked.input.id, view),
      );
    }
    case 'updateOrder': {
      const view = await context.order(asked.input.id);
      return inTime(context, () => requireOrderAsAsked(context, view, asked.input));
    }
    case 'updatePosition':
      return requirePositionAsAsked(context, asked.input);
  }
}

/** The gateway may have seen a block that the caller's node does not have yet: the node is asked again with each new one, for a bounded time. */
async function inTime(context: Context, check: () => Promise<void>): Promise<void> {
  const { reader, nodeLagMs } = context;
  const until = Date.now() + nodeLagMs;
  for (;;) {
    const block = nodeLagMs === 0 ? 0 : await reader.blockNumber();
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof VerificationError) || !(await hasNewBlock(context, { block, until }))) throw error;
    }
  }
}

const PAUSE_MS = 100;

async function hasNewBlock({ reader }: Context, { block, until }: { readonly block: number; readonly until: number }): Promise<boolean> {
  while (Date.now() < until) {
    if ((await reader.blockNumber()) > block) return true;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return false;
}

const STILL_THERE = 'the order is still on the chain, and the reply has no transaction that takes it back';

/** A repeated request whose order is said to be over and to have become nothing: none of it may be on the chain. */
async function requireOver(context: Context, asked: CreateOrderRequest, order: Order): Promise<void> {
  if (order.txHash !== null) await requireSentAs(context, asked, { order, hash: order.txHash });
  await requireGone(context, order.id, { ...viewOfRequest(asked, order), txHash: order.txHash });
}

/**
 * The transactions that placed the order find it on the chain. Without one, nothing there may be like it, at any price that it had,
 * besides orders that this client knows to be others.
 */
async function requireGone(context: Context, id: string, view: OrderView): Promise<void> {
  const { own, reader, trader } = context;
  const hashes = [...new Set([...own.hashesOf(id), ...(view.txHash == null ? [] : [view.txHash])])];
  let hasPlaced = false;
  let hasFailed = false;
  for (const hash of hashes) {
    const sent = await requireOwn(context, hash).catch(async (error: unknown) => {
      if (await context.isReplaced(hash)) return null;
      throw error;
    });
    if (sent === null) {
      hasFailed = true;
      continue;
    }
    if (sent.isSuccess === null) throw missing(`the transaction ${hash} of the order was sent and is not mined`);
    for (const index of sent.orders) if (await rests(context, index)) throw missing(STILL_THERE, `index ${index}`);
    for (const index of sent.requests)
      if ((await reader.pendingRequest(trader, index)) !== null) throw missing(STILL_THERE, `request ${index}`);
    hasFailed ||= !sent.isSuccess;
    hasPlaced ||= sent.orders.length + sent.requests.length > 0;
  }
  // A change in place does not name what it changed. What a level is on its position, no event names.
  if (hasPlaced && !(view.reduceOnly && view.type !== 'market')) return;
  // Only the client's own view has the changes of this client, all of which have to be mined for it to be the order's.
  const isCurrent = view === own.viewOf(id) && !hasFailed;
  const before = isCurrent ? [] : own.pricesOf(id).map((price) => ({ ...view, price, size: undefined }));
  await Promise.all([view, ...before].map((each) => requireNoneLike(context, id, each)));
}

async function requireNoneLike(context: Context, id: string, view: OrderView): Promise<void> {
  const twins = await placedBy(context, context.own.hashesOfTwins(id, view));
  const passes = 'If it is another one, pass the order that you mean as `expect`, with its txHash';
  if (view.type === 'market') {
    const left = (await likeRequest(context, view)).find(({ index }) => !twins.requests.includes(index));
    if (left !== undefined) throw missing(`${STILL_THERE}. ${passes}`, `request ${left.index}`);
    return;
  }
  const left = (await likeOrder(context, view)).find(({ index }) => !twins.orders.includes(index));
  if (left !== undefined) throw missing(`${STILL_THERE}. ${passes}`, `index ${left.index}`);
}

async function rests({ reader, trader }: Context, index: number): Promise<boolean> {
  const trade = await reader.trade(trader, index);
  return trade !== null && trade.tradeType !== 0;
}

/** What transactions of this client left on the chain. */
async function placedBy(context: Context, hashes: readonly Hex[]): Promise<{ orders: readonly number[]; requests: readonly number[] }> {
  const sent = await Promise.all(hashes.map((hash) => context.reader.sent(context.trader, hash)));
  return { orders: sent.flatMap((each) => each?.orders ?? []), requests: sent.flatMap((each) => each?.requests ?? []) };
}

/** An id alone says nothing of the order that the gateway would not say itself: only where nothing is left at all is it gone for certain. */
async function requireNothingLeft({ reader, trader }: Context, id: string): Promise<void> {
  const [trades, requests] = await Promise.all([reader.trades(trader), reader.pendingRequests(trader)]);
  const isLeft = requests.length > 0 || trades.some(({ tradeType, tp, sl }) => tradeType !== 0 || tp > 0n || sl > 0n);
  if (!isLeft) return;
  throw missing(
    `the reply says that order ${id} is gone, and only the gateway says which order that was: pass the order as you saw it as \`expect\``,
  );
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
  if (asked.increase !== undefined || asked.withdrawPnl !== undefined || asked.collateral !== undefined) throw missing(NOTHING_HAPPENS);
  const view = await context.position(id);
  const wanted = { ...view, leverage: asked.leverage ?? view.leverage };
  return inTime(context, async () => {
    const found = await matching(context, (trade) => requirePosition(context, wanted, trade));
    const isAsAsked = (trade: StoredTrade): boolean =>
      hasLevels(trade, asked) && (asked.leverage === undefined || BigInt(trade.leverage) === leverageUnits(asked.leverage));
    if (!found.some(isAsAsked))
      throw missing('the position on the chain is not as it was asked for, and the reply has no transaction that changes it');
  });
}

const hasLevels = (trade: StoredTrade, asked: { readonly tp?: string | undefined; readonly sl?: string | undefined }): boolean =>
  (['tp', 'sl'] as const).every((name) => asked[name] === undefined || trade[name] === priceUnits(name, asked[name]));
