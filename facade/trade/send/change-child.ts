import type { AgentCaller } from '../../../core/access/caller.js';
import type { AmendIntent } from '../../../core/domain/intent.js';
import { marketView } from '../../../core/domain/pricing/market-view.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { indexOf } from '../../../core/trading/find-order.js';
import { storedStopLoss } from '../../../core/trading/order-request.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import { prepareTransaction } from '../../../core/trading/prepare-transaction.js';
import { askedLevel, isOver as isChildOver, type Child } from '../plan/find-target.js';
import { soonest, watchOrders } from './await-orders.js';
import { comesTrue, isKnown, leftOf, requireSent, sendCancel, type CancelOutcome, type Work } from './cancel-work.js';
import { closingSlippageOf, recordOf } from './send-item.js';
import { failed, unsupported, type ExchangeItem, type ItemOutcome } from '../plan/plan-items.js';
import { isOver, type RelayState, type SignedAction } from '../../../core/ports/stores/relay.js';
import { sendAmend } from '../../../core/trading/place-order.js';

/** Lets the relayer re-encode the job before signing: the resting order with only one level changed. */
export interface ChildJobContext {
  readonly kind: 'child';
  readonly item: number;
  readonly intent: AmendIntent;
  /** The level that its order has once the change is mined, at the price at which the contract stores it. */
  readonly level: Child['level'];
  /** Gives the coin in which its prices are expressed. */
  readonly context: { readonly pairIndex: number };
}

type Level = Child['level']['kind'];

/** The contract overwrites a whole resting order, so everything but the level is repeated. */
export function withLevel({ order, orderKey }: Pick<KnownOrder, 'order' | 'orderKey'>, kind: Level, price: bigint): AmendIntent | null {
  if (orderKey === null || order.status !== 'open') return null;
  const { price: trigger, tp, sl, slippageP } = order;
  return { kind: 'amend', tradeIndex: indexOf(orderKey), price: trigger, tp, sl, slippageP, [kind]: price };
}

type Gone = Extract<CancelOutcome, { kind: 'gone' }>;

const STILL_THERE: CancelOutcome = { kind: 'executing', reclaimableAt: null };

/**
 * A change overwrites all of the order, so one based on old levels would undo another. Each is based on the order as it is while no other
 * change is under way. The store refuses it if another one, here or on another replica, came first: then it is made again, unless that one
 * replaced or removed the child. Null if the reply's time is up before.
 */
async function inTurn<Result>(
  work: Work,
  { record, parent: { id } }: Child,
  change: (parent: KnownOrder) => Promise<Result | null>,
): Promise<Result | Gone | null> {
  const { gateway, venue, caller } = work;
  for (;;) {
    const parent = await quietParent(work, id);
    if (parent === null) return null;
    if (await isChildOver(gateway, venue, caller, record.oid)) return { kind: 'gone' };
    const changed = await change(parent);
    if (changed !== null || leftOf(work) === 0) return changed;
  }
}

async function quietParent(work: Work, id: bigint): Promise<KnownOrder | null> {
  const { gateway, venue, caller } = work;
  const { slug } = venue.definition;
  const read = (): Promise<KnownOrder | null> => gateway.store.orders.find(slug, caller.trader, id);
  const key = (await read())?.orderKey ?? null;
  if (key === null) return null;
  const isQuiet = await comesTrue(work, async () => !(await gateway.store.exchange.isAmended(slug, caller.trader, indexOf(key))));
  return isQuiet ? read() : null;
}

/** Removes a level from a resting order. */
export const removeChild = async (work: Work, item: number, child: Child): Promise<CancelOutcome> =>
  (await inTurn(work, child, (parent) => takeOff(work, item, parent, child.level))) ?? STILL_THERE;

/** Null if the order has to be read again. */
async function takeOff(work: Work, item: number, parent: KnownOrder, level: Child['level']): Promise<CancelOutcome | null> {
  const intent = withLevel(parent, level.kind, 0n);
  if (intent === null) return STILL_THERE;
  const amendment = { tradeIndex: intent.tradeIndex, amended: parent, child: null };
  const sent = await sendCancel(work, { item, intent, orderId: parent.id, amendment });
  if (sent === 'outdated') return null;
  const isGone = sent === 'sent' && (await comesTrue(work, async () => (await levelNow(work, parent.id, level.kind)) === 0n));
  // If it was filled meanwhile, the position has the level, and the next cancel finds it there.
  return isGone ? { kind: 'done' } : STILL_THERE;
}

/** null if the order does not rest any more. */
async function levelNow(
  { gateway, venue, caller }: Pick<Work, 'gateway' | 'venue' | 'caller'>,
  id: bigint,
  kind: Level,
): Promise<bigint | null> {
  const now = await gateway.store.orders.find(venue.definition.slug, caller.trader, id);
  return now?.order.status === 'open' ? now.order[kind] : null;
}

export interface ChildChange {
  readonly child: Child;
  readonly item: ExchangeItem;
  readonly end: number;
}

const NOT_THE_SAME = 'A take profit or stop loss of an order that rests can only get another price.';
const NOT_MADE =
  'The change of the take profit or stop loss failed on chain: the order was filled or canceled first, or could not be changed.';
const ON_ITS_WAY = 'Another change of the same order is on its way.';

/** Changes the price of a resting order's level: a new order of the bot replaces the old one. */
export async function changeChild(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { child, item, end }: ChildChange,
): Promise<ItemOutcome | Gone> {
  const { parent, level, record } = child;
  const asked = askedLevel(item.order);
  const isSame = item.order.style.kind === 'trigger' && asked.kind === level.kind && item.order.isBuy === record.order.isBuy;
  const isAll = item.order.size === 0n || item.order.size === record.order.size;
  if (!isSame || !isAll || withLevel(parent, level.kind, asked.price) === null) return unsupported(NOT_THE_SAME);
  const watch = watchOrders(gateway, venue, caller.trader);
  const work: Work = { gateway, venue, caller, action, watch, end, purpose: 'action' };
  const sending = { hasBegun: false };
  try {
    return (await inTurn(work, child, (now) => putChild(work, item, child, { parent: now, sending }))) ?? unsupported(ON_ITS_WAY);
  } catch (error) {
    // After a database failure the change may be stored, and would then be sent: it must not be reported as refused.
    if (sending.hasBegun && isKnown(error) && error.code === 'NOT_READY') throw error;
    return failed(error).outcome;
  } finally {
    watch.stop();
  }
}

/** Null if the order has to be read again. */
async function putChild(
  work: Work,
  item: ExchangeItem,
  { level, record }: Child,
  { parent, sending }: { readonly parent: KnownOrder; readonly sending: { hasBegun: boolean } },
): Promise<ItemOutcome | null> {
  const { gateway, venue, caller, action, watch } = work;
  const asked = askedLevel(item.order);
  const intent = withLevel(parent, level.kind, asked.price);
  if (intent === null) return unsupported(NOT_THE_SAME);
  const beyond = beyondCapOf(gateway, venue, parent, intent);
  if (beyond !== null) return beyond;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const sizeBase = record.legs.reduce((sum, leg) => sum + leg.sizeBase, 0n);
  const stored = { kind: level.kind, price: level.kind === 'sl' ? keptStop(venue, parent, intent) : asked.price };
  const own = recordOf(venue, caller, action, { asked: item, manner: 'protection' });
  const made = { ...own, parentOrder: parent.id, sizeBase, trigger: stored };
  const context: ChildJobContext = { kind: 'child', item: item.item, intent, level: stored, context: { pairIndex: item.pairIndex } };
  sending.hasBegun = true;
  const newCloid = item.cloid === record.cloid ? null : item.cloid;
  const amendment = { tradeIndex: intent.tradeIndex, amended: parent, child: made, newCloid, ...closingSlippageOf(item) };
  const queued = await sendAmend(venue, caller, { action, orderId: null, write, context }, amendment);
  if (queued === null) {
    sending.hasBegun = false;
    return null;
  }
  const { job, handedOver, oid } = queued;
  if (oid === null) throw new TypeError('a child without a number');
  await soonest(venue, watch, [handedOver.then(requireSent)], leftOf(work));
  const stateNow = async (): Promise<RelayState> => (await gateway.store.relay.job(venue.definition.slug, job.id))?.state ?? job.state;
  await comesTrue(work, async () => {
    const state = await stateNow();
    // The new order has its level as soon as its job is settled, which can be later than the level is indexed.
    if (!isOver(state)) return false;
    return state !== 'mined' || asked.price === level.price || (await levelNow(work, parent.id, level.kind)) !== level.price;
  });
  const state = await stateNow();
  if (isOver(state) && state !== 'mined') return unsupported(NOT_MADE);
  return { kind: 'resting', oid, txHash: null, mayOpen: false };
}

/** The contract moves a stop loss that is too far away, or keeps none. */
function keptStop(venue: Venue, { order }: KnownOrder, { sl }: AmendIntent): bigint {
  const view = sl === 0n ? null : marketView(venue.feed.config(), order);
  return view === null ? sl : storedStopLoss(view, { ...order, sl });
}

function beyondCapOf({ facade }: Gateway, venue: Venue, parent: KnownOrder, intent: AmendIntent): ItemOutcome | null {
  const { order } = parent;
  const { sl } = intent;
  const kept = keptStop(venue, parent, intent);
  if (kept === sl || (kept !== 0n && facade.stopBeyondCap === 'move')) return null;
  return { kind: 'stop-beyond-cap', nearest: kept === 0n ? null : kept, long: order.long };
}
