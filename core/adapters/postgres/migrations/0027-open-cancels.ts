import type { Migration } from './migration.js';

/** Queried with every cancel: whether the same cancel is already under way. */
export const openCancels: Migration = {
  name: '0027-open-cancels',
  async up(trx) {
    await trx.raw(`create index relay_jobs_cancels on relay_jobs (chain, trader) where not is_over and context ->> 'kind' = 'cancel'`);
  },
};
