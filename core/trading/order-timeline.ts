import { lostRowNote } from '../account/lost-row.js';
import type { Caller } from '../access/caller.js';
import type { OrderStatus } from '../domain/order.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { explainRefusal, type Refusal } from './explain-refusal.js';
import type { KnownOrder, OrderHistory } from '../ports/stores/orders.js';
import type { ChainEvent } from '../domain/chain-event.js';
import { CANCELED, type RelayJob } from '../ports/stores/relay.js';
import type { JournalEntry } from '../ports/stores/journal.js';
import type { Address, Hex } from '../types.js';

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
  const [history, known, jobs] = await Promise.all([
    store.orders.timeline(slug, trader, BigInt(id)),
    store.orders.find(slug, trader, BigInt(id)),
    store.relay.jobsOfOrder(slug, BigInt(id)),
  ]);
  if (history === null) throw new GatewayError('ORDER_NOT_FOUND', { id });
  return {
    id,
    status: known?.order.status ?? null,
    steps: timed(withNote(stepsOf(history, entries, jobs), known === null ? null : lostNote(known, history, store))),
    refusal: known === null ? null : refusalOf(venue, known, history),
    repeats: history.repeats.map(String),
    repeatOf: known?.repeatOf?.toString() ?? null,
  };
}

/** A row that was lost is one without its preparation. */
function lostNote({ order }: KnownOrder, { events }: OrderHistory, { continuity }: Gateway['store']): string | null {
  return events.some(({ event }) => event.kind === 'prepared') ? null : lostRowNote(order, continuity.lastLoss());
}

/** With its first step. */
const withNote = ([first, ...rest]: readonly Step[], note: string | null): Step[] =>
  first === undefined ? [] : [{ ...first, note: first.note ?? note }, ...rest];

/** The last refusal of an order, with the figures that were compared; null unless it is rejected. */
export async function findRefusal({ store }: Gateway, venue: Venue, trader: Address, id: bigint): Promise<Refusal | null> {
  const { slug } = venue.definition;
  const [history, known] = await Promise.all([store.orders.timeline(slug, trader, id), store.orders.find(slug, trader, id)]);
  return history === null || known === null ? null : refusalOf(venue, known, history);
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

export const STEPS = [
  'validated',
  'simulated',
  'prepared',
  'renewed',
  'hash_reported',
  'mined',
  'oracle_asked',
  'resting',
  'amended',
  'replaced',
  'oracle_answered',
  'filled',
  'rejected',
  'outcome_unknown',
  'settled',
  'timed_out',
  'canceled',
  'expired',
  'given_up',
  'not_sent',
  'reorganised',
] as const;
type StepName = (typeof STEPS)[number];

/** One step of an order. */
interface Step {
  readonly step: StepName;
  /** Epoch ms: the block's timestamp, or the gateway's clock for its own steps. */
  readonly at: number;
  /** When the gateway recorded it; null where it has no journal entry of its own. */
  readonly seenAt: number | null;
  readonly block: number | null;
  readonly txHash: Hex | null;
  /** What happened, where the name of the step does not say it. */
  readonly note: string | null;
  /** A reorganisation undid it. */
  readonly isTakenBack: boolean;
}

/** The steps of an event, and the order's status after it. */
function partsOf(event: ChainEvent): { readonly steps: readonly StepName[]; readonly leaves: OrderStatus | null } {
  switch (event.kind) {
    case 'prepared':
      return { steps: ['prepared'], leaves: 'prepared' };
    case 'renewed':
      return { steps: ['renewed'], leaves: 'prepared' };
    case 'sent':
      return { steps: ['hash_reported'], leaves: null };
    case 'requested':
      // The request asks the oracle in the same transaction.
      return { steps: ['mined', 'oracle_asked'], leaves: 'pending' };
    case 'rested':
    case 'guarded':
      return { steps: ['mined', 'resting'], leaves: 'open' };
    case 'guardMoved':
      return { steps: ['amended'], leaves: 'open' };
    case 'amended':
    case 'replaced':
      return { steps: [event.kind], leaves: 'open' };
    case 'executed':
    case 'guardHit':
      return { steps: ['oracle_answered', 'filled'], leaves: 'filled' };
    case 'refused':
      return { steps: ['oracle_answered', 'rejected'], leaves: 'rejected' };
    case 'reverted':
      return { steps: ['mined', 'rejected'], leaves: 'rejected' };
    case 'unexplained':
    case 'guardUnexplained':
      return { steps: ['oracle_answered', 'outcome_unknown'], leaves: 'pending' };
    case 'settled':
      return { steps: ['settled'], leaves: event.fill === null ? 'rejected' : 'filled' };
    case 'timedOut':
      return { steps: ['timed_out'], leaves: 'timed_out' };
    case 'withdrawn':
    case 'guardGone':
      return { steps: ['canceled'], leaves: 'canceled' };
    case 'expired':
      return { steps: [event.because === 'owner' ? 'given_up' : 'expired'], leaves: 'expired' };
    case 'edited':
    case 'found':
      return { steps: [], leaves: null };
  }
}

/** All steps, sorted by the time the gateway saw them, because block timestamps are only whole seconds. */
function stepsOf({ events }: OrderHistory, entries: readonly JournalEntry[], jobs: readonly RelayJob[]): Step[] {
  const seen = createSightings(entries);
  const notSent = notSentNote(jobs);
  const steps = events.flatMap(({ event, isTakenBack }) => {
    const { blockNumber, txHash, at } = event.place;
    const isOnChain = blockNumber >= 0n;
    const { steps: names, leaves } = partsOf(event);
    const seenAt = isOnChain ? seen(leaves, at) : at;
    const place = { at, seenAt, block: isOnChain ? Number(blockNumber) : null, txHash: event.kind === 'sent' ? event.hash : txHash };
    return [...preparation(event), ...names.map((step) => ({ ...noted(step, notSent), ...place, isTakenBack }))];
  });
  const undone = entries.flatMap(({ at, fact }) => (fact.kind === 'correction' ? [ours('reorganised', at)] : []));
  return [...steps, ...undone].sort((a, b) => momentOf(a) - momentOf(b));
}

/** An order that the relayer refused was given up by it, and not by its owner. */
function noted(step: StepName, notSent: string | null): Pick<Step, 'step' | 'note'> {
  if (notSent !== null && (step === 'given_up' || step === 'expired')) return { step: 'not_sent', note: notSent };
  return { step, note: NOTES[step] ?? null };
}

/** Why the relayer sent none of an order's transactions; null if it may send one, or its owner took it back. */
export function notSentNote(jobs: readonly RelayJob[]): string | null {
  const last = jobs.filter(({ purpose }) => purpose !== 'reclaim').at(-1);
  const isNeverSent = last?.state === 'refused' || last?.state === 'replaced';
  return isNeverSent && last.note !== null && last.note !== CANCELED.note ? `Not sent: ${last.note}.` : null;
}

const NOTES: Readonly<Partial<Record<StepName, string>>> = {
  outcome_unknown:
    'The contracts closed the request and logged something that this release cannot read: it may be executed. Do not send it again.',
  settled: 'The operator stated the outcome, because the logs of the contracts cannot be read.',
};

const ours = (step: StepName, at: number): Step => ({ step, at, seenAt: at, block: null, txHash: null, note: null, isTakenBack: false });

function preparation(event: ChainEvent): Step[] {
  if ((event.kind !== 'prepared' && event.kind !== 'renewed') || event.steps === undefined) return [];
  return [ours('validated', event.steps.validatedAt), ours('simulated', event.steps.simulatedAt)];
}

/** An event seen later than this was read afterwards (e.g. after downtime); then its block time is used. */
const SEEN_LATE_MS = 15_000;

const momentOf = ({ at, seenAt }: Pick<Step, 'at' | 'seenAt'>): number =>
  seenAt !== null && Math.abs(seenAt - at) < SEEN_LATE_MS ? seenAt : at;

/** Finds the journal time of a status that began at `since` or a little later (block clocks may lag); each entry is used once. */
function createSightings(entries: readonly JournalEntry[]): (status: OrderStatus | null, since: number) => number | null {
  const left = entries.flatMap(({ at, fact }) => (fact.kind === 'order' ? [{ at, order: fact.order }] : []));
  return (status, since) => {
    const found = left.findIndex(({ order }) => order.status === status && order.updatedAt >= since);
    return left.splice(found, found === -1 ? 0 : 1)[0]?.at ?? null;
  };
}
