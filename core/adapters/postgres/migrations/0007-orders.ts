import type { Migration } from './migration.js';

export const orders: Migration = {
  name: '0007-orders',
  async up(trx) {
    // An order made here has no key yet; a foreign order keeps its id by the key it was first seen at.
    await trx.raw('alter table orders alter column order_key drop not null');
    await trx.raw(`
      alter table orders
        add column home_key text,
        add column agent text,
        add column client_id text,
        add column fingerprint text,
        add column expires_at bigint,
        add column is_sent boolean not null default false,
        add column repeat_of bigint`);
    await trx.raw('update orders set home_key = order_key');
    await trx.raw('create unique index orders_by_home on orders (chain, trader, home_key) where home_key is not null');
    await trx.raw('create unique index orders_by_client_id on orders (chain, trader, client_id) where client_id is not null');
    await trx.raw(`create index orders_prepared on orders (chain, expires_at) where status = 'prepared'`);
    await trx.raw(`create index orders_unsent on orders (chain, agent, expires_at) where status = 'prepared' and not is_sent`);
    await trx.raw(`create index orders_sent on orders (chain, id) where status = 'prepared' and is_sent`);
    await trx.raw('create index orders_repeats on orders (repeat_of) where repeat_of is not null');
    // 0 = deliberately no order; null = undecided, as stored by releases before this step.
    await trx.raw('alter table chain_events add column order_id bigint');
    await trx.raw(`
      update chain_events set order_id = orders.id from orders
      where orders.chain = chain_events.chain and orders.trader = chain_events.trader and orders.order_key = chain_events.order_key`);
    await trx.raw('create index chain_events_of_order on chain_events (order_id) where order_id is not null');
    // Prepared call data. Tags are random, so one tag identifies one order on every chain.
    await trx.raw(`
      create table order_tags (
        id bigint generated always as identity primary key,
        chain text not null,
        tag text not null,
        order_id bigint not null,
        purpose text not null check (purpose in ('place', 'replace')),
        shape text not null,
        data text not null,
        gas bigint,
        unique (chain, tag)
      )`);
    await trx.raw('create index order_tags_of_order on order_tags (order_id, id)');
    await trx.raw(`
      create table order_hashes (
        id bigint generated always as identity primary key,
        chain text not null,
        order_id bigint not null,
        hash text not null,
        seen_at bigint not null,
        unique (order_id, hash)
      )`);
    // Traders whose open orders were read from the chain's state once, because they may be older than the index.
    await trx.raw(`
      create table traders_met (
        chain text not null,
        trader text not null,
        block_number bigint not null,
        primary key (chain, trader)
      )`);
  },
};
