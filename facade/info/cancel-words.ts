import type { OrderWithStatus, Whose } from './order-status.js';

/** Orders that a schedule took back end in a word of their own. */
export async function withCancelWords({ gateway, venue }: Whose, shown: readonly OrderWithStatus[]): Promise<OrderWithStatus[]> {
  const ids = shown.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const taken = await gateway.store.facade.history.takenBack(venue.definition.slug, ids);
  const isScheduled = ({ order, status }: OrderWithStatus): boolean =>
    status === 'canceled' && taken.get(BigInt(order.oid)) === 'scheduled-cancel';
  return shown.map((each) => (isScheduled(each) ? { ...each, status: 'scheduledCancel' } : each));
}
