import { UNASKED_CANCELS, type HlStatus, type OrderWithStatus, type AccountContext } from '../info/order-shapes.js';

/** An order that was canceled without a request of its owner. */
export interface NonUserCancel {
  readonly coin: string;
  readonly oid: number;
}

const isUnasked = (status: HlStatus): boolean => UNASKED_CANCELS.some((word) => word === status);

/** Of the published updates: orders canceled by the contract, by a schedule, or by the relayer because the oracle did not answer. */
export async function describeCancels({ gateway, venue }: AccountContext, published: readonly OrderWithStatus[]): Promise<NonUserCancel[]> {
  const canceled = published.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const taken = await gateway.store.facade.history.takenBack(venue.definition.slug, canceled);
  const isOurs = ({ order, status }: OrderWithStatus): boolean => status === 'canceled' && taken.has(BigInt(order.oid));
  return published.flatMap((each) => (isUnasked(each.status) || isOurs(each) ? [{ coin: each.order.coin, oid: each.order.oid }] : []));
}
