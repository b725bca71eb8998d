import type { AgentCaller } from '../../../core/access/caller.js';
import type { Intent } from '../../../core/domain/intent.js';
import { isSettled, type OrderStatus } from '../../../core/domain/order.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { indexOf } from '../../../core/trading/find-order.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import { isOverdue, reclaimableAt } from '../../../core/trading/reclaim-time.js';
import { watchOrders } from './await-orders.js';
import {
  comesTrue,
  isKnown,
  leftOf,
  queueCancel,
  sendCancel,
  uncontested,
  type CancelOutcome,
  type ReplaceJobContext,
  type Work,
} from './cancel-work.js';
import { removeChild } from './change-child.js';
import { findTarget, identityOf, isAwaited, keptPrice, triggerOfOrder, type OrderName, type Target } from '../plan/find-target.js';
import {
  CANCELED,
  isOver,
  type RelayJob,
  type RelayPurpose,
  type RelayState,
  type SignedAction,
} from '../../../core/ports/stores/relay.js';
import { requireLane } from '../../../core/trading/place-order.js';
import type { Address } from '../../../core/types.js';

export interface CancelItem {
  readonly item: number;
  readonly name: OrderName;
  /** As given by the bot; an order of another market does not match. */
  readonly pairIndex: number | null;
}

export interface CancelOptions {
  readonly items: readonly CancelItem[];
  readonly holdMs: number;
  readonly purpose?: RelayPurpose;
}

/** Cancels orders. An order counts as gone only when the chain confirms it: until then it may be filled, and is reported as executing. */
export async function relayCancels(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { items, holdMs, purpose = 'action' }: CancelOptions,
): Promise<CancelOutcome[]> {
  const watch = watchOrders(gateway, venue, caller.trader);
  const end = venue.clock.now() + holdMs;
  const work: Work = { gateway, venue, caller, action, watch, end, purpose };
  try {
    // An order named twice is canceled once.
    const once = new Map<string, Promise<CancelOutcome>>();
    return await Promise.all(
      items.map((item) => {
        const key = `${'oid' in item.name ? item.name.oid : item.name.cloid} ${item.pairIndex}`;
        const running = once.get(key) ?? cancelOne(work, item);
        once.set(key, running);
        return running;
      }),
    );
  } finally {
    watch.stop();
  }
}

const GONE: CancelOutcome = { kind: 'gone' };

/** A cloid that an order kept because the change to another one failed refers to that order again. */
async function cancelOne(work: Work, request: CancelItem, before: Target | null = null): Promise<CancelOutcome> {
  const target = await uncontested(work, request.name, await settledTarget(work, request.name));
  if (target === 'contested') return STILL_THERE;
  if (target === null || (request.pairIndex !== null && target.pairIndex !== request.pairIndex)) return GONE;
  if (before !== null && (identityOf(before) === identityOf(target) || isNewerThan(work, target))) return GONE;
  const outcome = await cancelTarget(work, request.item, target);
  return outcome.kind === 'gone' && 'cloid' in request.name ? cancelOne(work, request, target) : outcome;
}

/** Placed by an action that came after this one. */
const isNewerThan = ({ action }: Work, { record }: Target): boolean => record === null || record.action >= action.id;

async function cancelTarget(work: Work, item: number, target: Target): Promise<CancelOutcome> {
  try {
    const outcomes = [
      ...(await Promise.all(target.orders.map((order) => cancelOrder(work, item, order)))),
      ...(await Promise.all(target.triggers.map((trigger) => removeTrigger(work, item, trigger, target.record)))),
      ...(await Promise.all((target.children ?? []).map((child) => removeChild(work, item, child)))),
    ];
    return worst(outcomes);
  } catch (error) {
    if (isKnown(error)) return { kind: 'failed', error };
    throw error;
  }
}

/** Waits for a pending parent, as its child is only found once the parent is on chain. */
async function settledTarget(work: Work, name: OrderName): Promise<Target | null> {
  const { gateway, venue, caller, watch } = work;
  const target = await findTarget(gateway, venue, caller, name);
  const waiting = (target?.children ?? []).filter(({ parent }) => !isSettled(parent.order.status)).map(({ parent }) => parent.id);
  if (waiting.length === 0) return target;
  await watch.settled(waiting, leftOf(work));
  return findTarget(gateway, venue, caller, name);
}

/** The outcome of several parts: executing if any part is, otherwise done if any part was. */
function worst(outcomes: readonly CancelOutcome[]): CancelOutcome {
  return outcomes.find(({ kind }) => kind === 'executing') ?? outcomes.find(({ kind }) => kind === 'done') ?? GONE;
}

const IS_OVER: ReadonlySet<OrderStatus> = new Set(['filled', 'rejected', 'canceled']);

/** An order that expired and was never signed cannot reach the chain. */
const isGone = ({ order: { status }, hashes }: KnownOrder): boolean => IS_OVER.has(status) || (status === 'expired' && hashes.length === 0);

async function cancelOrder(work: Work, item: number, known: KnownOrder): Promise<CancelOutcome> {
  const { gateway, venue, caller, watch } = work;
  if (isGone(known)) return GONE;
  if (known.order.status === 'prepared' && (await withdrawQueued(gateway, venue, caller.trader, known.id))) return { kind: 'done' };
  const isWaiting = known.order.status === 'prepared' || known.order.status === 'pending';
  if (isWaiting && !(await isNeverSent(work, known.id))) await watch.settled([known.id], leftOf(work));
  const now = isWaiting ? await gateway.store.orders.find(venue.definition.slug, caller.trader, known.id) : known;
  if (now === null || isGone(now)) return GONE;
  if (now.orderKey === null && (await isNeverSent(work, now.id))) return GONE;
  const trigger = triggerOfOrder(now);
  if (trigger !== null) return removeTrigger(work, item, trigger, null);
  const intent = cancelIntentOf(venue, now);
  if (intent === null) return { kind: 'executing', reclaimableAt: reclaimableAt(venue, now.order) ?? null };
  const sent = await sendCancel(work, { item, intent, orderId: now.id }).catch(async (error: unknown) => {
    // Checked again before the error is returned: the order may have been filled meanwhile.
    const last = await gateway.store.orders.find(venue.definition.slug, caller.trader, now.id);
    if (last !== null && !isGone(last)) throw error;
    return 'gone' as const;
  });
  if (sent === 'gone') return GONE;
  await watch.over([now.id], leftOf(work));
  const after = await gateway.store.orders.find(venue.definition.slug, caller.trader, now.id);
  if (after?.order.status === 'canceled') return { kind: 'done' };
  return after !== null && IS_OVER.has(after.order.status) ? GONE : { kind: 'executing', reclaimableAt: null };
}

/** Its transaction was refused, or its nonce used by a no-op: it can no longer reach the chain. */
async function isNeverSent({ gateway, venue }: Work, id: bigint): Promise<boolean> {
  const jobs = await gateway.store.relay.jobsOfOrder(venue.definition.slug, id);
  const own = jobs.filter(({ purpose }) => purpose === 'action');
  return own.length > 0 && own.every(({ state }) => state === 'refused' || state === 'replaced');
}

function cancelIntentOf(venue: Venue, { order, orderKey }: KnownOrder): Intent | null {
  if (orderKey === null) return null;
  if (order.status === 'open') return { kind: 'withdraw', tradeIndex: indexOf(orderKey) };
  const isUnanswered = order.status === 'timed_out' || (order.status === 'pending' && isOverdue(venue, order));
  return isUnanswered ? { kind: 'reclaim', requestIndex: indexOf(orderKey) } : null;
}

const isReplacement = (context: unknown): boolean => (context as Partial<ReplaceJobContext> | null)?.kind === 'replace';

/**
 * Cancels an order that is still in the relayer's queue, so that it never gets a nonce. False if it may already be sent, or if it replaces
 * another one: that one would stay in its place.
 */
async function withdrawQueued({ store }: Gateway, { definition, clock }: Venue, trader: Address, id: bigint): Promise<boolean> {
  const { slug } = definition;
  const jobs = await store.relay.jobsOfOrder(slug, id);
  if (jobs.length === 0 || jobs.some(({ state, context }) => state !== 'queued' || isReplacement(context))) return false;
  const refused = await Promise.all(jobs.map((job) => store.relay.refuse(slug, job.id, CANCELED)));
  return refused.every((job) => job !== null) && store.orders.giveUp(slug, trader, id, clock.now());
}

/**
 * Removes only the trigger of this order. It waits for pending changes: one could arrive after the removal was confirmed, or be removed in
 * place of this trigger. One that comes between the check and the signature makes the relayer refuse the removal; then it is checked again.
 */
async function removeTrigger(work: Work, item: number, trigger: NamedTrigger, record: Target['record']): Promise<CancelOutcome> {
  const { tradeIndex, kind } = trigger;
  const intent: Intent = { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null };
  for (;;) {
    if (!(await comesTrue(work, async () => !(await isTriggerAwaited(work, trigger))))) return STILL_THERE;
    const price = await priceOf(work, trigger);
    if (price === null) return GONE;
    try {
      requireLane(work.venue, work.caller);
      return await removalOf(work, trigger, await queueCancel(work, { item, intent, orderId: null, price }));
    } catch (error) {
      if (isKnown(error) && (await isTakenOver(work, trigger, record))) return GONE;
      const isReplaced = (await isTriggerAwaited(work, trigger)) || (await priceOf(work, trigger)) === null;
      if (!isKnown(error) || !isReplaced) throw error;
    }
  }
}

/** The trigger is also gone if it closed its position first. Then the removal reverts, and the answer must not be that it was canceled. */
async function removalOf(work: Work, trigger: NamedTrigger, job: RelayJob | null): Promise<CancelOutcome> {
  const stateNow = async (): Promise<RelayState> => {
    const now = job && (await work.gateway.store.relay.job(work.venue.definition.slug, job.id));
    return now?.state ?? 'queued';
  };
  const isGoneNow = async (): Promise<boolean> => isOver(await stateNow()) && (await priceOf(work, trigger)) === null;
  if (!(await comesTrue(work, isGoneNow))) return STILL_THERE;
  return (await stateNow()) === 'mined' ? { kind: 'done' } : GONE;
}

type NamedTrigger = Target['triggers'][number];
const STILL_THERE: CancelOutcome = { kind: 'executing', reclaimableAt: null };

const isTriggerAwaited = ({ gateway, venue, caller }: Work, trigger: NamedTrigger): Promise<boolean> =>
  isAwaited(gateway, venue, caller, trigger);

/** Whether another order has set the trigger again, also at the same price. */
async function isTakenOver(
  { gateway, venue, caller }: Work,
  { tradeIndex, kind }: NamedTrigger,
  record: Target['record'],
): Promise<boolean> {
  const now = record && (await findTarget(gateway, venue, caller, { oid: record.oid }));
  return now !== null && !now.triggers.some((other) => other.tradeIndex === tradeIndex && other.kind === kind);
}

/** The price at which exactly this trigger stands: with another one it is another order's, unless the contract changed the price. Null if it does not. */
async function priceOf({ gateway, venue, caller }: Work, trigger: NamedTrigger): Promise<bigint | null> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const position = positions.find(({ tradeIndex }) => tradeIndex === trigger.tradeIndex)?.position;
  const stands = position?.[trigger.kind] ?? 0n;
  if (position === undefined || stands === 0n) return null;
  return stands === trigger.price || stands === keptPrice(venue.feed.config(), position, trigger) ? stands : null;
}
