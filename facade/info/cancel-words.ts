import type { OrderWithStatus, AccountContext } from './order-shapes.js';

/** Gives orders canceled by a schedule their own status. A bot's order may be several of ours, each with its own id. */
export async function withCancelWords(
  { gateway, venue, trader }: AccountContext,
  shown: readonly OrderWithStatus[],
): Promise<OrderWithStatus[]> {
  const { slug } = venue.definition;
  const oids = shown.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const records = await gateway.store.exchange.ofOids(slug, trader, oids);
  const idsOf = (oid: bigint): bigint[] => [oid, ...(records.get(oid)?.legs.flatMap(({ orderId }) => orderId ?? []) ?? [])];
  const taken = await gateway.store.facade.history.takenBack(slug, oids.flatMap(idsOf));
  const isScheduled = ({ order, status }: OrderWithStatus): boolean =>
    status === 'canceled' && idsOf(BigInt(order.oid)).some((id) => taken.get(id) === 'scheduled-cancel');
  return shown.map((each) => (isScheduled(each) ? { ...each, status: 'scheduledCancel' } : each));
}
