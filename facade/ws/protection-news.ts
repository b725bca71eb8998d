import type { FrontendOrder } from '../info/order-shapes.js';
import { openLevels } from '../info/open-orders.js';
import { findOrder, type OrderWithStatus, type Whose } from '../info/order-status.js';

export interface ProtectionNews {
  begin(whose: Whose): Promise<void>;
  describe(whose: Whose): Promise<OrderWithStatus[]>;
}

/** Take-profits and stop-losses have no events of their own: what is listed now is compared with what was. */
export function createProtectionNews(): ProtectionNews {
  let listed: ReadonlyMap<number, FrontendOrder> = new Map();
  return {
    async begin(whose) {
      listed = await read(whose);
    },
    async describe(whose) {
      const before = listed;
      const now = await read(whose);
      const ended = await Promise.all([...before.keys()].filter((oid) => !now.has(oid)).map((oid) => findOrder(whose, oid)));
      listed = now;
      const begun = [...now.values()].filter((order) => !isSame(before.get(order.oid), order));
      return [
        ...ended.filter((order) => order !== null).filter(({ status }) => status !== 'open'),
        ...begun.map((order): OrderWithStatus => ({ order, status: 'open', statusTimestamp: whose.venue.clock.now() })),
      ];
    },
  };
}

async function read(whose: Whose): Promise<ReadonlyMap<number, FrontendOrder>> {
  return new Map((await openLevels(whose)).map((order) => [order.oid, order]));
}

const isSame = (before: FrontendOrder | undefined, now: FrontendOrder): boolean =>
  before?.sz === now.sz && before.triggerPx === now.triggerPx && before.cloid === now.cloid;
