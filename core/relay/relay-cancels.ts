import type { AgentCaller } from '../access/caller.js';
import type { Intent } from '../domain/intent.js';
import type { OrderStatus } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { indexOf } from '../orders/find-order.js';
import type { KnownOrder } from '../orders/orders-store.js';
import { prepareTransaction } from '../orders/prepare-transaction.js';
import { isOverdue, reclaimableAt } from '../orders/reclaim-time.js';
import { watchOrders, type OrderWatch } from './await-orders.js';
import { findTarget, type OrderName, type Target } from './find-target.js';
import type { RelayPurpose, SignedAction } from './relay-store.js';
import { sendWrite } from './send-write.js';

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
    return await Promise.all(items.map((item) => cancelOne(work, item)));
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
      ...(await Promise.all(target.protections.map((protection) => unprotect(work, item, protection)))),
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

async function cancelOrder(work: Work, item: number, known: KnownOrder): Promise<CancelOutcome> {
  const { gateway, venue, caller, watch } = work;
  if (IS_OVER.has(known.order.status) || (known.order.status === 'expired' && known.hashes.length === 0)) return GONE;
  const isWaiting = known.order.status === 'prepared' || known.order.status === 'pending';
  if (isWaiting) await watch.settled([known.id], leftOf(work));
  const now = isWaiting ? await gateway.store.orders.find(venue.definition.slug, caller.trader, known.id) : known;
  if (now === null || IS_OVER.has(now.order.status)) return GONE;
  const intent = takeBack(venue, now);
  if (intent === null) return { kind: 'executing', reclaimableAt: reclaimableAt(venue, now.order) ?? null };
  const isSent = await send(work, item, intent, now.id);
  if (!isSent) return GONE;
  await watch.over([now.id], leftOf(work));
  const after = await gateway.store.orders.find(venue.definition.slug, caller.trader, now.id);
  if (after?.order.status === 'canceled') return { kind: 'done' };
  return after !== null && IS_OVER.has(after.order.status) ? GONE : { kind: 'executing', reclaimableAt: null };
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

async function unprotect(work: Work, item: number, { tradeIndex, kind, price }: Target['protections'][number]): Promise<CancelOutcome> {
  const { gateway, venue, caller } = work;
  const positions = await gateway.store.account.openPositions(venue.definition.slug, caller.trader);
  const position = positions.find((listed) => listed.tradeIndex === tradeIndex)?.position;
  // The contract may have clamped a stop loss: what is there now is what was meant.
  const isThere = position !== undefined && (kind === 'tp' ? position.tp === price : position.sl !== 0n);
  if (!isThere) return GONE;
  await send(work, item, { kind: 'protect', tradeIndex, tp: kind === 'tp' ? 0n : null, sl: kind === 'sl' ? 0n : null }, null);
  return { kind: 'done' };
}
