import type { Migration } from './migration.js';

/** `agents.version` rises with every change of a row, so a request can verify that its cached agent is current. */
const AGENTS = `
  create table agents (
    chain text not null,
    agent text not null,
    trader text not null,
    name text not null,
    mode text not null check (mode in ('self', 'relayed')),
    markets text[],
    max_leverage numeric check (max_leverage > 0),
    daily_spend_cap_usd numeric check (daily_spend_cap_usd >= 0),
    expires_at bigint,
    permissions text not null check (permissions in ('trade', 'read')),
    created_at bigint not null,
    revoked_at bigint,
    version bigint not null default 1,
    primary key (chain, agent)
  );
  create index agents_of_trader on agents (chain, trader, created_at desc);
  comment on column agents.markets is 'null: every market';
`;

/** The key itself is never stored: `key_hash` is the lower-case hex SHA-256 of the text the client sends. */
const API_KEYS = `
  create table api_keys (
    chain text not null,
    key_hash text not null,
    trader text not null,
    label text not null,
    created_at bigint not null,
    primary key (chain, key_hash),
    unique (chain, trader, label)
  );
`;

/** Messages are kept until their timestamp is out of the window; clocks hold the last accepted timestamp of a subject. */
const MASTER_SIGNATURES = `
  create table master_messages (
    chain text not null,
    signer text not null,
    primary_type text not null,
    digest text not null,
    expires_at bigint not null,
    primary key (chain, signer, primary_type, digest)
  );
  create index master_messages_expiry on master_messages (expires_at);
  create table master_clocks (
    chain text not null,
    trader text not null,
    subject text not null,
    last_timestamp bigint not null,
    primary key (chain, trader, subject)
  );
`;

/** `day` counts UTC days since the epoch. The sum per day is the reservations that hold; one order has at most one reservation. */
const SPEND = `
  create table agent_spend (
    chain text not null,
    agent text not null,
    trader text not null,
    day integer not null,
    spent_usd numeric not null check (spent_usd >= 0),
    primary key (chain, agent, trader, day)
  );
  create table spend_reservations (
    chain text not null,
    id text not null,
    agent text not null,
    trader text not null,
    day integer not null,
    usd numeric not null check (usd >= 0),
    held boolean not null default true,
    primary key (chain, id)
  );
`;

export const access: Migration = {
  name: '0002-access',
  async up(trx) {
    for (const tables of [AGENTS, API_KEYS, MASTER_SIGNATURES, SPEND]) await trx.raw(tables);
  },
};
