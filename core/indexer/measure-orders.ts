import { LRUCache } from 'lru-cache';
import { atMost } from '../caching/at-most.js';
import { isLive, type Order } from '../domain/order.js';
import type { Gateway } from '../gateway.js';
import type { Changes, StoredOrder } from '../ports/stores/tracking.js';
import type { Cancel } from '../types.js';

/** Bound of each cache below. */
const MAX_KNOWN = 5_000;

/** Measures order latency and counts ended orders, on the replica that follows the chain. */
export function measureOrders({ bus, metrics, clock }: Gateway): Cancel {
  const requestedAt = new LRUCache<bigint, number>(atMost(MAX_KNOWN));
  /** A reorganisation may end an order a second time; it is counted once. */
  const ended = new LRUCache<bigint, true>(atMost(MAX_KNOWN));

  const timeRequest = (chain: string, { id }: StoredOrder, { type, createdAt }: Order): void => {
    if (requestedAt.has(id)) return;
    requestedAt.set(id, clock.now());
    metrics.took('orderSeconds', [chain, type, 'mined'], clock.now() - createdAt);
  };

  const end = (chain: string, { id }: StoredOrder, { status, type }: Order): void => {
    if (ended.has(id)) return;
    ended.set(id, true);
    metrics.finished(chain, status, 1);
    const since = requestedAt.get(id);
    if (status === 'filled' && since !== undefined) metrics.took('orderSeconds', [chain, type, 'filled'], clock.now() - since);
    requestedAt.delete(id);
  };

  const measure = (chain: string, { events, orders }: Changes): void => {
    const changedBlocks = new Set(events.map(({ trader, place }) => `${trader} ${place.blockNumber}`));
    for (const stored of orders) {
      const { order, agent, trader } = stored;
      if (order === null) continue;
      // Only requests in blocks of this change are timed: an older one was mined long before it was read.
      const isRequestedNow = order.requestedBlock !== null && changedBlocks.has(`${trader} ${order.requestedBlock}`);
      if (isRequestedNow && agent !== null) timeRequest(chain, stored, order);
      if (!isLive(order)) end(chain, stored, order);
    }
  };

  const stopTracked = bus.on('tracked', ({ venue, changes }) => measure(venue.definition.slug, changes));
  const stopJournal = bus.on('journal', ({ venue, entries }) => {
    for (const { at } of entries) metrics.took('journalLag', [venue.definition.slug], clock.now() - at);
  });
  return () => {
    stopTracked();
    stopJournal();
  };
}
