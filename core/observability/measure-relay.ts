import type { Metrics } from './metrics.js';
import type { Clock } from '../ports/clock.js';
import type { RelayStore } from '../ports/stores/relay.js';

/** Wraps the store: measures the time of jobs until a node accepts them, and from there until they are mined. */
export const measureRelay = (store: RelayStore, metrics: Pick<Metrics, 'took'>, clock: Pick<Clock, 'now'>): RelayStore => ({
  ...store,
  async accept(chain, ids, at) {
    const jobs = await store.accept(chain, ids, at);
    // A job that was sent again keeps its first acceptance time.
    for (const { acceptedAt, createdAt } of jobs) if (acceptedAt === at) metrics.took('relaySeconds', [chain, 'broadcast'], at - createdAt);
    return jobs;
  },
  async settle(chain, settled) {
    const jobs = await store.settle(chain, settled);
    const now = clock.now();
    for (const { acceptedAt } of jobs) if (acceptedAt !== null) metrics.took('relaySeconds', [chain, 'mined'], now - acceptedAt);
    return jobs;
  },
});
