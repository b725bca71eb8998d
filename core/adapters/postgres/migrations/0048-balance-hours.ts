import type { Migration } from './migration.js';

/** The balance of a relayer wallet at the end of each hour, as a replica last read it: fundings are in no ledger, so it cannot be derived. */
export const balanceHours: Migration = {
  name: '0048-balance-hours',
  async up(trx) {
    await trx.raw(`
      create table relay_balance_hours (
        chain text not null,
        wallet text not null,
        hour bigint not null,
        at bigint not null,
        balance numeric(78, 0) not null,
        primary key (chain, wallet, hour)
      )`);
  },
};
