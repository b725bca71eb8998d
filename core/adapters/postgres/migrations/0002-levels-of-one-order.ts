import type { Migration } from './migration.js';

/**
 * A bot's TP/SL for several trades is one order with a level on each. Earlier ones get those that they have now, unless a later order has
 * the level.
 */
export const levelsOfOneOrder: Migration = {
  name: '0002-levels-of-one-order',
  sql: `
  alter table protections add column set_by bigint;
  comment on column protections.set_by is 'the order of a bot that has it, where that order has its own id on another trade';
  create index if not exists protections_by_order on protections (set_by) where set_by is not null;
  alter table protections add column job bigint, add column former jsonb;
  comment on column protections.job is 'the transaction with which its order sets it';
  comment on column protections.former is 'the orders that had it before, which get it back if that transaction fails; the last one last';
  create index if not exists protections_by_job on protections (job) where job is not null;
  insert into protections as known (chain, trader, slot, kind, price, seen_at, set_by)
  select distinct on (found.chain, found.trader, found.slot, found.kind) found.* from (
    select level.chain, level.trader, coalesce((
        select substring(event.order_key from 9)::bigint from chain_events event
        where event.chain = level.chain and event.trader = level.trader and event.trade_index = leg.trade_index and event.kind = 'executed'
          and event.order_key like 'resting:%' and not event.orphaned limit 1), leg.trade_index) as slot,
      level.kind, (positions.state -> level.kind ->> '$n')::numeric as price, level.seen_at, level.id as set_by
    from protections level
    join exchange_orders o on o.chain = level.chain and o.oid = level.id and o.manner = 'protection' and o.parent_order is null
    join exchange_legs leg on leg.chain = o.chain and leg.oid = o.oid and leg.role = 'protect'
    join positions on positions.chain = level.chain and positions.trader = level.trader and positions.trade_index = leg.trade_index
      and positions.is_open
    where (positions.state -> level.kind ->> '$n')::numeric in (
      level.price, (coalesce(o.terms -> 'order' -> 'style' -> 'trigger', o.terms -> 'order' -> 'limit') ->> '$n')::numeric)
  ) found
  order by found.chain, found.trader, found.slot, found.kind, found.set_by desc
  on conflict (chain, trader, slot, kind, price) do update set set_by = excluded.set_by
    where not exists (select from exchange_orders own where own.chain = known.chain and own.oid = known.id and own.oid >= excluded.set_by)`,
};
