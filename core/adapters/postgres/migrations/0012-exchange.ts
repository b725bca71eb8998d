import type { Migration } from './migration.js';

/**
 * Orders as bots sent them: one of them can be several of ours (a close and an opening), and its limit price is not the trigger price of
 * the order on chain.
 */
export const exchange: Migration = {
  name: '0012-exchange',
  async up(trx) {
    await trx.raw(`
      create table exchange_orders (
        chain text not null,
        oid bigint not null,
        trader text not null,
        agent text not null,
        action bigint not null references relay_actions (id),
        item integer not null,
        cloid text,
        pair_index integer not null,
        manner text not null check (manner in ('market', 'resting', 'protection')),
        terms jsonb not null,
        created_at bigint not null,
        primary key (chain, oid)
      );
      create index exchange_orders_of_trader on exchange_orders (chain, trader, oid);
      create index exchange_orders_by_cloid on exchange_orders (chain, trader, cloid, created_at) where cloid is not null;
      create table exchange_legs (
        chain text not null,
        oid bigint not null,
        seq integer not null,
        role text not null check (role in ('close', 'open', 'protect')),
        order_id bigint,
        trade_index bigint,
        size_base numeric not null,
        primary key (chain, oid, seq)
      );
      create index exchange_legs_by_order on exchange_legs (chain, order_id) where order_id is not null;
      create table scheduled_cancels (
        chain text not null,
        trader text not null,
        action bigint not null references relay_actions (id),
        agent text not null,
        due_at bigint not null,
        fired_at bigint,
        primary key (chain, trader)
      );
      create index scheduled_cancels_due on scheduled_cancels (chain, due_at) where fired_at is null;
    `);
  },
};
