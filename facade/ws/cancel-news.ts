import { UNASKED_CANCELS, type HlStatus, type OrderWithStatus, type Whose } from '../info/order-shapes.js';

/** An order that is gone although its owner did not cancel it. */
export interface NonUserCancel {
  readonly coin: string;
  readonly oid: number;
}

const isUnasked = (status: HlStatus): boolean => UNASKED_CANCELS.some((word) => word === status);

/** Of what was just told: what the contract, a schedule, or the relayer for want of an answer of the oracle took away. */
export async function describeCancels({ gateway, venue }: Whose, told: readonly OrderWithStatus[]): Promise<NonUserCancel[]> {
  const canceled = told.flatMap(({ order, status }) => (status === 'canceled' ? [BigInt(order.oid)] : []));
  const taken = await gateway.store.facade.history.takenBack(venue.definition.slug, canceled);
  const isOurs = ({ order, status }: OrderWithStatus): boolean => status === 'canceled' && taken.has(BigInt(order.oid));
  return told.flatMap((each) => (isUnasked(each.status) || isOurs(each) ? [{ coin: each.order.coin, oid: each.order.oid }] : []));
}
