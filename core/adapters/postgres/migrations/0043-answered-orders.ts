import type { Migration } from './migration.js';

/** What the bot was answered, and the public tape of each market by time. */
export const answeredOrders: Migration = {
  name: '0043-answered-orders',
  async up(trx) {
    // resting: the answer did not wait for the outcome · ended: an order that missed its price could not be left to rest.
    await trx.raw(`alter table exchange_orders add column answered text check (answered in ('resting', 'ended'))`);
    await trx.raw(`
      create index if not exists chain_events_tape
      on chain_events (chain, ((event -> 'terms' ->> 'pairIndex')::integer), ((event -> 'place' ->> 'at')::bigint), block_number, log_index)
      where is_fill and not orphaned`);
  },
};
