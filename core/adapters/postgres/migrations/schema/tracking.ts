import { NOW_MS } from '../migration.js';

/** What the indexer reads from the chains, and the orders and positions that follow from it. */
export const TRACKING = `
  -- Orders and positions share one id sequence; ids must fit a 53-bit integer and are never reused.
  create sequence entity_ids as bigint minvalue 1 maxvalue 9007199254740991 no cycle;

  create table chain_cursors (
    chain text primary key,
    start_block bigint not null,
    block_number bigint not null,
    block_hash text
  );

  create table chain_checkpoints (
    chain text not null,
    block_number bigint not null,
    block_hash text not null,
    primary key (chain, block_number)
  );

  -- Append-only: a reorganisation marks rows and never deletes them.
  create table chain_events (
    id bigint generated always as identity primary key,
    chain text not null,
    event_key text not null,
    trader text not null,
    kind text not null,
    order_key text,
    order_id bigint,
    trade_index bigint,
    block_number bigint not null,
    log_index integer not null,
    is_fill boolean not null,
    event jsonb not null,
    orphaned boolean not null default false,
    unique (chain, event_key)
  );
  comment on column chain_events.order_id is '0: belongs to no order; null: its order is not known';
  create index chain_events_by_block on chain_events (chain, block_number) where not orphaned;
  create index chain_events_by_order on chain_events (chain, trader, order_key) where order_key is not null;
  create index chain_events_of_order on chain_events (order_id) where order_id is not null;
  create index chain_events_by_trade on chain_events (chain, trader, trade_index) where trade_index is not null;
  create index chain_events_fills on chain_events (chain, trader, block_number, log_index) where is_fill and not orphaned;
  create index chain_events_fills_by_time
    on chain_events (chain, trader, ((event -> 'place' ->> 'at')::bigint), block_number, log_index) where is_fill and not orphaned;
  -- The public trades of a market by time.
  create index chain_events_fills_by_market
    on chain_events (chain, ((event -> 'terms' ->> 'pairIndex')::integer), ((event -> 'place' ->> 'at')::bigint), block_number, log_index)
    where is_fill and not orphaned;

  create table orders (
    id bigint primary key default nextval('entity_ids'),
    chain text not null,
    trader text not null,
    order_key text,
    first_key text,
    agent text,
    client_id text,
    fingerprint text,
    status text,
    is_live boolean not null,
    is_sent boolean not null default false,
    requested_block bigint,
    expires_at bigint,
    repeat_of bigint,
    takes numeric(78, 0),
    prepared_until bigint,
    state jsonb,
    unique (chain, trader, order_key)
  );
  comment on column orders.order_key is 'its current key on chain; null before it is mined';
  comment on column orders.first_key is 'the key at which an order that was not made here was first seen; it keeps its id by it';
  comment on column orders.repeat_of is 'the order whose call data was mined again and created this one';
  comment on column orders.takes is 'what an opening of the facade takes from the wallet of its trader when it is mined';
  comment on column orders.prepared_until is 'when an order with takes stopped being prepared';
  create unique index orders_by_first_key on orders (chain, trader, first_key) where first_key is not null;
  create unique index orders_by_client_id on orders (chain, trader, client_id) where client_id is not null;
  create index orders_by_trader on orders (chain, trader, id) where state is not null;
  create index orders_live on orders (chain, trader, id) where is_live;
  -- Queried with every order of a bot: trades with an order under way. Resting orders, possibly thousands, are excluded.
  create index orders_busy on orders (chain, trader) where is_live and status <> 'open';
  create index orders_prepared on orders (chain, expires_at) where status = 'prepared';
  create index orders_unsent on orders (chain, agent, expires_at) where status = 'prepared' and not is_sent;
  create index orders_sent on orders (chain, id) where status = 'prepared' and is_sent;
  create index orders_unanswered on orders (chain, requested_block) where status = 'pending';
  -- Queried every other second, and few among all past orders.
  create index orders_timed_out on orders (chain, id) where status = 'timed_out';
  -- Filled, rejected and unanswered orders, most recently ended first.
  create index orders_ended on orders (chain, trader, ((state ->> 'updatedAt')::bigint))
    where status in ('filled', 'rejected', 'timed_out');
  create index orders_repeats on orders (repeat_of) where repeat_of is not null;
  -- Openings of the last minute are counted from rows, so that no stored count can drift.
  create index orders_openings on orders (chain, trader, ((state ->> 'createdAt')::bigint))
    where agent is not null and state ->> 'action' = 'open';

  -- With every opening, what the trader's wallet has to pay for openings that are not yet in the figures read from the chain is summed up.
  create index orders_unmined on orders (chain, trader) where takes is not null and status = 'prepared';
  create index orders_by_prepared_until on orders (chain, trader, prepared_until) where prepared_until is not null;
  -- The database's clock sets the time, so that it is the same on every replica.
  create function order_set_prepared_until() returns trigger language plpgsql as $$
  begin
    new.prepared_until := ${NOW_MS};
    return new;
  end $$;
  create trigger orders_set_prepared_until before update of status on orders for each row
  when (old.takes is not null and old.status = 'prepared' and new.status <> 'prepared') execute function order_set_prepared_until();

  -- Prepared call data. Tags are random, so one tag identifies one order on every chain.
  create table order_tags (
    id bigint generated always as identity primary key,
    chain text not null,
    tag text not null,
    order_id bigint not null,
    purpose text not null check (purpose in ('place', 'replace')),
    shape text not null,
    data text not null,
    gas bigint,
    unique (chain, tag)
  );
  comment on column order_tags.shape is 'the terms that the order must have on chain';
  create index order_tags_of_order on order_tags (order_id, id);

  create table order_hashes (
    id bigint generated always as identity primary key,
    chain text not null,
    order_id bigint not null,
    hash text not null,
    seen_at bigint not null,
    unique (order_id, hash)
  );

  create table positions (
    id bigint primary key default nextval('entity_ids'),
    chain text not null,
    trader text not null,
    trade_index bigint not null,
    is_open boolean not null,
    state jsonb,
    unique (chain, trader, trade_index)
  );
  create index positions_open on positions (chain, trader) where is_open;

  -- TP and SL of the facade by the index they were set on. Clients know them by id, like orders and positions.
  create table protections (
    id bigint primary key default nextval('entity_ids'),
    chain text not null,
    trader text not null,
    slot bigint not null,
    kind text not null check (kind in ('tp', 'sl')),
    price numeric(78, 0) not null,
    seen_at bigint not null,
    unique (chain, trader, slot, kind, price)
  );

  -- Traders whose open orders were read from the chain's state once, because they may be older than the index.
  create table backfilled_traders (
    chain text not null,
    trader text not null,
    block_number bigint not null,
    primary key (chain, trader)
  );

  -- Referral events of every referrer and not only the configured ones, so that a referrer configured later has its history. Amounts are
  -- 1e18; the key is the log.
  create table referral_events (
    chain text not null,
    event_key text not null,
    block_number bigint not null,
    kind text not null check (kind in ('registered', 'rewarded', 'ally-rewarded', 'claimed')),
    beneficiary text not null,
    trader text,
    volume_usd numeric(78, 0) not null,
    amount_gns numeric(78, 0) not null,
    amount_usd numeric(78, 0) not null,
    at bigint not null,
    primary key (chain, event_key)
  );
  create index referral_events_earned on referral_events (chain, beneficiary, at);
  create index referral_events_blocks on referral_events (chain, block_number);
`;
