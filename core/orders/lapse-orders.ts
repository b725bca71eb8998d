import type { Gateway, Venue } from '../gateway.js';
import { redactText } from '../redact.js';

const LOOK_EVERY_MS = 500;

/** Ends prepared orders whose time is up. Every replica does; the rows decide who is first. Stopped when the returned promise says so. */
export function lapseOrders({ store, metrics }: Gateway, venue: Venue): () => Promise<void> {
  let looking: Promise<void> | null = null;
  let lastFault: string | null = null;

  async function look(): Promise<void> {
    try {
      const count = await store.orders.lapse(venue.definition.slug, venue.clock.now());
      if (count > 0) {
        metrics.finished(venue.definition.slug, 'expired', count);
        venue.log.info('orders.lapsed', { count });
      }
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
