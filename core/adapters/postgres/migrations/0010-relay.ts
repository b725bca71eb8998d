import type { Migration } from './migration.js';

/** Signed actions are kept forever: they prove every transaction the relayer ever signed. */
const ACTIONS = `
  create table relay_actions (
    id bigint generated always as identity primary key,
    chain text not null,
    signer text not null,
    trader text not null,
    envelope text not null,
    action_hash text not null,
    form text not null check (form in ('canonical', 'as-sent')),
    network text not null check (network in ('a', 'b')),
    nonce numeric not null,
    received_at bigint not null
  );
  create index relay_actions_of_trader on relay_actions (chain, trader, id);
`;

/** One row per transaction to send. A nonce belongs to one job permanently, unless a foreign transaction used it. */
const JOBS = `
  create table relay_lanes (
    chain text not null,
    wallet text not null,
    next_nonce bigint not null,
    primary key (chain, wallet)
  );
  create table relay_jobs (
    id bigint generated always as identity primary key,
    chain text not null,
    wallet text not null,
    trader text,
    purpose text not null check (purpose in ('action', 'scheduled-cancel', 'reclaim', 'no-op')),
    parent bigint references relay_actions (id),
    order_id bigint,
    data text not null,
    gas numeric not null,
    context jsonb not null,
    not_after bigint,
    state text not null,
    is_over boolean not null default false,
    nonce bigint,
    attempts jsonb not null default '[]',
    note text,
    created_at bigint not null,
    accepted_at bigint,
    mined jsonb,
    mined_block bigint,
    check ((parent is null) = (purpose = 'no-op'))
  );
  create unique index relay_jobs_nonce on relay_jobs (chain, wallet, nonce) where nonce is not null;
  create index relay_jobs_open on relay_jobs (chain, wallet, id) where not is_over;
  create index relay_jobs_mined on relay_jobs (chain, wallet, mined_block) where mined_block is not null;
  -- Two replicas that notice the same lost request reclaim it once.
  create unique index relay_jobs_reclaim on relay_jobs (chain, order_id) where purpose = 'reclaim' and not is_over;
  create index relay_jobs_of_trader on relay_jobs (chain, trader, id);
  create table relay_hashes (
    chain text not null,
    hash text not null,
    job_id bigint not null references relay_jobs (id),
    primary key (chain, hash)
  );
  create table relay_wallets (
    chain text not null,
    trader text not null,
    wallet text not null,
    primary key (chain, trader)
  );
`;

export const relay: Migration = {
  name: '0010-relay',
  async up(trx) {
    for (const tables of [ACTIONS, JOBS]) await trx.raw(tables);
  },
};
