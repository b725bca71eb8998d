import type { Migration } from './migration.js';

/** One row per signer across chains, never deleted: a used nonce must stay spent forever. */
export const signers: Migration = {
  name: '0009-signers',
  async up(trx) {
    await trx.raw(`
      create table signer_nonces (
        signer text primary key,
        kept bigint[] not null,
        floor bigint not null default 0
      ) with (fillfactor = 70);
      comment on column signer_nonces.kept is 'the highest used, ascending';
      comment on column signer_nonces.floor is 'this and everything below is dead';
      create index agents_by_address on agents (agent);
      create index agents_by_trader on agents (trader);
    `);
  },
};
