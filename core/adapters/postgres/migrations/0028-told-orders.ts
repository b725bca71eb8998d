import type { Migration } from './migration.js';

/** What an order that was filled, rejected or left unanswered is told by, youngest news first. An order gets here when it ends, not before. */
export const toldOrders: Migration = {
  name: '0028-told-orders',
  async up(trx) {
    await trx.raw(`
      create index if not exists orders_told on orders (chain, trader, ((state ->> 'updatedAt')::bigint))
      where status in ('filled', 'rejected', 'timed_out')`);
  },
};
