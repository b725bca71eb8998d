import type { AgentCaller } from '../access/caller.js';
import { describeOrder, type Order } from '../account/describe-order.js';
import type { OrderKey } from '../domain/chain-event.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { fromNode } from '../ports/chain.js';
import type { Hex } from '../types.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import type { PreparedTransaction } from './prepare-transaction.js';
import { reclaimableAt } from './reclaim-time.js';

export interface PreparedOrder {
  order: Order;
  /** null when no transaction is needed. */
  transaction: PreparedTransaction | null;
  /** Other orders created by the same transaction; absent if there are none. */
  others?: Order[];
}

const ID = /^[1-9]\d{0,15}$/;

/** Orders of another trader are reported as not found. */
export async function findOrder(
  { store }: Gateway,
  { definition }: Venue,
  { trader }: Pick<AgentCaller, 'trader'>,
  id: string,
): Promise<KnownOrder> {
  const known = ID.test(id) ? await store.orders.find(definition.slug, trader, BigInt(id)) : null;
  if (known === null) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return known;
}

/** For an order without fills; `order` replaces the stored one when a change is prepared. */
export const describeUnfilled = (venue: Venue, known: KnownOrder, order = known.order): Order =>
  describeOrder(venue.feed.config(), { ...known, order }, new Map());

/** The order's status does not accept the change; includes the time from which an unanswered request can be reclaimed. */
export function notModifiable(venue: Venue, { id, order }: Pick<KnownOrder, 'id' | 'order'>, reason?: string): GatewayError {
  const at = reclaimableAt(venue, order);
  return new GatewayError('ORDER_NOT_MODIFIABLE', {
    id: id.toString(),
    status: order.status,
    ...(at === undefined ? {} : { reclaimableAt: at }),
    ...(reason === undefined ? {} : { reason }),
  });
}

/** The number in an order key: the slot of a resting order, or the index of a request. */
export const indexOf = (orderKey: OrderKey): number => Number(orderKey.slice(orderKey.indexOf(':') + 1));

/** Whether a resting order asks for a counter trade's terms. None that is prepared here does, so the chain is asked about others only. */
export async function isCounterTrade(venue: Venue, { agent, order, orderKey }: KnownOrder): Promise<boolean> {
  if (agent !== null || orderKey === null) return false;
  const [found] = await fromNode(venue.chain.trades([{ trader: order.trader, tradeIndex: indexOf(orderKey) }], null));
  return found?.trade.isCounterTrade === true;
}

/** Whether a transaction contains calldata prepared for the order, current or from before a renewal. */
export function carries({ transaction, formerData }: KnownOrder, input: Hex): boolean {
  const text = input.toLowerCase();
  const given = [...(transaction === null ? [] : [transaction.data]), ...formerData];
  return given.some((data) => text.includes(data.slice(2).toLowerCase()));
}

/** What a contract error says of an order that changed on chain in the meantime. */
interface Overtaken {
  /** The published reason. */
  readonly reason: string;
  /** False: it is being executed, and may come back. */
  readonly isGone: boolean;
}

const GONE: Overtaken = { reason: 'it is no longer on chain', isGone: true };
const OVERTAKEN: Readonly<Record<string, Overtaken>> = {
  PendingTrigger: { reason: 'a keeper is executing it', isGone: false },
  DoesntExist: GONE,
  NoTrade: GONE,
  NoOrder: GONE,
  WrongTradeType: GONE,
  WaitTimeout: { reason: 'the oracle still has time to answer', isGone: false },
};

/** Undefined for any other error, such as that of a pause: the order is as it was. */
export const overtakenBy = (error: unknown): Overtaken | undefined => (isReverted(error) ? OVERTAKEN[error.details.errorName] : undefined);

/** Reports a revert caused by the order's own state as a conflict instead of a failed simulation. */
export async function unlessOvertaken<Result>(venue: Venue, known: KnownOrder, attempt: Promise<Result>): Promise<Result> {
  try {
    return await attempt;
  } catch (error) {
    const reason = overtakenBy(error)?.reason;
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
