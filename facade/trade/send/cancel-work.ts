import type { AgentCaller } from '../../../core/access/caller.js';
import type { Intent } from '../../../core/domain/intent.js';
import type { TranslationContext } from '../../../core/domain/relay/exchange-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { prepareTransaction } from '../../../core/trading/prepare-transaction.js';
import { findTarget, isUndecided, type OrderName, type Target } from '../plan/find-target.js';
import { soonest, watchOrders, type OrderWatch } from './await-orders.js';
import type { Amendment, RelayJob, RelayPurpose, SignedAction } from '../../../core/ports/stores/relay.js';
import { overtakenBy } from '../../../core/trading/find-order.js';
import { requireLane, sendAmend, sendWrite } from '../../../core/trading/place-order.js';

export type CancelOutcome =
  | { readonly kind: 'done' }
  /** Unknown, or already filled or canceled. */
  | { readonly kind: 'gone' }
  /** It can still fill; if it does not, it can be reclaimed from then on. */
  | { readonly kind: 'executing'; readonly reclaimableAt: number | null }
  | { readonly kind: 'failed'; readonly error: GatewayError };

/** Lets the relayer check the job against the signed action: which order it names, and that the call only cancels. */
export interface CancelJobContext {
  readonly kind: 'cancel';
  readonly item: number;
  readonly intent: Intent;
  /** Of the level that is removed from a position: with another price it is another order's. */
  readonly price?: bigint;
}

/** What the relayer needs besides the order's translation: the slot that is released in the same transaction. */
export interface ReplaceJobContext {
  readonly kind: 'replace';
  readonly item: number;
  readonly tradeIndex: number;
  readonly context: TranslationContext;
}

/** One signed action that cancels, and its deadline. */
export interface Work {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly caller: AgentCaller;
  readonly action: SignedAction;
  readonly watch: OrderWatch;
  readonly end: number;
  readonly purpose: RelayPurpose;
}

export const isKnown = (error: unknown): error is GatewayError => error instanceof GatewayError;

export const leftOf = ({ venue, end }: Pick<Work, 'venue' | 'end'>): number => Math.max(0, end - venue.clock.now());

/** The ids in these calls are never reused. A level may be set again meanwhile, which a repeated call would remove. */
const isUnique = ({ kind }: Intent): boolean => kind === 'withdraw' || kind === 'reclaim';

/** Throws if the job was not sent: there is no block to wait for. */
export function requireSent({ state, note }: RelayJob): void {
  if (state === 'refused' || state === 'replaced') throw new GatewayError('UNSUPPORTED', { reason: `Not sent: ${note ?? 'refused'}.` });
}

/** No event says what becomes of a job, so the condition is also looked at this often. */
const LOOK_MS = 100;

/** Looks with every journal entry of the trader until the condition holds, the reply's time is up or the service stops. */
export async function comesTrue(work: Pick<Work, 'venue' | 'watch' | 'end'>, holds: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    // What comes during the look may not be in what it reads.
    const seen = work.watch.entries();
    if (await holds()) return true;
    if (leftOf(work) === 0 || work.watch.ending.aborted) return false;
    await work.watch.changed(seen, Math.min(LOOK_MS, leftOf(work)));
  }
}

/**
 * Waits while a later order for the same trade is under way, which has the trigger if it is mined, and leaves it if it fails; and while this
 * order's own change of an order that rests is. Only then can be said what a cancel or change of it means; `contested` if the reply's time is
 * up before.
 */
export async function uncontested(
  work: Pick<Work, 'gateway' | 'venue' | 'caller' | 'end'>,
  name: OrderName,
  target: Target | null,
): Promise<Target | null | 'contested'> {
  const { gateway, venue, caller } = work;
  const record = target?.record;
  // Triggers that other clients set have a number and no record.
  const oid = record?.oid ?? ('oid' in name ? name.oid : null);
  if (oid === null || (record && record.manner !== 'protection')) return target;
  const mayChange = (): Promise<boolean> => isUndecided(gateway, venue, caller, oid);
  // Without a trigger it may have been read while such an order was under way, which has failed since.
  if (!(await mayChange())) return target?.triggers.length === 0 ? findTarget(gateway, venue, caller, name) : target;
  const watch = watchOrders(gateway, venue, caller.trader);
  const isFree = await comesTrue({ ...work, watch }, async () => !(await mayChange())).finally(() => watch.stop());
  return isFree ? findTarget(gateway, venue, caller, name) : 'contested';
}

export type CancelSent =
  | 'sent'
  /** The contract has nothing left to cancel. */
  | 'gone'
  /** A keeper or the oracle has it; it may come back. */
  | 'executing'
  /** Another change of the resting order came first: it has to be read again. */
  | 'outdated';

/** Undefined where the order is as it was, as during a pause. */
function refusedAs(error: unknown): CancelSent | undefined {
  const overtaken = overtakenBy(error);
  if (overtaken !== undefined) return overtaken.isGone ? 'gone' : 'executing';
  return isKnown(error) && error.code === 'ORDER_NOT_MODIFIABLE' ? 'executing' : undefined;
}

export interface CancelToSend {
  readonly item: number;
  readonly intent: Intent;
  readonly orderId: bigint | null;
  /** If a level of a resting order is removed. */
  readonly amendment?: Amendment;
  /** If a level of a position is removed: its price there. */
  readonly price?: bigint;
}

/** The job, once it is handed to a node or the reply's time is up; null if another change of the resting order came first. */
export async function queueCancel(work: Work, { item, intent, orderId, amendment, price }: CancelToSend): Promise<RelayJob | null> {
  const { gateway, venue, caller, action, watch, purpose } = work;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const context: CancelJobContext = { kind: 'cancel', item, intent, ...(price !== undefined && { price }) };
  // Without an order in the signed action its id stays with the job, so that the owner can see what canceled it.
  const relayed = { action, orderId: purpose === 'action' ? null : orderId, write, context, purpose };
  const queued = amendment
    ? await sendAmend(venue, caller, relayed, amendment)
    : await sendWrite(venue, caller, { ...relayed, isOnce: isUnique(intent) });
  if (queued === null) return null;
  await soonest(venue, watch, [queued.handedOver.then(requireSent)], leftOf(work));
  return queued.job;
}

export async function sendCancel(work: Work, asked: CancelToSend): Promise<CancelSent> {
  requireLane(work.venue, work.caller);
  try {
    return (await queueCancel(work, asked)) === null ? 'outdated' : 'sent';
  } catch (error) {
    const refused = asked.orderId === null ? undefined : refusedAs(error);
    if (refused === undefined) throw error;
    return refused;
  }
}
