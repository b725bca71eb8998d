import { statement } from './statement.js';

/** An order that missed its price and rests after all is another order of ours: its children stay what they are, and get the new parent. */
export const RECORD_CHILD = `
  with moved as (
    update exchange_orders set parent_order = :parentOrder
    where chain = :chain and action = :action and item = :item and parent_order is not null returning chain, oid
  ), resized as (
    update exchange_legs leg set size_base = cast(:sizeBase as numeric) from moved where leg.chain = moved.chain and leg.oid = moved.oid
  ), added as (
    insert into exchange_orders (chain, oid, trader, agent, action, item, cloid, pair_index, manner, terms, created_at, parent_order)
    select :chain, nextval('entity_ids'), :trader, :agent, :action, :item, :cloid, :pairIndex, :manner, :terms::jsonb, :createdAt, :parentOrder
    where not exists (select from moved)
    returning chain, oid
  ), legs as (
    insert into exchange_legs (chain, oid, seq, role, size_base) select chain, oid, 1, 'protect', cast(:sizeBase as numeric) from added
  )
  select oid from moved union all select oid from added`;

/** How many legs a bot's order has. */
export const legsBefore = (oid: string): string =>
  `coalesce((select max(seq) from exchange_legs known where known.chain = cast(:chain as text) and known.oid = ${oid}), 0)`;

export const EXTEND = statement(`
  with moved as (
    update exchange_orders set manner = cast(:manner as text) where chain = cast(:chain as text) and oid = cast(:oid as bigint) returning chain, oid
  ), added as (
    insert into exchange_legs (chain, oid, seq, role, order_id, trade_index, size_base)
    select moved.chain, moved.oid, ${legsBefore('cast(:oid as bigint)')} + leg.seq, leg.item->>'role', (leg.item->>'order_id')::bigint,
      (leg.item->>'trade_index')::bigint, (leg.item->>'size_base')::numeric
    from moved, jsonb_array_elements(:legs::jsonb) with ordinality as leg(item, seq)
  )
  select 1`);

/** The order is held: what is being executed now is told before, and then told here as executed. */
export const ANSWER = statement(`
  with noted as (
    update exchange_orders set answered = cast(:answered as text) where chain = cast(:chain as text) and oid = cast(:oid as bigint)
    returning chain, trader, oid
  ), known as (
    select orders.id, orders.trader, orders.state from noted
    join exchange_legs leg on leg.chain = noted.chain and leg.oid = noted.oid join orders on orders.id = leg.order_id
    where orders.state is not null order by leg.seq desc limit 1 for share of orders
  ), clock as (
    insert into account_clocks (chain, trader, cursor) select cast(:chain as text), trader, 1 from known
    on conflict (chain, trader) do update set cursor = account_clocks.cursor + 1 returning cursor
  ), published as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select cast(:chain as text), known.trader, cursor, cast(:at as bigint), 'order', id,
      jsonb_build_object('kind', 'order', 'id', jsonb_build_object('$n', id::text), 'order', state)
    from clock, known returning 1
  )
  select pg_notify(cast(:channel as text), '') from published`);
