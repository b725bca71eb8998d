import type { Migration } from './migration.js';

/** Minutes of the feed's mark price, 1e10. Rows are updated during their minute, hence the free space in every page. */
export const candles: Migration = {
  name: '0004-candles',
  async up(trx) {
    await trx.raw(`
      create table candles (
        chain text not null,
        pair_index integer not null,
        time bigint not null,
        open numeric(78, 0) not null,
        high numeric(78, 0) not null,
        low numeric(78, 0) not null,
        close numeric(78, 0) not null,
        open_at bigint not null,
        close_at bigint not null,
        primary key (chain, pair_index, time)
      ) with (fillfactor = 70)`);
  },
};
