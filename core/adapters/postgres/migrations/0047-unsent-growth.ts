import type { Migration } from './migration.js';

/**
 * A size increase of a resting order is reserved while its transaction may be sent, and permanently once it is on chain. Null: reserved as
 * long as its order counts, like every earlier reservation.
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
