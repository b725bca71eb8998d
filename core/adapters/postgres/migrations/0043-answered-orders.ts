import type { Migration } from './migration.js';

/** The answer given to the bot, and the public trades of each market by time. */
export const answeredOrders: Migration = {
  name: '0043-answered-orders',
  async up(trx) {
    // resting: answered before the outcome · ended: an order that missed its price could not be left resting.
    await trx.raw(`alter table exchange_orders add column answered text check (answered in ('resting', 'ended'))`);
    await trx.raw(`
      create index if not exists chain_events_tape
      on chain_events (chain, ((event -> 'terms' ->> 'pairIndex')::integer), ((event -> 'place' ->> 'at')::bigint), block_number, log_index)
      where is_fill and not orphaned`);
  },
};
