import type { OrderWithStatus } from '../info/order-status.js';

/** As many stop losses as one account has at a time. */
const MOST_TOLD = 2_000;

/** Sentences about stop losses that the contract keeps elsewhere than they were asked for, one for each price a stop loss is moved to. */
export function createMoveNews(): (orders: readonly OrderWithStatus[]) => string[] {
  const told = new Map<number, string>();
  return (orders) =>
    orders.flatMap(({ order, status }) => {
      const { oid, coin, triggerPx, askedTriggerPx } = order;
      if (status !== 'open' || askedTriggerPx === undefined || told.get(oid) === triggerPx) return [];
      told.delete(oid);
      told.set(oid, triggerPx);
      const [oldest] = told.keys();
      if (told.size > MOST_TOLD && oldest !== undefined) told.delete(oldest);
      return [
        `Stop loss ${oid} on ${coin} was moved from ${askedTriggerPx} to ${triggerPx}: at the leverage of its position the contract keeps none further away, where liquidation would come first.`,
      ];
    });
}
