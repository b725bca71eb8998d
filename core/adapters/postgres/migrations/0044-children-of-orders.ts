import type { Migration } from './migration.js';

/** TP/SL that came with an opening are orders of the bot too: `parent_order` is the order that opens the position they protect. */
export const childrenOfOrders: Migration = {
  name: '0044-children-of-orders',
  async up(trx) {
    await trx.raw(`
      alter table exchange_orders add column parent_order bigint;
      create index exchange_orders_by_parent on exchange_orders (chain, parent_order) where parent_order is not null;
      create index exchange_orders_of_children on exchange_orders (chain, action, item) where parent_order is not null;
    `);
  },
};
