import type { Migration } from './migration.js';

/** A lane that cannot send is known to every replica, so that all of them refuse what it could not send. */
export const lanes: Migration = {
  name: '0019-lanes',
  async up(trx) {
    await trx.raw(`
      alter table relay_lanes
        add column fenced_since bigint,
        add column fence_reason text,
        add check ((fenced_since is null) = (fence_reason is null))
    `);
  },
};
