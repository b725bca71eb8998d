import type { Migration } from './migration.js';

/**
 * What a resting order would grow by is reserved while its transaction may be sent, and again for good once the chain has it. Null: it counts
 * as long as its order does, as every reservation from before.
 */
export const unsentGrowth: Migration = {
  name: '0047-unsent-growth',
  async up(trx) {
    await trx.raw(`
      alter table spend_reservations add column expires_at bigint;
      create index if not exists spend_reservations_unsent on spend_reservations (chain, expires_at) where held and expires_at is not null;
    `);
  },
};
