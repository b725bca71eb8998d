import type { Gateway, Venue } from '../gateway.js';
import { redactText } from '../observability/redact.js';

const EXPIRE_EVERY_MS = 1_000;
const RELEASE_EVERY_MS = 5_000;

/** Expires prepared orders, and releases the spending reserved by unsent changes of resting orders. Runs on every replica; row updates make it safe. The returned function stops it. */
export function expireOrders({ store, metrics }: Gateway, venue: Venue): () => Promise<void> {
  let running: Promise<void> | null = null;
  let lastFault: string | null = null;
  let releasedAt = Number.NEGATIVE_INFINITY;

  /** Less often than orders expire, because no client waits for it. */
  async function releaseGrowth(now: number): Promise<number> {
    if (now - releasedAt < RELEASE_EVERY_MS) return 0;
    releasedAt = now;
    return store.spend.releaseUnsent(venue.definition.slug, now);
  }

  async function expire(): Promise<void> {
    try {
      const count = await store.orders.expire(venue.definition.slug, venue.clock.now());
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

  const cancel = venue.clock.every(EXPIRE_EVERY_MS, () => {
    running ??= expire().finally(() => (running = null));
  });
  return async () => {
    cancel();
    await running;
  };
}
