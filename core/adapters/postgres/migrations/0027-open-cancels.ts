import type { Migration } from './migration.js';

/** Asked for with every cancel: whether the same is under way already. */
export const openCancels: Migration = {
  name: '0027-open-cancels',
  async up(trx) {
    await trx.raw(`create index relay_jobs_cancels on relay_jobs (chain, trader) where not is_over and context ->> 'kind' = 'cancel'`);
  },
};
