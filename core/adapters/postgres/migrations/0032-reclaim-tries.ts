import type { Migration } from './migration.js';

/** Traders with failed reclaims and the time of the next try, so that one who removed its delegate does not delay the others. */
export const reclaimTries: Migration = {
  name: '0032-reclaim-tries',
  async up(trx) {
    await trx.raw(`
      create table reclaim_tries (
        chain text not null,
        trader text not null,
        failures integer not null,
        tried_at bigint not null,
        due_at bigint not null,
        primary key (chain, trader)
      )`);
  },
};
