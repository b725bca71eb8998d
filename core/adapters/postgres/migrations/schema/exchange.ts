/** Orders and settings of the facade, as its clients sent them. */
export const EXCHANGE = `
  -- One order of a client can be several of ours (a close and an opening), and its limit price is not the trigger price of the order on chain.
  create table exchange_orders (
    chain text not null,
    oid bigint not null,
    trader text not null,
    agent text not null,
    action bigint not null references relay_actions (id),
    item integer not null,
    cloid text,
    pair_index integer not null,
    manner text not null check (manner in ('market', 'resting', 'protection')),
    terms jsonb not null,
    answered text check (answered in ('resting', 'ended')),
    parent_order bigint,
    created_at bigint not null,
    primary key (chain, oid)
  );
  comment on column exchange_orders.answered is
    'resting: answered before the outcome; ended: an order that missed its price could not be left resting';
  comment on column exchange_orders.parent_order is 'for TP/SL that came with an opening: the order that opens the position they protect';
  create index exchange_orders_of_trader on exchange_orders (chain, trader, oid);
  create index exchange_orders_by_cloid on exchange_orders (chain, trader, cloid, created_at) where cloid is not null;
  create index exchange_orders_by_parent on exchange_orders (chain, parent_order) where parent_order is not null;
  create index exchange_orders_of_children on exchange_orders (chain, action, item) where parent_order is not null;

  create table exchange_legs (
    chain text not null,
    oid bigint not null,
    seq integer not null,
    role text not null check (role in ('close', 'open', 'protect')),
    order_id bigint,
    trade_index bigint,
    size_base numeric not null,
    primary key (chain, oid, seq)
  );
  create index exchange_legs_by_order on exchange_legs (chain, order_id) where order_id is not null;

  create table leverage_settings (
    chain text not null,
    trader text not null,
    pair_index integer not null,
    leverage integer not null check (leverage > 0),
    is_cross boolean not null,
    primary key (chain, trader, pair_index)
  );

  create table scheduled_cancels (
    chain text not null,
    trader text not null,
    action bigint not null references relay_actions (id),
    agent text not null,
    due_at bigint not null,
    fired_at bigint,
    primary key (chain, trader)
  );
  -- Queried every second: due schedules, tried before or not.
  create index scheduled_cancels_by_time on scheduled_cancels (chain, due_at);

  -- Closing slippage still to be set on a trade. Small: a row exists from an order with TP/SL until its trade is open and has it.
  create table pending_closing_slippages (
    id bigint generated always as identity primary key,
    chain text not null,
    trader text not null,
    agent text not null,
    action bigint not null references relay_actions (id),
    item integer not null,
    oid bigint not null,
    order_id bigint,
    trade_index bigint,
    slippage_p integer not null check (slippage_p > 0),
    tries integer not null default 0,
    due_at bigint not null,
    check ((order_id is null) <> (trade_index is null))
  );
  create index pending_closing_slippages_due on pending_closing_slippages (chain, due_at);
`;
