import type { AgentCaller } from '../access/caller.js';
import type { Intent } from '../domain/intent.js';
import { marketView } from '../domain/pricing/market-view.js';
import type { OrderStatus } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { indexOf } from '../orders/find-order.js';
import { storedStopLoss } from '../orders/order-request.js';
import type { KnownOrder } from '../orders/orders-store.js';
import { prepareTransaction } from '../orders/prepare-transaction.js';
import { isOverdue, reclaimableAt } from '../orders/reclaim-time.js';
import { watchOrders, type OrderWatch } from './await-orders.js';
import type { ExchangeRecord } from './exchange-store.js';
import { findTarget, type OrderName, type Target } from './find-target.js';
import type { RelayPurpose, SignedAction } from './relay-store.js';
import { requireLane } from './require-lane.js';
import { sendWrite } from './send-write.js';
import { withdrawQueued } from './withdraw-queued.js';

export interface CancelItem {
  readonly item: number;
  readonly name: OrderName;
  /** As the bot says; an order of another market is not the one it means. */
  readonly pairIndex: number | null;
}

export type CancelOutcome =
  | { readonly kind: 'done' }
  /** Unknown, filled or canceled already. */
  | { readonly kind: 'gone' }
  /** It can still fill; when nothing does, it can be had back from then on. */
  | { readonly kind: 'executing'; readonly reclaimableAt: number | null }
  | { readonly kind: 'failed'; readonly error: GatewayError };

/** What the relayer compares with the signed action: which order it names, and that the call only takes something back. */
export interface CancelJobContext {
  readonly kind: 'cancel';
  readonly item: number;
  readonly intent: Intent;
}

export interface CancelOptions {
  readonly items: readonly CancelItem[];
  readonly holdMs: number;
  readonly purpose?: RelayPurpose;
}

/** Takes orders back. An order counts as gone only when the chain says so: until then it may be filled, and the bot is told. */
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
    // Named twice, an order is taken back once.
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

interface Work {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly caller: AgentCaller;
  readonly action: SignedAction;
  readonly watch: OrderWatch;
  readonly end: number;
  readonly purpose: RelayPurpose;
}

const GONE: CancelOutcome = { kind: 'gone' };
const isKnown = (error: unknown): error is GatewayError => error instanceof GatewayError;

async function cancelOne(work: Work, { item, name, pairIndex }: CancelItem): Promise<CancelOutcome> {
  const target = await findTarget(work.gateway, work.venue, work.caller, name);
  if (target === null || (pairIndex !== null && target.pairIndex !== pairIndex)) return GONE;
  try {
    const outcomes = [
      ...(await Promise.all(target.orders.map((order) => cancelOrder(work, item, order)))),
      ...(await Promise.all(target.protections.map((protection) => unprotect(work, item, protection, target.record)))),
    ];
    return worst(outcomes);
  } catch (error) {
    if (isKnown(error)) return { kind: 'failed', error };
    throw error;
  }
}

/** Of several parts: what still runs says it for all; what is done is done if any part was. */
function worst(outcomes: readonly CancelOutcome[]): CancelOutcome {
  return outcomes.find(({ kind }) => kind === 'executing') ?? outcomes.find(({ kind }) => kind === 'done') ?? GONE;
}

const IS_OVER: ReadonlySet<OrderStatus> = new Set(['filled', 'rejected', 'canceled']);

/** What expired and was never signed cannot reach the chain. */
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
  const intent = takeBack(venue, now);
  if (intent === null) return { kind: 'executing', reclaimableAt: reclaimableAt(venue, now.order) ?? null };
  const isSent = await send(work, item, intent, now.id);
  if (!isSent) return GONE;
  await watch.over([now.id], leftOf(work));
  const after = await gateway.store.orders.find(venue.definition.slug, caller.trader, now.id);
  if (after?.order.status === 'canceled') return { kind: 'done' };
  return after !== null && IS_OVER.has(after.order.status) ? GONE : { kind: 'executing', reclaimableAt: null };
}

/** Its transaction was refused, or its nonce went to a no-op: it cannot reach the chain any more. */
async function isNeverSent({ gateway, venue }: Work, id: bigint): Promise<boolean> {
  const jobs = await gateway.store.relay.jobsOfOrder(venue.definition.slug, id);
  return jobs.length > 0 && jobs.every(({ state }) => state === 'refused' || state === 'replaced');
}

const leftOf = ({ venue, end }: Work): number => Math.max(0, end - venue.clock.now());

function takeBack(venue: Venue, { order, orderKey }: KnownOrder): Intent | null {
  if (orderKey === null) return null;
  if (order.status === 'open') return { kind: 'withdraw', tradeIndex: indexOf(orderKey) };
  const isUnanswered = order.status === 'timed_out' || (order.status === 'pending' && isOverdue(venue, order));
  return isUnanswered ? { kind: 'reclaim', requestIndex: indexOf(orderKey) } : null;
}

/** False when the contract says that there is nothing left to take back. */
async function send(work: Work, item: number, intent: Intent, orderId: bigint | null): Promise<boolean> {
  const { gateway, venue, caller, action, purpose } = work;
  requireLane(venue, caller);
  try {
    const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
    const context: CancelJobContext = { kind: 'cancel', item, intent };
    const { handedOver } = await sendWrite(venue, caller, { action, orderId: null, write, context, purpose });
    const over = new AbortController();
    await Promise.race([handedOver, venue.clock.sleep(leftOf(work), over.signal)]);
    over.abort();
    return true;
  } catch (error) {
    if (isKnown(error) && (error.code === 'SIMULATION_REVERTED' || error.code === 'ORDER_NOT_MODIFIABLE') && orderId !== null) return false;
    throw error;
  }
}

/** One that was just asked for may not be mined yet: it is waited for, or it would come after it was called gone. */
async function unprotect(work: Work, item: number, protection: Protected, record: ExchangeRecord | null): Promise<CancelOutcome> {
  const { tradeIndex, kind } = protection;
  const isFresh = record !== null && work.venue.clock.now() - record.createdAt < FRESH_MS;
  const isThere = isFresh ? await comesTrue(work, () => isProtected(work, protection)) : await isProtected(work, protection);
  if (!isThere) return GONE;
  await send(work, item, { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null }, null);
  const isGone = await comesTrue(work, async () => !(await isProtected(work, protection)));
  return isGone ? { kind: 'done' } : { kind: 'executing', reclaimableAt: null };
}

type Protected = Target['protections'][number];
const FRESH_MS = 30_000;
const LOOK_MS = 100;

/** Within what is left of the answer's time. */
async function comesTrue(work: Work, holds: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await holds()) return true;
    if (leftOf(work) === 0) return false;
    await work.venue.clock.sleep(Math.min(LOOK_MS, leftOf(work)));
  }
}

/** Whether this very level stands: of another price it is another order's, except that the contract clamps a stop loss too far away. */
async function isProtected({ gateway, venue, caller }: Work, { tradeIndex, kind, price }: Protected): Promise<boolean> {
  const positions = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const position = positions.find((listed) => listed.tradeIndex === tradeIndex)?.position;
  if (position === undefined) return false;
  if (kind === 'tp') return position.tp === price;
  if (position.sl === price || position.sl === 0n) return position.sl === price;
  const view = marketView(venue.feed.config(), position);
  return view === null || position.sl === storedStopLoss(view, { ...position, sl: price, price: position.openPrice });
}
