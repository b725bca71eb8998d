import type { Migration } from './migration.js';

/** Unanswered requests are queried every other second, and are few among all past orders. */
export const timedOutOrders: Migration = {
  name: '0023-timed-out-orders',
  async up(trx) {
    await trx.raw(`create index orders_timed_out on orders (chain, id) where status = 'timed_out'`);
  },
};
