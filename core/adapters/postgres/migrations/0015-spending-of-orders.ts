import type { Migration } from './migration.js';

/** Size increases of an order are reserved in addition to its initial size, and both follow its status. */
export const spendingOfOrders: Migration = {
  name: '0015-spending-of-orders',
  async up(trx) {
    await trx.raw(`create index spend_reservations_grown on spend_reservations (chain, split_part(id, '/', 1)) where id like '%/%'`);
  },
};
