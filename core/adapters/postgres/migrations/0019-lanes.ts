import type { Migration } from './migration.js';

/** Lane health is stored, so that every replica refuses jobs that the lane cannot send. */
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
