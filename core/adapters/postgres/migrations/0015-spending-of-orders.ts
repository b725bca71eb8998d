import type { Migration } from './migration.js';

/** What an order grew by is reserved beside what it was made with, and both follow its status. */
export const spendingOfOrders: Migration = {
  name: '0015-spending-of-orders',
  async up(trx) {
    await trx.raw(`create index spend_reservations_grown on spend_reservations (chain, split_part(id, '/', 1)) where id like '%/%'`);
  },
};
