import { requireDelegate } from '../access/agent-status.js';
import type { AgentCaller } from '../access/caller.js';
import { getOrder } from '../account/list-orders.js';
import { checkMarket } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Hex } from '../types.js';
import { requireSession, prepareOpening, type CheckedOrder } from './prepare-order.js';
import { describeUnfilled, type PreparedOrder } from './find-order.js';
import { fingerprintOf, isSameRequest, orderMarket, readOpening, type OrderRequest } from './order-request.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import { describePlaced, draftsOf, placeOrder, refusalOf, type OrderToPlace } from './place-order.js';
import { transactionOf } from './prepare-transaction.js';
import { prepareReduction } from './reduce-order.js';
import { tagsIn } from './encode-intent.js';

/**
 * Checks, simulates and stores an order, and returns it with the transaction that places it. A clientId is idempotent per trader: repeated and
 * concurrent requests return the same order.
 */
export async function createOrder(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<PreparedOrder> {
  const { clientId } = request;
  const known = clientId === undefined ? null : await gateway.store.orders.findByClientId(venue.definition.slug, caller.trader, clientId);
  if (known !== null) return answerKnown(gateway, venue, caller, request, known);
  const order = await prepare(gateway, venue, caller, request);
  const placed = await placeOrder(gateway, venue, caller, order);
  // A concurrent request with the same clientId may have been stored first; then its order is returned.
  if (placed.kind === 'known') return answerKnown(gateway, venue, caller, request, placed.stored);
  return describePlaced(venue, placed, order.legs[0].write);
}

interface Checked extends OrderToPlace {
  readonly legs: readonly [CheckedOrder, ...CheckedOrder[]];
}

async function prepare(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<Checked> {
  const legs = await (request.reduceOnly ? prepareReduction : prepareEntry)(gateway, venue, caller, request);
  return { legs, clientId: request.clientId ?? null, fingerprint: fingerprintOf(gateway, venue, request) };
}

async function prepareEntry(gateway: Gateway, venue: Venue, caller: AgentCaller, request: OrderRequest): Promise<Checked['legs']> {
  const market = orderMarket(venue, request);
  checkMarket(caller.scope, market.symbol);
  // Checked before the figures: a closed market may have no price, a disabled one no valid leverage.
  requireSession(venue, market, request.type);
  return [await prepareOpening(gateway, venue, caller, readOpening(venue, market, request))];
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
  { id, order: former }: KnownOrder,
): Promise<PreparedOrder> {
  const { slug } = venue.definition;
  const order = await prepare(gateway, venue, caller, request);
  if (former.status === 'prepared') await gateway.store.orders.expire(slug, venue.clock.now());
  const [draft, ...others] = draftsOf(gateway, order).flatMap((each) => each ?? []);
  if (draft === undefined) throw new TypeError('an order without a leg');
  const placed = await gateway.store.orders.renew(slug, id, draft, others);
  const { write } = order.legs[0];
  if (placed.kind === 'placed') return describePlaced(venue, { orders: [placed.stored, ...placed.others] }, write);
  if (placed.kind === 'moved-on') return { order: await getOrder(gateway, venue, caller, id.toString()), transaction: null };
  throw refusalOf(venue, { draft, write }, placed);
}
