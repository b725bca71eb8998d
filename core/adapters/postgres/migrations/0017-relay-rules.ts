import type { Migration } from './migration.js';

/** The operator's rules for traders of the facade; `*` stands for every chain, or every trader. */
export const relayRules: Migration = {
  name: '0017-relay-rules',
  async up(trx) {
    await trx.raw(`
      create table relay_rules (
        chain text not null,
        trader text not null,
        rules jsonb not null,
        updated_at bigint not null,
        primary key (chain, trader)
      )`);
    // Openings of the last minute and transactions of the day are counted from rows, so that no stored count can drift.
    await trx.raw(`
      create index orders_openings on orders (chain, trader, ((state ->> 'createdAt')::bigint))
      where agent is not null and state ->> 'action' = 'open'`);
    await trx.raw('create index relay_jobs_by_day on relay_jobs (chain, trader, created_at) where trader is not null');
  },
};
