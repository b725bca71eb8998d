import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { getOrder } from '../account/list-orders.js';
import { checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { requireSession } from './check-order.js';
import { describeUnfilled, type PreparedOrder, tooManyUnsent } from './find-order.js';
import { fingerprintOf, isSameRequest, orderMarket, readOpening, type OrderRequest } from './order-request.js';
import type { Draft, KnownOrder, Placed } from '../ports/stores/orders.js';
import { prepareOpening, refusalOf, type DraftedWrite } from './prepare-order.js';
import { transactionOf } from './prepare-transaction.js';
import { draftReduction } from './reduce-order.js';
import { tagsIn } from './tag.js';

/**
 * Checks, simulates and stores an order, and returns it with the transaction that places it. A clientId is idempotent per trader: repeated and
 * concurrent requests return the same order.
 */
export async function placeOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<PreparedOrder> {
  const { clientId } = request;
  const known = clientId === undefined ? null : await gateway.store.orders.findByClientId(venue.definition.slug, caller.trader, clientId);
  if (known !== null) return answerKnown(gateway, venue, caller, request, known);
  const made = await draft(gateway, venue, caller, request);
  return withOthers(gateway, venue, caller, made, async () =>
    answerPlaced(gateway, venue, caller, request, made, await gateway.store.orders.place(made.draft)),
  );
}

interface Made extends DraftedWrite {
  /** Other orders created by the same transaction. */
  readonly others?: readonly Draft[];
}

/**
 * Stores the other orders of a transaction before the first, which alone has the clientId, so that a client that sees the first sees all of
 * them. If the first is not placed, the others are given up; their transaction was never returned.
 */
async function withOthers(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { others = [], write: { transaction } }: Made,
  place: () => Promise<PreparedOrder>,
): Promise<PreparedOrder> {
  const stored: KnownOrder[] = [];
  const giveUp = async (): Promise<void> => {
    const { slug } = venue.definition;
    for (const { id } of stored) await gateway.store.orders.giveUp(slug, caller.trader, id, venue.clock.now());
  };
  try {
    for (const other of others) {
      const placed = await gateway.store.orders.place(other);
      if (placed.kind === 'too-many') throw tooManyUnsent(venue, placed.earliestExpiry);
      if (placed.kind !== 'placed') throw new TypeError(`an order without clientId and spending cannot be ${placed.kind}`);
      stored.push(placed.stored);
    }
    const answer = await place();
    if (stored.length === 0) return answer;
    if (answer.transaction?.data === transaction.data) return { ...answer, others: stored.map((other) => describeUnfilled(venue, other)) };
    await giveUp();
    return answer;
  } catch (error) {
    await giveUp();
    throw error;
  }
}

const draft = (gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<Made> =>
  (request.reduceOnly ? draftReduction : draftOpening)(gateway, venue, caller, request);

async function draftOpening(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<Made> {
  const market = orderMarket(venue, request);
  checkMarket(caller.scope, market.symbol);
  // Checked before the figures: a closed market may have no price, a disabled one no valid leverage.
  requireSession(venue, market, request.type);
  const { draft, write } = await prepareOpening(gateway, venue, caller, readOpening(venue, market, request), {
    clientId: request.clientId ?? null,
    fingerprint: fingerprintOf(gateway, venue, request),
  });
  return { draft, write };
}

/** A concurrent request with the same clientId may have been stored first; then its order is returned. */
async function answerPlaced(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  request: OrderRequest,
  made: Made,
  placed: Placed,
): Promise<PreparedOrder> {
  if (placed.kind === 'placed') return { order: describeUnfilled(venue, placed.stored), transaction: made.write.transaction };
  if (placed.kind === 'known') return answerKnown(gateway, venue, caller, request, placed.stored);
  throw refusalOf(venue, made, placed);
}

/** Returns the same transaction while it is valid, a new one if it expired unsent, none once it was sent. */
async function answerKnown(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  request: OrderRequest,
  known: KnownOrder,
): Promise<PreparedOrder> {
  const { id, order, hashes, transaction, agent } = known;
  if (!isSameRequest(gateway, venue, request, known.fingerprint))
    throw new GatewayError('IDEMPOTENCY_CONFLICT', { clientId: request.clientId ?? '', id: id.toString() });
  const isUnsent = hashes.length === 0 && (order.status === 'prepared' || order.status === 'expired');
  const now = venue.clock.now();
  const isExpired = order.status === 'expired' || (order.expiresAt ?? 0) <= now;
  if (isUnsent && isExpired) return renew(gateway, venue, caller, request, known);
  await requireDelegate(venue, caller);
  // The transaction is for the agent it was prepared for; another agent gets its own after this one expired.
  const isOwn = isUnsent && agent === caller.agent;
  const again = isOwn && transaction !== null && order.expiresAt !== null ? transactionOf(venue, transaction, order.expiresAt) : null;
  const others = isOwn && transaction !== null ? await othersOf(gateway, venue, caller, known, transaction.data) : [];
  return {
    order: await getOrder(gateway, venue, caller, id.toString()),
    transaction: again,
    ...(others.length > 0 && { others: others.map((other) => describeUnfilled(venue, other)) }),
  };
}

/** The other orders created by the calldata of an order. */
async function othersOf(
  { store }: Gateway,
  { definition }: Venue,
  { trader }: AgentCaller,
  { id }: KnownOrder,
  data: Hex,
): Promise<KnownOrder[]> {
  const tags = tagsIn(data);
  if (tags.length < 2) return [];
  return (await store.orders.tagged(definition.slug, trader, tags)).filter((other) => other.id !== id);
}

async function renew(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  request: OrderRequest,
  { id, order }: KnownOrder,
): Promise<PreparedOrder> {
  const { slug } = venue.definition;
  const made = await draft(gateway, venue, caller, request);
  if (order.status === 'prepared') await gateway.store.orders.expire(slug, venue.clock.now());
  return withOthers(gateway, venue, caller, made, async () => {
    const placed = await gateway.store.orders.renew(slug, id, made.draft);
    if (placed.kind !== 'moved-on') return answerPlaced(gateway, venue, caller, request, made, placed);
    return { order: await getOrder(gateway, venue, caller, id.toString()), transaction: null };
  });
}
