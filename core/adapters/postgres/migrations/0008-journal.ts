import { NOW_MS, type Migration } from './migration.js';

export const journal: Migration = {
  name: '0008-journal',
  async up(trx) {
    // One row per account, locked by the writer of its journal, so that cursors become visible in order.
    await trx.raw(`
      create table account_clocks (
        chain text not null,
        trader text not null,
        cursor bigint not null,
        primary key (chain, trader)
      )`);
    // Insert-only. `written_at` is the database's time, `at` the gateway's.
    await trx.raw(`
      create table journal (
        chain text not null,
        trader text not null,
        cursor bigint not null,
        at bigint not null,
        kind text not null check (kind in ('order', 'fill', 'position', 'agent', 'correction')),
        order_id bigint,
        fact jsonb not null,
        transaction_id xid8 not null default pg_current_xact_id(),
        written_at bigint not null default ${NOW_MS},
        primary key (chain, trader, cursor)
      )`);
    await trx.raw('create index journal_by_transaction on journal (transaction_id)');
    await trx.raw('create index journal_of_order on journal (chain, order_id, cursor) where order_id is not null');
  },
};
