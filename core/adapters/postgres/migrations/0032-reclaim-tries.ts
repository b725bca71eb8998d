import type { Migration } from './migration.js';

/** Traders for whom nothing could be reclaimed lately, and when it is tried again: one that removed its delegate must not keep the others waiting. */
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
