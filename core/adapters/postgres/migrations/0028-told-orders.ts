import type { Migration } from './migration.js';

/** Filled, rejected and unanswered orders, most recently ended first. */
export const toldOrders: Migration = {
  name: '0028-told-orders',
  async up(trx) {
    await trx.raw(`
      create index if not exists orders_told on orders (chain, trader, ((state ->> 'updatedAt')::bigint))
      where status in ('filled', 'rejected', 'timed_out')`);
  },
};
