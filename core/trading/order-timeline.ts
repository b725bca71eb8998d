import type { Caller } from '../access/caller.js';
import type { OrderStatus } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { explainRefusal, type Refusal } from './explain-refusal.js';
import type { KnownOrder, OrderHistory } from '../ports/stores/orders.js';
import { momentOf, stepsOf, type Step } from './timeline-steps.js';

export interface TimedStep extends Step {
  readonly sincePreviousMs: number;
  readonly sinceStartMs: number;
}

export interface OrderTimeline {
  id: string;
  /** null when a reorganisation removed the order. */
  status: OrderStatus | null;
  steps: TimedStep[];
  /** The last refusal; null unless the order is rejected. */
  refusal: Refusal | null;
  /** Orders created because the same calldata was mined again. */
  repeats: string[];
  /** The order whose calldata created this one. */
  repeatOf: string | null;
}

const ORDER_ID = /^[1-9]\d{0,15}$/;

/** All steps of an order with their times. Orders of another trader are reported as not found. */
export async function getOrderTimeline({ store }: Gateway, venue: Venue, { trader }: Caller, id: string): Promise<OrderTimeline> {
  const { slug } = venue.definition;
  if (!ORDER_ID.test(id)) throw new GatewayError('ORDER_NOT_FOUND', { id });
  // The journal is read first, so that every journalled event is in the history read after it.
  const entries = await store.journal.ofOrder(slug, BigInt(id));
  const [history, known] = await Promise.all([
    store.orders.timeline(slug, trader, BigInt(id)),
    store.orders.find(slug, trader, BigInt(id)),
  ]);
  if (history === null) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return {
    id,
    status: known?.order.status ?? null,
    steps: timed(stepsOf(history, entries)),
    refusal: known === null ? null : refusalOf(venue, known, history),
    repeats: history.repeats.map(String),
    repeatOf: known?.repeatOf?.toString() ?? null,
  };
}

/** Durations are clamped at 0, because block and gateway clocks differ. */
function timed(steps: readonly Step[]): TimedStep[] {
  const start = steps[0];
  return steps.map((step, at) => ({
    ...step,
    sincePreviousMs: Math.max(momentOf(step) - momentOf(steps[at - 1] ?? step), 0),
    sinceStartMs: Math.max(momentOf(step) - momentOf(start ?? step), 0),
  }));
}

function refusalOf(venue: Venue, { order }: KnownOrder, { events }: OrderHistory): Refusal | null {
  if (order.status !== 'rejected') return null;
  const current = events.flatMap(({ event, isTakenBack }) => (isTakenBack ? [] : [event]));
  const refused = current.findLast((event) => event.kind === 'refused' || event.kind === 'reverted');
  // A market order without a price was sent with the mark of that time, which only the request event has.
  const asked = current.findLast((event) => event.kind === 'requested');
  const sent = asked === undefined ? order : { ...order, price: asked.terms.openPrice, slippageP: asked.slippageP };
  return refused === undefined ? null : explainRefusal(venue.feed.config(), sent, refused);
}
