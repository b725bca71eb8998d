import type { ChainEvent } from '../domain/chain-event.js';
import type { OrderStatus } from '../domain/order.js';
import type { JournalEntry } from '../ports/stores/journal.js';
import type { Hex } from '../types.js';
import type { OrderHistory } from '../ports/stores/orders.js';

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
  'timed_out',
  'canceled',
  'expired',
  'given_up',
  'reorganised',
] as const;
export type StepName = (typeof STEPS)[number];

/** One step of an order. */
export interface Step {
  readonly step: StepName;
  /** Epoch ms: the block's timestamp, or the gateway's clock for its own steps. */
  readonly at: number;
  /** When the gateway recorded it; null where it has no journal entry of its own. */
  readonly seenAt: number | null;
  readonly block: number | null;
  readonly txHash: Hex | null;
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
    case 'timedOut':
      return { steps: ['timed_out'], leaves: 'timed_out' };
    case 'withdrawn':
    case 'guardGone':
      return { steps: ['canceled'], leaves: 'canceled' };
    case 'lapsed':
      return { steps: [event.because === 'owner' ? 'given_up' : 'expired'], leaves: 'expired' };
    case 'edited':
    case 'found':
      return { steps: [], leaves: null };
  }
}

/** All steps, sorted by the time the gateway saw them, because block timestamps are only whole seconds. */
export function stepsOf({ events }: OrderHistory, entries: readonly JournalEntry[]): Step[] {
  const seen = createSightings(entries);
  const steps = events.flatMap(({ event, isTakenBack }) => {
    const { blockNumber, txHash, at } = event.place;
    const isOnChain = blockNumber >= 0n;
    const { steps: names, leaves } = partsOf(event);
    const seenAt = isOnChain ? seen(leaves, at) : at;
    const place = { at, seenAt, block: isOnChain ? Number(blockNumber) : null, txHash: event.kind === 'sent' ? event.hash : txHash };
    return [...preparation(event), ...names.map((step) => ({ step, ...place, isTakenBack }))];
  });
  const undone = entries.flatMap(({ at, fact }) => (fact.kind === 'correction' ? [ours('reorganised', at)] : []));
  return [...steps, ...undone].sort((a, b) => momentOf(a) - momentOf(b));
}

const ours = (step: StepName, at: number): Step => ({ step, at, seenAt: at, block: null, txHash: null, isTakenBack: false });

function preparation(event: ChainEvent): Step[] {
  if ((event.kind !== 'prepared' && event.kind !== 'renewed') || event.steps === undefined) return [];
  return [ours('validated', event.steps.validatedAt), ours('simulated', event.steps.simulatedAt)];
}

/** An event seen later than this was read afterwards (e.g. after downtime); then its block time is used. */
const SEEN_LATE_MS = 15_000;

export const momentOf = ({ at, seenAt }: Pick<Step, 'at' | 'seenAt'>): number =>
  seenAt !== null && Math.abs(seenAt - at) < SEEN_LATE_MS ? seenAt : at;

/** Finds the journal time of a status that began at `since` or a little later (block clocks may lag); each entry is used once. */
function createSightings(entries: readonly JournalEntry[]): (status: OrderStatus | null, since: number) => number | null {
  const left = entries.flatMap(({ at, fact }) => (fact.kind === 'order' ? [{ at, order: fact.order }] : []));
  return (status, since) => {
    const found = left.findIndex(({ order }) => order.status === status && order.updatedAt >= since);
    return left.splice(found, found === -1 ? 0 : 1)[0]?.at ?? null;
  };
}
