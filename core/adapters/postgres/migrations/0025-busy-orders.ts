import type { Migration } from './migration.js';

/** Asked for with every order of a bot: which of the trader's trades something is under way for. Those that only rest may be thousands. */
export const busyOrders: Migration = {
  name: '0025-busy-orders',
  async up(trx) {
    await trx.raw(`create index orders_busy on orders (chain, trader) where is_live and status <> 'open'`);
  },
};
