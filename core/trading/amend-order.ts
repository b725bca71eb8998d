import type { AgentCaller } from '../access/caller.js';
import { describeOrder } from '../account/describe-order.js';
import { marketName, symbolOf, type Collateral } from '../domain/market.js';
import { getOrder } from '../account/list-orders.js';
import { compare, type Decimal } from '../domain/decimal.js';
import type { AmendIntent, OpenTerms, ReclaimIntent, ReplaceIntent, WithdrawIntent } from '../domain/intent.js';
import { sizedAt } from '../domain/order-machine.js';
import type { Order } from '../domain/order.js';
import { marketView } from '../domain/pricing/market-view.js';
import { collateralForBaseSize, positionSizeCollateral } from '../domain/pricing/size.js';
import { GatewayError } from '../errors.js';
import { requireOpeningsBy } from '../access/openings-after-loss.js';
import type { Gateway, Venue } from '../gateway.js';
import { requireCurrent } from '../indexer/identify.js';
import { checkLevels, checkOpening, checkScope, notionalUsd, requireTradable } from './prepare-order.js';
import { moveLevel, removeLevel, restingLevel } from './change-level.js';
import {
  priceUnits,
  slippageUnits,
  triggerUnits,
  baseUnits,
  storedStopLoss,
  type Opening,
  type OrderChanges,
  checkCollateral,
} from './order-request.js';
import { describeUnfilled, findOrder, indexOf, isCounterTrade, notModifiable, unlessOvertaken, type PreparedOrder } from './find-order.js';
import type { KnownOrder, OrderChange } from '../ports/stores/orders.js';
import { prepareTransaction, type PreparedWrite } from './prepare-transaction.js';
import { requireDelegate } from '../access/agent-status.js';
import { capExceeded, checkMarket, utcDay } from '../domain/agent.js';
import { isOverdue } from './reclaim-time.js';

/**
 * Changes a resting order. The contract can change TP, SL and slippage in place. It keeps the collateral when the trigger price moves, so a new
 * price or size cancels the order and opens another in the same transaction; both keep one order id. Returns the order as it will be once
 * the transaction is mined.
 */
export async function amendOrder(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  id: string,
  changes: OrderChanges,
): Promise<PreparedOrder> {
  const known = await findOrder(gateway, venue, caller, id);
  const nothing = async (): Promise<PreparedOrder> => ({ order: await getOrder(gateway, venue, caller, id), transaction: null });
  if (Object.values(changes).every((change) => change === undefined)) return nothing();
  if (known.order.status !== 'open' || known.orderKey === null) throw notModifiable(venue, known);
  const level = restingLevel(known);
  if (level !== null) return moveLevel(gateway, venue, caller, level, changes);
  const wanted = readChanges(venue, known.order, changes);
  checkScope(caller, wanted);
  const planned = intentFor(known.order, indexOf(known.orderKey), wanted);
  if (planned === null) return nothing();
  requireTradable(venue, wanted);
  const intent = await withFlag(venue, known, planned);
  if (intent.kind === 'replace') {
    await requireCurrent(gateway, venue);
    await requireOpeningsBy(gateway, venue, caller);
  }
  // The minimum collateral applies to new orders only; a resting order keeps its collateral.
  (intent.kind === 'replace' ? checkOpening : checkLevels)(wanted, caller.trader, intent);
  const takes = { collateral: wanted.collateral, amount: wanted.terms.collateralAmount - known.order.collateralAmount };
  const attempt = prepareTransaction(gateway, venue, caller, { intent, takes: takes.amount > 0n ? takes : null });
  const write = await unlessOvertaken(venue, known, attempt);
  const order = orderWanted(known.order, wanted);
  await noteChange(gateway, venue, caller, { known, order, write, tradeIndex: intent.tradeIndex, collateral: wanted.collateral });
  // Stored before the transaction is returned, so that the indexer links the new slot to the same order.
  if (intent.kind === 'replace') await gateway.store.orders.expectReplacement(venue.definition.slug, known.id, write.handedOut, order);
  return { order: describeUnfilled(venue, known, order), transaction: write.transaction };
}

interface Change {
  readonly known: KnownOrder;
  readonly order: Order;
  readonly write: PreparedWrite;
  readonly tradeIndex: number;
  readonly collateral: Collateral;
}

/**
 * The transaction repeats what the client does not change. Of two that are prepared from the same order the one mined later would undo the
 * other, a stop loss included, so the second is refused until the first is mined or expires. The same change may be prepared again.
 */
async function noteChange(gateway: Gateway, venue: Venue, caller: AgentCaller, made: Change): Promise<void> {
  const { known, order, write, tradeIndex } = made;
  const times = { now: venue.clock.now(), expiresAt: write.transaction.expiresAt };
  const growth = growthOf(venue, caller, made);
  const change = { id: known.id, tradeIndex, was: known.order, becomes: order, data: write.transaction.data, ...times, growth };
  const noted = await gateway.store.orders.prepareChange(venue.definition.slug, change);
  if (noted.kind === 'noted') return;
  if (noted.kind === 'beyond-cap' && growth !== null && growth.capUsd !== null)
    throw capExceeded(growth.capUsd, await gateway.store.spend.spent(growth.reservation), growth.reservation.usd);
  const { id, order: now } = await findOrder(gateway, venue, { trader: known.order.trader }, known.id.toString());
  throw new GatewayError('ORDER_NOT_MODIFIABLE', {
    id: id.toString(),
    status: now.status,
    ...(noted.kind === 'prepared'
      ? { reason: 'another change of it was prepared and may be sent', changeableAt: noted.until }
      : { reason: 'it is being changed; read it again' }),
  });
}

/** The order with the changes applied, as an opening. */
export function readChanges(venue: Venue, order: Order, changes: OrderChanges): Opening {
  const config = venue.feed.config();
  const [pair, view] = [config.pairs[order.pairIndex], marketView(config, order)];
  const collateral = config.collaterals.find(({ index }) => index === order.collateralIndex);
  if (!pair || !view || !collateral)
    throw new GatewayError('NOT_READY', { reason: 'the market is not described', market: marketName(config, order.pairIndex) });
  const { type, pairIndex, collateralIndex, long, leverage } = order;
  const price = changes.price === undefined ? order.price : priceUnits('price', changes.price);
  const size = sizeWanted(venue, order, changes.size, price !== order.price);
  const terms: OpenTerms = {
    ...{ type, pairIndex, collateralIndex, long, leverage, price },
    collateralAmount:
      size === null ? order.collateralAmount : collateralForBaseSize({ baseSize: size, price, leverage, collateral, rounding: 'half-up' }),
    tp: changes.tp === undefined ? order.tp : triggerUnits('tp', changes.tp),
    sl: changes.sl === undefined ? order.sl : triggerUnits('sl', changes.sl),
    slippageP: changes.slippage === undefined ? order.slippageP : slippageUnits(changes.slippage),
  };
  checkCollateral(terms.collateralAmount);
  const sizeCollateral = positionSizeCollateral(terms);
  const market = { config, pair, symbol: symbolOf(pair), collateral, view };
  return { ...market, terms, sizeBase: size ?? 0n, sizeCollateral, isPriceGiven: true, storedSl: storedStopLoss(view, terms) };
}

/** The precision of published sizes, so that a client can send back the size it read. */
const SHOWN_DECIMALS = 18;

/** 1e18; null = the collateral is unchanged. At a new price the same collateral would buy another size, so the collateral is derived from the size again. */
function sizeWanted(venue: Venue, order: Order, size: Decimal | undefined, isRepriced: boolean): bigint | null {
  if (size === undefined && !isRepriced) return null;
  const shown = describeOrder(venue.feed.config(), { id: 0n, order }, new Map()).size;
  return size === undefined || compare(size, shown) === 0 ? baseUnits(shown, SHOWN_DECIMALS) : baseUnits(size);
}

/** null when nothing changes. */
function intentFor(order: Order, tradeIndex: number, { terms, storedSl }: Opening): AmendIntent | ReplaceIntent | null {
  if (terms.collateralAmount !== order.collateralAmount) return { kind: 'replace', tradeIndex, by: terms };
  const { price, tp, sl, slippageP } = terms;
  if (price === order.price && tp === order.tp && storedSl === order.sl && slippageP === order.slippageP) return null;
  return { kind: 'amend', tradeIndex, price, tp, sl, slippageP };
}

/** The contract keeps the flag of a counter trade in a change in place; a new order in its place has to carry it. */
const withFlag = async (venue: Venue, known: KnownOrder, intent: AmendIntent | ReplaceIntent): Promise<AmendIntent | ReplaceIntent> =>
  intent.kind === 'replace' && (await isCounterTrade(venue, known)) ? { ...intent, by: { ...intent.by, isCounterTrade: true } } : intent;

function orderWanted(order: Order, { terms, sizeBase, sizeCollateral, storedSl }: Opening): Order {
  const { price, tp, slippageP, collateralAmount } = terms;
  const sized = sizeBase > 0n ? { ...order, asked: { sizeBase, sizeCollateral } } : sizedAt(order, price);
  return { ...sized, price, tp, sl: storedSl, slippageP, collateralAmount, sizeCollateral };
}

/** Cancels a resting order, removes a TP/SL, reclaims an unanswered request, or drops an unsent order at once. */
export async function withdrawOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, id: string): Promise<PreparedOrder> {
  const known = await findOrder(gateway, venue, caller, id);
  checkMarket(caller.scope, marketName(venue.feed.config(), known.order.pairIndex));
  if (known.order.status === 'prepared') return giveUp(gateway, venue, caller, known);
  const level = restingLevel(known);
  if (level !== null) return removeLevel(gateway, venue, caller, level);
  const intent = withdrawalFor(venue, known);
  if (intent === null) throw notModifiable(venue, known);
  const { transaction } = await unlessOvertaken(venue, known, prepareTransaction(gateway, venue, caller, { intent, takes: null }));
  return { order: describeUnfilled(venue, known), transaction };
}

function withdrawalFor(venue: Venue, { order, orderKey }: KnownOrder): WithdrawIntent | ReclaimIntent | null {
  if (orderKey === null) return null;
  if (order.status === 'open') return { kind: 'withdraw', tradeIndex: indexOf(orderKey) };
  const isUnanswered = order.status === 'timed_out' || (order.status === 'pending' && isOverdue(venue, order));
  return isUnanswered ? { kind: 'reclaim', requestIndex: indexOf(orderKey) } : null;
}

/** Only without a reported hash: a sent transaction may still be mined, so the order cannot be dropped. */
async function giveUp(gateway: Gateway, venue: Venue, caller: AgentCaller, known: KnownOrder): Promise<PreparedOrder> {
  await requireDelegate(venue, caller);
  if (known.hashes.length > 0) throw notModifiable(venue, known, 'its transaction was sent');
  const isGivenUp = await gateway.store.orders.giveUp(venue.definition.slug, caller.trader, known.id, venue.clock.now());
  const after = await findOrder(gateway, venue, caller, known.id.toString());
  if (!isGivenUp) throw notModifiable(venue, after);
  return { order: describeUnfilled(venue, after), transaction: null };
}

/**
 * The growth of a resting order counts against the agent's daily cap, atomically with the check. Preparing the same growth again counts once.
 * It is released when its transaction expires unsent, or with the order; if the transaction is mined after all, it counts again.
 */
function growthOf(venue: Venue, { agent, trader, scope }: AgentCaller, { known, order, collateral, write }: Change): OrderChange['growth'] {
  const growth = order.sizeCollateral - known.order.sizeCollateral;
  if (growth <= 0n) return null;
  const usd = notionalUsd({ sizeCollateral: growth, collateral });
  const account = { chain: venue.definition.slug, agent, trader, day: utcDay(venue.clock.now()) };
  const { expiresAt } = write.transaction;
  return { reservation: { ...account, id: `${known.id}/${order.sizeCollateral}`, usd, expiresAt }, capUsd: scope.dailySpendCapUsd };
}
