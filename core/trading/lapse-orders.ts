import type { Gateway, Venue } from '../gateway.js';
import { redactText } from '../observability/redact.js';

const LOOK_EVERY_MS = 500;
const RELEASE_EVERY_MS = 5_000;

/** Ends prepared orders whose time is up, and gives back what unsent changes of resting orders would have spent. Every replica does; the rows decide who is first. Stopped when the returned promise says so. */
export function lapseOrders({ store, metrics }: Gateway, venue: Venue): () => Promise<void> {
  let looking: Promise<void> | null = null;
  let lastFault: string | null = null;
  let releasedAt = Number.NEGATIVE_INFINITY;

  /** Less often than orders lapse: nothing that a client waits for depends on it. */
  async function releaseGrowth(now: number): Promise<number> {
    if (now - releasedAt < RELEASE_EVERY_MS) return 0;
    releasedAt = now;
    return store.spend.releaseUnsent(venue.definition.slug, now);
  }

  async function look(): Promise<void> {
    try {
      const count = await store.orders.lapse(venue.definition.slug, venue.clock.now());
      if (count > 0) {
        metrics.finished(venue.definition.slug, 'expired', count);
        venue.log.info('orders.lapsed', { count });
      }
      const released = await releaseGrowth(venue.clock.now());
      if (released > 0) venue.log.info('orders.growth-released', { count: released });
      lastFault = null;
    } catch (error) {
      const fault = redactText(error instanceof Error ? error.message : String(error));
      if (fault !== lastFault) venue.log.warn('orders.lapse-failed', { fault });
      lastFault = fault;
    }
  }

  const cancel = venue.clock.every(LOOK_EVERY_MS, () => {
    looking ??= look().finally(() => (looking = null));
  });
  return async () => {
    cancel();
    await looking;
  };
}
