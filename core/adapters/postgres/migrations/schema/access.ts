/** Who may do what: agents, API keys, signed messages, used nonces, rate windows and daily spending. */
export const ACCESS = `
  -- Versions have wide steps and are never used twice: a row that was removed and created again must not have a former version, or a
  -- replica would trust its outdated cache.
  create sequence agent_versions start 1048576 increment 1048576;

  -- The version rises with every change of a row, so that a request can verify that its cached agent is current.
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
    signed_at bigint,
    active_at bigint,
    version bigint not null default nextval('agent_versions'),
    primary key (chain, agent)
  );
  comment on column agents.markets is 'null: every market';
  comment on column agents.signed_at is 'when the agent first signed an action that was accepted for this trader';
  comment on column agents.active_at is 'when the registration was seen active on its chain';
  create index agents_of_trader on agents (chain, trader, created_at desc);
  create index agents_by_address on agents (agent);
  create index agents_by_trader on agents (trader);
  -- A registration that never became active is removed. A key that has signed for a trader stays with that trader.
  create index agents_unused on agents (chain, created_at) where signed_at is null and active_at is null;

  -- The approval as the trader signed it: the relayer recovers the trader from it before it signs for the agent.
  create table agent_approvals (
    chain text not null,
    agent text not null,
    envelope text not null,
    approved_at bigint not null,
    primary key (chain, agent),
    foreign key (chain, agent) references agents (chain, agent) on delete cascade
  );

  -- The key itself is never stored, only the lower-case hex SHA-256 of the text that the client sends.
  create table api_keys (
    chain text not null,
    key_hash text not null,
    trader text not null,
    label text not null,
    created_at bigint not null,
    expires_at bigint,
    primary key (chain, key_hash),
    unique (chain, trader, label)
  );
  comment on column api_keys.expires_at is 'null: never';

  -- Used messages of master wallets, until their timestamp is outside the accepted window.
  create table master_messages (
    chain text not null,
    signer text not null,
    primary_type text not null,
    digest text not null,
    expires_at bigint not null,
    primary key (chain, signer, primary_type, digest)
  );
  create index master_messages_expiry on master_messages (expires_at);

  -- The last accepted timestamp of a subject: a later message must be newer. Removed once every accepted timestamp is newer anyway.
  create table master_timestamps (
    chain text not null,
    trader text not null,
    subject text not null,
    last_timestamp bigint not null,
    primary key (chain, trader, subject)
  );
  create index master_timestamps_age on master_timestamps (last_timestamp);

  -- Nonces of the native API, from first use until no request that carries one could pass the timestamp check.
  create table nonces (
    chain text not null,
    agent text not null,
    nonce text not null,
    expires_at bigint not null,
    primary key (chain, agent, nonce)
  );
  create index nonces_expiry on nonces (expires_at);

  -- Nonces of the facade: one row per signer across chains, never deleted, because a used nonce must stay used.
  create table signer_nonces (
    signer text primary key,
    kept bigint[] not null
  ) with (fillfactor = 70);
  comment on column signer_nonces.kept is 'the highest used, ascending';

  -- Per trader and agent: an approval by another trader must not invalidate the nonces that a wallet uses for itself or its own trader.
  create table nonce_floors (
    agent text not null,
    trader text not null,
    floor bigint not null,
    primary key (agent, trader)
  );
  comment on column nonce_floors.floor is 'nonces up to this one are refused when the agent signs for the trader';
  create index nonce_floors_age on nonce_floors (floor);

  -- The window comes first in the key, so that old windows are adjacent; free space in each page allows HOT updates.
  create table request_counts (
    window_start bigint not null,
    subject text not null,
    requests bigint not null,
    writes bigint not null,
    primary key (window_start, subject)
  ) with (fillfactor = 50);

  -- The sum of a UTC day's held reservations.
  create table agent_spend (
    chain text not null,
    agent text not null,
    trader text not null,
    day integer not null,
    spent_usd numeric not null check (spent_usd >= 0),
    primary key (chain, agent, trader, day)
  );
  comment on column agent_spend.day is 'UTC days since the epoch';

  -- The id is that of the order. Size increases of an order have an id of their own, 'order/…', and follow its status like its initial size.
  create table spend_reservations (
    chain text not null,
    id text not null,
    agent text not null,
    trader text not null,
    day integer not null,
    usd numeric not null check (usd >= 0),
    held boolean not null default true,
    expires_at bigint,
    primary key (chain, id)
  );
  comment on column spend_reservations.expires_at is
    'until when the transaction of a size increase may be sent; null: reserved as long as its order counts';
  create index spend_reservations_increases on spend_reservations (chain, split_part(id, '/', 1)) where id like '%/%';
  create index spend_reservations_unsent on spend_reservations (chain, expires_at) where held and expires_at is not null;
`;
