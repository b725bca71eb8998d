import type { Migration } from './migration.js';

/** Requests that nobody answered are looked for every other second: there are few of them among all the orders of the past. */
export const timedOutOrders: Migration = {
  name: '0023-timed-out-orders',
  async up(trx) {
    await trx.raw(`create index orders_timed_out on orders (chain, id) where status = 'timed_out'`);
  },
};
