import type { Migration } from './migration.js';

/** Index to find the jobs of an order. */
export const relayOrders: Migration = {
  name: '0014-relay-orders',
  async up(trx) {
    await trx.raw('create index relay_jobs_of_order on relay_jobs (chain, order_id, id) where order_id is not null');
  },
};
