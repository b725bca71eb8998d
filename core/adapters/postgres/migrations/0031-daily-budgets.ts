import type { Migration } from './migration.js';

/** The highest balance of a relayer wallet on a UTC day, as its lane saw it; the daily budget derives from it. */
export const dailyBudgets: Migration = {
  name: '0031-daily-budgets',
  async up(trx) {
    await trx.raw(`
      create table relay_balances (
        chain text not null,
        wallet text not null,
        day bigint not null,
        highest numeric(78, 0) not null,
        primary key (chain, wallet, day)
      )`);
  },
};
