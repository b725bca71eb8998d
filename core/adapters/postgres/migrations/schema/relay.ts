/** What the relayer signs and sends, and the operator's rules for it. */
export const RELAY = `
  -- Signed actions are kept forever: they prove every transaction that the relayer signed.
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

  -- One lane per relayer wallet. Its health is stored, so that every replica refuses jobs that the lane cannot send.
  create table relay_lanes (
    chain text not null,
    wallet text not null,
    next_nonce bigint not null,
    blocked_since bigint,
    blocked_reason text,
    primary key (chain, wallet),
    check ((blocked_since is null) = (blocked_reason is null))
  );
  comment on column relay_lanes.blocked_since is 'since when the lane cannot send';

  -- One row per transaction to send. A nonce belongs to one job permanently, unless a foreign transaction used it.
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
    refusal text,
    note text,
    created_at bigint not null,
    accepted_at bigint,
    mined jsonb,
    mined_block bigint,
    check ((parent is null) = (purpose = 'no-op'))
  );
  comment on column relay_jobs.refusal is 'why it was never sent, as a code; the note says it in words';
  create unique index relay_jobs_nonce on relay_jobs (chain, wallet, nonce) where nonce is not null;
  create index relay_jobs_open on relay_jobs (chain, wallet, id) where not is_over;
  create index relay_jobs_mined on relay_jobs (chain, wallet, mined_block) where mined_block is not null;
  -- Two replicas that notice the same lost request reclaim it once.
  create unique index relay_jobs_reclaim on relay_jobs (chain, order_id) where purpose = 'reclaim' and not is_over;
  create index relay_jobs_of_trader on relay_jobs (chain, trader, id);
  create index relay_jobs_of_order on relay_jobs (chain, order_id, id) where order_id is not null;
  -- Transactions of the day are counted from rows, so that no stored count can drift.
  create index relay_jobs_by_day on relay_jobs (chain, trader, created_at) where trader is not null;
  -- Queried with every cancel: whether the same cancel is already under way.
  create index relay_jobs_cancels on relay_jobs (chain, trader) where not is_over and context ->> 'kind' = 'cancel';

  create table relay_hashes (
    chain text not null,
    hash text not null,
    job_id bigint not null references relay_jobs (id),
    primary key (chain, hash)
  );

  -- The wallet that sends for a trader.
  create table relay_wallets (
    chain text not null,
    trader text not null,
    wallet text not null,
    primary key (chain, trader)
  );
  create index relay_wallets_of_wallet on relay_wallets (chain, wallet);

  -- The operator's rules for traders of the facade; '*' stands for every chain, or every trader.
  create table relay_rules (
    chain text not null,
    trader text not null,
    rules jsonb not null,
    updated_at bigint not null,
    primary key (chain, trader)
  );

  -- The operator's switches, persistent and valid for all replicas. '*' is every wallet of the chain.
  create table relay_switches (
    chain text not null,
    wallet text not null,
    mode text not null default 'running' check (mode in ('running', 'draining', 'paused')),
    is_retiring boolean not null default false,
    reason text,
    changed_at bigint not null,
    primary key (chain, wallet)
  );

  -- Traders with failed reclaims and the time of the next try, so that one who removed its delegate does not delay the others.
  create table reclaim_tries (
    chain text not null,
    trader text not null,
    failures integer not null,
    tried_at bigint not null,
    due_at bigint not null,
    primary key (chain, trader)
  );

  -- The highest balance of a relayer wallet on a UTC day, as its lane read it; the daily budget derives from it.
  create table relay_balances (
    chain text not null,
    wallet text not null,
    day bigint not null,
    highest numeric(78, 0) not null,
    primary key (chain, wallet, day)
  );

  -- The balance of a relayer wallet at the end of each hour, as a replica last read it: fundings are in no ledger, so it cannot be derived.
  create table relay_balance_hours (
    chain text not null,
    wallet text not null,
    hour bigint not null,
    at bigint not null,
    balance numeric(78, 0) not null,
    primary key (chain, wallet, hour)
  );
`;
