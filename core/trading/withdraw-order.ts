import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { marketName } from '../account/describe-order.js';
import { checkMarket } from '../domain/agent.js';
import type { WithdrawIntent, ReclaimIntent } from '../domain/intent.js';
import type { Gateway, Venue } from '../gateway.js';
import { removeLevel, restingLevel } from './change-level.js';
import { describeUnfilled, findOrder, indexOf, notModifiable, unlessOvertaken, type PreparedOrder } from './find-order.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import { prepareTransaction } from './prepare-transaction.js';
import { isOverdue } from './reclaim-time.js';

/** Cancels a resting order, removes a TP/SL, reclaims an unanswered request, or drops an unsent order at once. */
export async function withdrawOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, id: string): Promise<PreparedOrder> {
  const known = await findOrder(gateway, venue, caller, id);
  checkMarket(caller.scope, marketName(venue.feed.config(), known.order.pairIndex));
  if (known.order.status === 'prepared') return giveUp(gateway, venue, caller, known);
  const level = restingLevel(known);
  if (level !== null) return removeLevel(gateway, venue, caller, level);
  const intent = intentFor(venue, known);
  if (intent === null) throw notModifiable(venue, known);
  const { transaction } = await unlessOvertaken(venue, known, prepareTransaction(gateway, venue, caller, { intent, takes: null }));
  return { order: describeUnfilled(venue, known), transaction };
}

function intentFor(venue: Venue, { order, orderKey }: KnownOrder): WithdrawIntent | ReclaimIntent | null {
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
