import type { Migration } from './migration.js';

export const tracking: Migration = {
  name: '0005-tracking',
  async up(trx) {
    // Orders and positions share one id sequence; ids must fit a 53-bit integer and are never reused.
    await trx.raw('create sequence entity_ids as bigint minvalue 1 maxvalue 9007199254740991 no cycle');
    await trx.raw(`
      create table chain_cursors (
        chain text primary key,
        start_block bigint not null,
        block_number bigint not null,
        block_hash text
      )`);
    await trx.raw(`
      create table chain_checkpoints (
        chain text not null,
        block_number bigint not null,
        block_hash text not null,
        primary key (chain, block_number)
      )`);
    // Append-only: a reorganisation marks rows and never deletes them.
    await trx.raw(`
      create table chain_events (
        id bigint generated always as identity primary key,
        chain text not null,
        event_key text not null,
        trader text not null,
        kind text not null,
        order_key text,
        trade_index bigint,
        block_number bigint not null,
        log_index integer not null,
        is_fill boolean not null,
        event jsonb not null,
        orphaned boolean not null default false,
        unique (chain, event_key)
      )`);
    await trx.raw('create index chain_events_by_block on chain_events (chain, block_number) where not orphaned');
    await trx.raw('create index chain_events_by_order on chain_events (chain, trader, order_key) where order_key is not null');
    await trx.raw('create index chain_events_by_trade on chain_events (chain, trader, trade_index) where trade_index is not null');
    await trx.raw(
      'create index chain_events_fills on chain_events (chain, trader, block_number, log_index) where is_fill and not orphaned',
    );
    await trx.raw(`
      create table orders (
        id bigint primary key default nextval('entity_ids'),
        chain text not null,
        trader text not null,
        order_key text not null,
        status text,
        is_live boolean not null,
        requested_block bigint,
        state jsonb,
        unique (chain, trader, order_key)
      )`);
    await trx.raw('create index orders_by_trader on orders (chain, trader, id) where state is not null');
    await trx.raw('create index orders_live on orders (chain, trader, id) where is_live');
    await trx.raw(`create index orders_unanswered on orders (chain, requested_block) where status = 'pending'`);
    await trx.raw(`
      create table positions (
        id bigint primary key default nextval('entity_ids'),
        chain text not null,
        trader text not null,
        trade_index bigint not null,
        is_open boolean not null,
        state jsonb,
        unique (chain, trader, trade_index)
      )`);
    await trx.raw('create index positions_open on positions (chain, trader) where is_open');
  },
};
