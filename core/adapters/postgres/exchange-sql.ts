import { MAY_BE_SENT_MS } from '../../config/relayer.js';
import { NOW_MS } from './migrations/migration.js';
import { statement } from './statement.js';

/**
 * A trader's open jobs and those mined above the indexed block. They are looked up by wallet, because jobs are indexed by wallet; a wallet
 * that never sent has no lane yet. An overdue job is left out, because its wallet was given up.
 */
const UNDER_WAY = `relay_jobs
  where chain = cast(:chain as text) and wallet = any(array(
    select wallet from relay_lanes where chain = cast(:chain as text)
    union select wallet from relay_wallets where chain = cast(:chain as text) and trader = cast(:trader as text)))
  and (not is_over and coalesce(not_after, ${NOW_MS}) > ${NOW_MS} - ${MAY_BE_SENT_MS} or state = 'mined' and mined_block > (select block_number from chain_cursors where chain = cast(:chain as text)))
  and trader = cast(:trader as text) and order_id is null and purpose = 'action'`;

export const AWAITED_JOBS = `
  select parent, (context->>'item')::integer as item from ${UNDER_WAY} and context->>'kind' in ('order', 'child')`;

export const AWAITED = statement(AWAITED_JOBS);

export const AMENDED = statement(`
  select 1 from ${UNDER_WAY} and context->'intent'->>'kind' = 'amend' and (context->'intent'->>'tradeIndex')::bigint = cast(:tradeIndex as bigint) limit 1`);

/** When an order that missed its price rests as another order, its TP/SL keep their oids and get the new parent. */
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

/** Number of legs of a bot's order. */
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

/** Locks the order's row, so that the journal never gets an older state of it after a newer one. */
export const ANSWER = statement(`
  with noted as (
    update exchange_orders set answered = cast(:answered as text) where chain = cast(:chain as text) and oid = cast(:oid as bigint)
    returning chain, trader, oid
  ), known as (
    select orders.id, orders.trader, orders.state from noted
    join exchange_legs leg on leg.chain = noted.chain and leg.oid = noted.oid join orders on orders.id = leg.order_id
    where orders.state is not null order by leg.seq desc limit 1 for share of orders
  ), clock as (
    insert into account_cursors (chain, trader, cursor) select cast(:chain as text), trader, 1 from known
    on conflict (chain, trader) do update set cursor = account_cursors.cursor + 1 returning cursor
  ), published as (
    insert into journal (chain, trader, cursor, at, kind, order_id, fact)
    select cast(:chain as text), known.trader, cursor, cast(:at as bigint), 'order', id,
      jsonb_build_object('kind', 'order', 'id', jsonb_build_object('$n', id::text), 'order', state)
    from clock, known returning 1
  )
  select pg_notify(cast(:channel as text), '') from published`);
