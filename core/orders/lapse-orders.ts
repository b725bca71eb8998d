import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../ports.js';
import { redactText } from '../redact.js';

const LOOK_EVERY_MS = 500;

/** Ends prepared orders whose time is up. Every replica does; the rows decide who is first. */
export function lapseOrders({ store }: Gateway, venue: Venue): Cancel {
  let isBusy = false;
  let lastFault: string | null = null;

  async function look(): Promise<void> {
    try {
      const count = await store.orders.lapse(venue.definition.slug, venue.clock.now());
      if (count > 0) venue.log.info('orders.lapsed', { count });
      lastFault = null;
    } catch (error) {
      const fault = redactText(error instanceof Error ? error.message : String(error));
      if (fault !== lastFault) venue.log.warn('orders.lapse-failed', { fault });
      lastFault = fault;
    }
  }

  return venue.clock.every(LOOK_EVERY_MS, () => {
    if (isBusy) return;
    isBusy = true;
    void look().finally(() => (isBusy = false));
  });
}
