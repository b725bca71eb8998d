import type { Caller } from '../access/caller.js';
import type { OrderStatus } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { explainRefusal, type Refusal } from './explain-refusal.js';
import type { KnownOrder, OrderStory } from '../ports/stores/orders.js';
import { momentOf, stepsOf, type Step } from './timeline-steps.js';

export interface TimedStep extends Step {
  readonly sincePreviousMs: number;
  readonly sinceStartMs: number;
}

export interface OrderTimeline {
  id: string;
  /** null when a reorganisation left nothing of it. */
  status: OrderStatus | null;
  steps: TimedStep[];
  /** Why it was refused last; null unless it is rejected. */
  refusal: Refusal | null;
  /** Orders that came of the same bytes being mined again. */
  repeats: string[];
  /** The order whose bytes made this one. */
  repeatOf: string | null;
}

const ORDER_ID = /^[1-9]\d{0,15}$/;

/** All that happened to an order, with its times. Another trader's order is not there. */
export async function getOrderTimeline({ store }: Gateway, venue: Venue, { trader }: Caller, id: string): Promise<OrderTimeline> {
  const { slug } = venue.definition;
  if (!ORDER_ID.test(id)) throw new GatewayError('ORDER_NOT_FOUND', { id });
  // In this order: whatever was told has happened by the time the story is read.
  const told = await store.journal.ofOrder(slug, BigInt(id));
  const [story, known] = await Promise.all([store.orders.story(slug, trader, BigInt(id)), store.orders.find(slug, trader, BigInt(id))]);
  if (story === null) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return {
    id,
    status: known?.order.status ?? null,
    steps: timed(stepsOf(story, told)),
    refusal: known === null ? null : refusalOf(venue, known, story),
    repeats: story.repeats.map(String),
    repeatOf: known?.repeatOf?.toString() ?? null,
  };
}

/** Clocks differ; time between two steps is never less than nothing. */
function timed(steps: readonly Step[]): TimedStep[] {
  const start = steps[0];
  return steps.map((step, at) => ({
    ...step,
    sincePreviousMs: Math.max(momentOf(step) - momentOf(steps[at - 1] ?? step), 0),
    sinceStartMs: Math.max(momentOf(step) - momentOf(start ?? step), 0),
  }));
}

function refusalOf(venue: Venue, { order }: KnownOrder, { events }: OrderStory): Refusal | null {
  if (order.status !== 'rejected') return null;
  const standing = events.flatMap(({ event, isTakenBack }) => (isTakenBack ? [] : [event]));
  const refused = standing.findLast((event) => event.kind === 'refused' || event.kind === 'reverted');
  // A market order that named no price was sent with the one of the moment: the request has it.
  const asked = standing.findLast((event) => event.kind === 'requested');
  const sent = asked === undefined ? order : { ...order, price: asked.terms.openPrice, slippageP: asked.slippageP };
  return refused === undefined ? null : explainRefusal(venue.feed.config(), sent, refused);
}
