import type { AgentCaller } from '../../../core/access/caller.js';
import { isSettled, type Order } from '../../../core/domain/order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { soonest, watchOrders, type OrderWatch } from './await-orders.js';
import { exchangeFacts, type ExchangeFacts } from '../plan/exchange-facts.js';
import {
  isSizedUp,
  planExact,
  planItems,
  planRest,
  prepareItem,
  wasTooMuch,
  type ExchangeItem,
  type Failure,
  type ItemOutcome,
  type Plan,
  type Prepared,
} from '../plan/plan-items.js';
import type { Answered, TraderFacts } from '../../../core/ports/stores/exchange.js';
import type { RelayState, SignedAction } from '../../../core/ports/stores/relay.js';
import { findRefusal } from '../../../core/trading/order-timeline.js';
import { causeOfRefusal } from '../cause-texts.js';
import { dropHeld, sendHeld, sendItem, type Sent } from './send-item.js';

export interface RelayOptions {
  readonly items: readonly ExchangeItem[];
  /** How long the reply may be delayed for the outcome. */
  readonly holdMs: number;
  /** The facts read when the action was stored; read again if something was done since. */
  readonly facts?: TraderFacts;
  /** They have the cloids of what they replace. */
  readonly keepsCloid?: boolean;
}

/**
 * Relays the orders of one signed action: each is translated with current facts, simulated, stored and passed to the relayer, and
 * answered when it is executed or refused, at the latest after `holdMs`. Items are independent of each other, one outcome each, in order.
 */
export async function relayOrders(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { items, holdMs, facts: known, keepsCloid }: RelayOptions,
): Promise<ItemOutcome[]> {
  const facts = await exchangeFacts(gateway, venue, caller, known);
  const watch = watchOrders(gateway, venue, caller.trader);
  const end = venue.clock.now() + holdMs;
  try {
    const plans = planItems(venue, facts, items);
    const prepare = (plan: Planned): Promise<Prepared | Failure> => prepareItem(gateway, venue, caller, facts, plan);
    const send = async (prepared: Prepared): Promise<Sent | Failure> => {
      const placed = await sendItem(gateway, venue, caller, action, prepared, { keepsCloid });
      if (!('outcome' in placed) || !wasTooMuch(placed.outcome) || !isSizedUp(prepared)) return placed;
      const exact = await prepare(planExact(prepared));
      return 'outcome' in exact ? exact : send(exact);
    };
    const sent = await sendPlans(plans, { prepare, send });
    const flip = (each: Sent): Promise<Sent> => openAfterClose(gateway, venue, caller, action, watch, { sent: each, end });
    const [settled] = await Promise.all([
      Promise.all(sent.map(async (each) => ('outcome' in each || each.held === null ? each : flip(each)))),
      settle(venue, watch, sent, end),
    ]);
    const missed = new Set<Sent>();
    const rest = (each: Sent): Promise<ItemOutcome> => {
      missed.add(each);
      return leaveToRest(gateway, venue, caller, action, facts, each);
    };
    return await Promise.all(
      settled.map(async (each) => {
        if ('outcome' in each) return each.outcome;
        const outcome = await outcomeOf(gateway, venue, watch, each, rest);
        // The outcome of the market order did not arrive in time: from now on the order is listed.
        if (each.manner === 'market' && outcome.kind === 'resting' && !missed.has(each))
          await noteAnswer(gateway, venue, each.oid, 'resting');
        return outcome;
      }),
    );
  } finally {
    watch.stop();
  }
}

type Planned = Plan | Failure;

interface Steps {
  readonly prepare: (plan: Planned) => Promise<Prepared | Failure>;
  readonly send: (prepared: Prepared) => Promise<Sent | Failure>;
}

/** Entries of one action that are stored concurrently: they share a database round trip. */
const MOST_BESIDE = 20;
/** In an action of up to this many items, funds and rules are applied in order; larger ones have no time for that. */
const MOST_IN_TURN = 40;

/**
 * Sends items in order, the first of them while the last are still simulated: an action of two hundred items must be answered in the
 * time of one. Entries of a large action are stored concurrently; items that concern trades wait for earlier items.
 */
async function sendPlans(plans: readonly Planned[], { prepare, send }: Steps): Promise<(Sent | Failure)[]> {
  const prepared = plans.map((plan) => {
    const preparing = prepare(plan);
    preparing.catch(() => undefined); // it is awaited in its turn
    return preparing;
  });
  const sent: (Sent | Failure)[] = [];
  while (sent.length < plans.length) {
    const beside = prepared.slice(sent.length, sent.length + besideAt(plans, sent.length));
    const handOver = async (preparing: Promise<Prepared | Failure>): Promise<Sent | Failure> => {
      const each = await preparing;
      return 'outcome' in each ? each : send(each);
    };
    sent.push(...(await Promise.all(beside.map(handOver))));
  }
  return sent;
}

/** How many items from `from` on can be stored concurrently; at least one. */
function besideAt(plans: readonly Planned[], from: number): number {
  if (plans.length <= MOST_IN_TURN) return 1;
  const run = plans.slice(from, from + MOST_BESIDE);
  const end = run.findIndex((plan) => !isEntry(plan));
  return Math.max(1, end === -1 ? run.length : end);
}

const isEntry = (plan: Planned): boolean =>
  'outcome' in plan || plan.translation.kind === 'refused' || plan.translation.legs.every(({ role }) => role === 'open');

/** With less of the reply's time left, an opening could be sent after the bot was answered without it. */
const LEAST_FOR_OPENING_MS = 1_500;

/** Sends the opening of a flip once its closes are executed, so that both sides are never open at once. */
async function openAfterClose(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  watch: OrderWatch,
  { sent, end }: { readonly sent: Sent; readonly end: number },
): Promise<Sent> {
  await settle(venue, watch, [sent], end);
  const isClosed = sent.orderIds.every((id) => watch.state(id)?.status === 'filled');
  if (!isClosed || end - venue.clock.now() < LEAST_FOR_OPENING_MS) return dropHeld(gateway, venue, caller, sent);
  const flipped = await sendHeld(venue, caller, action, sent);
  await settle(venue, watch, [flipped], end);
  return flipped;
}

/** Waits until every order is executed, refused or resting, or the time is up. */
export async function settle(venue: Venue, watch: OrderWatch, sent: readonly (Sent | Failure)[], end: number): Promise<void> {
  const live = sent.flatMap((each) => ('outcome' in each ? [] : [each]));
  const left = (): number => Math.max(0, end - venue.clock.now());
  const handedOver = live.flatMap(({ jobs }) => jobs.map((job) => job.handedOver));
  await soonest(venue, watch, handedOver, left());
  await watch.settled(
    live.flatMap(({ orderIds }) => orderIds),
    left(),
  );
}

export async function outcomeOf(
  gateway: Gateway,
  venue: Venue,
  watch: OrderWatch,
  sent: Sent,
  rest: (sent: Sent) => Promise<ItemOutcome>,
): Promise<ItemOutcome> {
  const { store } = gateway;
  const { definition } = venue;
  const { oid, orderIds, jobs } = sent;
  const orders = orderIds.flatMap((id) => watch.state(id) ?? []);
  const filled = orders.filter(({ status }) => status === 'filled');
  const isAllSettled = orders.length === orderIds.length && orders.every(({ status }) => isSettled(status));
  if (filled.length > 0 && isAllSettled) return { kind: 'filled', oid, orders: filled };
  if (isAllSettled && orders.length > 0 && orders.every(({ status }) => status === 'open')) return resting(sent, orders[0]?.txHash);
  // A stored job is sent even if the database cannot be read now: then its last seen state counts, which is pending.
  const states = await Promise.all(jobs.map(({ job }) => store.relay.job(definition.slug, job.id).catch(() => job)));
  const isRunning = (id: bigint): boolean =>
    !isSettled(watch.state(id)?.status ?? 'pending') && !states.some((job) => job?.orderId === id && NEVER_SENT.has(job.state));
  // Partly done: the order is not final before all of its parts are.
  if (filled.length > 0 && !orderIds.some(isRunning)) return { kind: 'filled', oid, orders: filled };
  // A part that is still running can fill, so the order has not failed.
  const isUnsent = jobs.length > 0 && states.every((job) => job !== null && NEVER_SENT.has(job.state));
  const [refusal] = isUnsent ? states : [];
  if (refusal) return { kind: 'failed', error: new GatewayError('UNSUPPORTED', { reason: `Not sent: ${refusal.note ?? 'refused'}.` }) };
  if (orderIds.length > 0 && orders.length === orderIds.length && orders.every(isRefused))
    return missedItsPrice(sent, orders) ? rest(sent) : rejected(gateway, venue, sent, orders);
  if (orderIds.length === 0 && states.some((job) => job?.state === 'reverted')) return { kind: 'rejected', reason: 'OTHER', cause: null };
  return resting(sent, states[0]?.attempts.at(-1)?.hash);
}

function resting({ oid, legs }: Sent, txHash: string | null = null): ItemOutcome {
  return { kind: 'resting', oid, txHash, mayOpen: legs.some(({ leg }) => leg.role === 'open') };
}

const NEVER_SENT: ReadonlySet<RelayState> = new Set(['refused', 'replaced']);
const isRefused = ({ status }: Order): boolean => status === 'rejected' || status === 'expired';
const reasonOf = (orders: readonly Order[]): Order['reason'] => orders.find(({ reason }) => reason !== null)?.reason ?? 'OTHER';

/** The reply does not depend on the figures: without them it is the reason alone. */
async function rejected(gateway: Gateway, venue: Venue, { orderIds }: Sent, orders: readonly Order[]): Promise<ItemOutcome> {
  const reason = reasonOf(orders);
  const at = orders.findIndex((order) => order.reason === reason);
  const [id, order] = [orderIds[at], orders[at]];
  if (id === undefined || order === undefined) return { kind: 'rejected', reason, cause: null };
  const refusal = await findRefusal(gateway, venue, order.trader, id).catch((error: unknown) => {
    venue.log.warn('relay.refusal-not-read', { error });
    return null;
  });
  return { kind: 'rejected', reason, cause: refusal && causeOfRefusal(refusal) };
}

function missedItsPrice({ asked: { order } }: Sent, orders: readonly Order[]): boolean {
  return order.style.kind === 'limit' && order.style.tif === 'Gtc' && reasonOf(orders) === 'SLIPPAGE';
}

/** Places a good-till-cancelled order that missed its price again, to rest at its limit. */
async function leaveToRest(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  facts: ExchangeFacts,
  missed: Sent,
): Promise<ItemOutcome> {
  const prepared = await prepareItem(gateway, venue, caller, facts, planRest(missed));
  // An entry keeps the id that the bot may know. Levels of positions have their own ids.
  const isEntry = 'legs' in prepared && prepared.legs.length === 1 && prepared.legs[0]?.leg.role === 'open';
  const continues = isEntry ? missed.oid : undefined;
  const sent = 'outcome' in prepared ? prepared : await sendItem(gateway, venue, caller, action, prepared, { continues });
  if (continues === undefined || 'outcome' in sent) await noteAnswer(gateway, venue, missed.oid, 'ended');
  return 'outcome' in sent ? sent.outcome : resting(sent);
}

/** What the bot was answered decides what is listed; a database failure here must not fail the reply. */
async function noteAnswer({ store }: Gateway, { definition, clock, log }: Venue, oid: bigint, answered: Answered): Promise<void> {
  await store.exchange
    .answer(definition.slug, oid, answered, clock.now())
    .catch((error: unknown) => log.warn('relay.answer-not-noted', { error }));
}
