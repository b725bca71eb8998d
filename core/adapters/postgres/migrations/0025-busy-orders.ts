import type { Migration } from './migration.js';

/** Queried with every order of a bot: trades with an order under way. Resting orders, possibly thousands, are excluded. */
export const busyOrders: Migration = {
  name: '0025-busy-orders',
  async up(trx) {
    await trx.raw(`create index orders_busy on orders (chain, trader) where is_live and status <> 'open'`);
  },
};
