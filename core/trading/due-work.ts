import { onVenue, type Gateway, type Venue } from '../gateway.js';
import { redactText } from '../observability/redact.js';
import type { DueWork } from '../ports/store.js';
import type { Cancel } from '../types.js';

/** How long work of another replica, or of the past, may go unnoticed. */
export const LOOK_MS = 1_000;
/** One look on a connection that does not answer takes many seconds; the next ones go on beside it, so that a pause is not obeyed late. */
const AT_ONCE = 2;

/**
 * Asks the store once a second what is due on a chain, in one statement for everything that waits for a time or for another replica, and
 * publishes the answer. Runs on every replica. The returned function stops it.
 */
export function watchDueWork(gateway: Gateway, venue: Venue): () => Promise<void> {
  const { clock, log, relayer, definition } = venue;
  const looks = new Set<Promise<void>>();
  let lastFault: string | null = null;
  /** When the look began that was published last: the answer to an earlier one says nothing new. */
  let knownAsOf = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    try {
      const askedAt = clock.monotonic();
      const due = await gateway.store.due(definition.slug, relayer?.wallets() ?? [], clock.now());
      lastFault = null;
      if (askedAt < knownAsOf) return;
      knownAsOf = askedAt;
      gateway.bus.emit('due', { venue, askedAt, due });
    } catch (error) {
      const fault = redactText(error instanceof Error ? error.message : String(error));
      if (fault !== lastFault) log.warn('due-work.not-read', { fault });
      lastFault = fault;
    }
  }

  const cancel = clock.every(LOOK_MS, () => {
    if (looks.size >= AT_ONCE) return;
    const begun = look().finally(() => looks.delete(begun));
    looks.add(begun);
  });
  return async () => {
    cancel();
    await Promise.all(looks);
  };
}

export type DueKind = 'orders' | 'reservations' | 'schedules' | 'reclaims' | 'closingSlippages';

/** Calls `task` at every look that finds this kind of work on the venue's chain. */
export const whenDue = (gateway: Pick<Gateway, 'bus'>, venue: Venue, kinds: readonly DueKind[], task: (due: DueWork) => void): Cancel =>
  onVenue(gateway, venue, 'due', ({ due }) => {
    if (kinds.some((kind) => due[kind])) task(due);
  });

/** Expires prepared orders, and releases the spending reserved by unsent changes of resting orders. Runs on every replica; row updates make it safe. The returned function stops it. */
export function expireOrders({ bus, store, metrics }: Gateway, venue: Venue): () => Promise<void> {
  let running: Promise<void> | null = null;
  let lastFault: string | null = null;

  async function expire({ orders, reservations }: DueWork): Promise<void> {
    try {
      const count = orders ? await store.orders.expire(venue.definition.slug, venue.clock.now()) : 0;
      if (count > 0) {
        metrics.finished(venue.definition.slug, 'expired', count);
        venue.log.info('orders.expired', { count });
      }
      const released = reservations ? await store.spend.releaseUnsent(venue.definition.slug, venue.clock.now()) : 0;
      if (released > 0) venue.log.info('orders.growth-released', { count: released });
      lastFault = null;
    } catch (error) {
      const fault = redactText(error instanceof Error ? error.message : String(error));
      if (fault !== lastFault) venue.log.warn('orders.expiry-failed', { fault });
      lastFault = fault;
    }
  }

  const cancel = whenDue({ bus }, venue, ['orders', 'reservations'], (due) => {
    running ??= expire(due).finally(() => (running = null));
  });
  return async () => {
    cancel();
    await running;
  };
}
