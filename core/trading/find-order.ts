import type { AgentCaller } from '../access/caller.js';
import { describeOrder, type Order } from '../account/describe-order.js';
import type { OrderKey } from '../domain/chain-event.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import type { PreparedTransaction } from './prepare-transaction.js';
import { reclaimableAt } from './reclaim-time.js';

export interface PreparedOrder {
  order: Order;
  /** null when nothing has to reach the chain. */
  transaction: PreparedTransaction | null;
  /** What the same transaction makes beside the order; absent where it makes nothing else. */
  others?: Order[];
}

const ID = /^[1-9]\d{0,15}$/;

/** Another trader's order is not there. */
export async function findOrder({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, id: string): Promise<KnownOrder> {
  const known = ID.test(id) ? await store.orders.find(definition.slug, trader, BigInt(id)) : null;
  if (known === null) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return known;
}

/** For an order that has no fill yet; `order` in place of the stored one where a change was asked for. */
export const describeUnfilled = (venue: Venue, known: KnownOrder, order = known.order): Order =>
  describeOrder(venue.feed.config(), { ...known, order }, new Map());

/** Not in a state that accepts the change; with the time from which an unanswered request can be had back. */
export function notModifiable(venue: Venue, { id, order }: Pick<KnownOrder, 'id' | 'order'>, reason?: string): GatewayError {
  const at = reclaimableAt(venue, order);
  return new GatewayError('ORDER_NOT_MODIFIABLE', {
    id: id.toString(),
    status: order.status,
    ...(at === undefined ? {} : { reclaimableAt: at }),
    ...(reason === undefined ? {} : { reason }),
  });
}

/** The number in an order's place: the slot of a resting order, the index of a request. */
export const indexOf = (orderKey: OrderKey): number => Number(orderKey.slice(orderKey.indexOf(':') + 1));

/** Whether a transaction holds bytes that were handed out for the order, the last or those from before it was handed out afresh. */
export function carries({ transaction, formerData }: KnownOrder, input: Hex): boolean {
  const text = input.toLowerCase();
  const given = [...(transaction === null ? [] : [transaction.data]), ...formerData];
  return given.some((data) => text.includes(data.slice(2).toLowerCase()));
}

/** What the contract says when somebody or something was faster, in words of ours. */
const OVERTAKEN: Readonly<Record<string, string>> = {
  PendingTrigger: 'a keeper is executing it',
  DoesntExist: 'it is no longer on chain',
  NoTrade: 'it is no longer on chain',
  NoOrder: 'it is no longer on chain',
  WrongTradeType: 'it is no longer on chain',
  WaitTimeout: 'the oracle still has time to answer',
};

/** A write that only the order's own state can refuse is a conflict, not a failed simulation. */
export async function unlessOvertaken<Result>(venue: Venue, known: KnownOrder, attempt: Promise<Result>): Promise<Result> {
  try {
    return await attempt;
  } catch (error) {
    const reason = isReverted(error) ? OVERTAKEN[error.details.errorName] : undefined;
    throw reason === undefined ? error : notModifiable(venue, known, reason);
  }
}

export const isReverted = (error: unknown): error is GatewayError<'SIMULATION_REVERTED'> =>
  error instanceof GatewayError && error.code === 'SIMULATION_REVERTED';

export const tooManyUnsent = ({ clock }: Venue, earliestExpiry: number): GatewayError =>
  new GatewayError('RATE_LIMITED', {
    scope: 'agent-writes',
    retryAfterSeconds: Math.max(1, Math.ceil((earliestExpiry - clock.now()) / 1000)),
  });
