import { isLive, type Order } from '../domain/order.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../ports.js';
import type { StoredOrder } from './tracking-store.js';

/** Orders on their way whose request was seen; more than this are not timed. */
const MOST_TIMED = 20_000;
/** Orders that ended lately: a reorganisation may end them once more. */
const MOST_ENDED = 20_000;

/** Times orders and counts their ends as the chain tells them, on the replica that follows it. */
export function measureOrders({ bus, metrics, clock }: Gateway): Cancel {
  const seenAt = new Map<bigint, number>();
  const ended = new Set<bigint>();

  const timeRequest = (chain: string, { id, agent }: StoredOrder, { type, createdAt }: Order): void => {
    if (agent === null || seenAt.has(id) || seenAt.size >= MOST_TIMED) return;
    seenAt.set(id, clock.now());
    metrics.took('orderSeconds', [chain, type, 'mined'], clock.now() - createdAt);
  };

  const end = (chain: string, stored: StoredOrder, order: Order): void => {
    const { id } = stored;
    if (ended.has(id)) return;
    if (ended.size >= MOST_ENDED) ended.clear();
    ended.add(id);
    metrics.finished(chain, order.status, 1);
    if (order.requestedBlock !== null) timeRequest(chain, stored, order);
    const since = seenAt.get(id);
    if (order.status === 'filled' && since !== undefined) metrics.took('orderSeconds', [chain, order.type, 'filled'], clock.now() - since);
    seenAt.delete(id);
  };

  const measure = ({ definition: { slug } }: Venue, stored: StoredOrder): void => {
    const { order } = stored;
    if (order === null) return;
    if (!isLive(order)) return end(slug, stored, order);
    if (order.requestedBlock !== null) timeRequest(slug, stored, order);
  };

  const stopTracked = bus.on('tracked', ({ venue, changes }) => changes.orders.forEach((stored) => measure(venue, stored)));
  const stopJournal = bus.on('journal', ({ venue, entries }) => {
    for (const { at } of entries) metrics.took('journalLag', [venue.definition.slug], clock.now() - at);
  });
  return () => {
    stopTracked();
    stopJournal();
  };
}
