import type { Migration } from './migration.js';

/** The contract keeps no history of its rates, so they are recorded while they apply. */
export const funding: Migration = {
  name: '0013-funding',
  async up(trx) {
    await trx.raw(`
      create table funding_hours (
        chain text not null,
        pair_index integer not null,
        time bigint not null,
        rate numeric(78, 0) not null,
        premium numeric(78, 0) not null,
        primary key (chain, pair_index, time)
      )`);
  },
};
