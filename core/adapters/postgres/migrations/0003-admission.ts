import type { Migration } from './migration.js';

/** A nonce is in here from its first use until no request that carries it could pass the timestamp check any more. */
const NONCES = `
  create table nonces (
    chain text not null,
    agent text not null,
    nonce text not null,
    expires_at bigint not null,
    primary key (chain, agent, nonce)
  );
  create index nonces_expiry on nonces (expires_at);
`;

/** The window comes first in the key, so that old windows are adjacent; free space in each page allows HOT updates. */
const REQUEST_COUNTS = `
  create table request_counts (
    window_start bigint not null,
    subject text not null,
    requests bigint not null,
    writes bigint not null,
    primary key (window_start, subject)
  ) with (fillfactor = 50);
`;

export const admission: Migration = {
  name: '0003-admission',
  async up(trx) {
    for (const tables of [NONCES, REQUEST_COUNTS]) await trx.raw(tables);
  },
};
