import type { Migration } from './migration.js';

/**
 * One row for each take profit and stop loss, written by placing and by the fold of the indexer (`core/domain/triggers.ts`). What earlier
 * releases stored of bots' orders becomes rows here; what the chain says of them is folded when a trader is first read or indexed.
 * `level_owners` is read here for the last time; it stays, because steps only add.
 */
export const triggers: Migration = {
  name: '0013-triggers',
  sql: `
  create table triggers (
    chain text not null,
    trader text not null,
    key text not null,
    owner bigint not null,
    origin text not null check (origin in ('bot', 'native', 'other')),
    leg integer not null,
    kind text not null check (kind in ('tp', 'sl')),
    parent bigint,
    job bigint,
    price numeric(78, 0) not null,
    asked_at bigint not null,
    asked_place text,
    place text,
    state text not null default 'asked' check (state in ('asked', 'standing', 'over')),
    set_at bigint,
    price_at bigint,
    changed_block bigint,
    end_cause text,
    end_at bigint,
    end_hash text,
    primary key (chain, trader, key)
  );
  comment on column triggers.owner is 'the id of its order as clients know it; of one that was set elsewhere a number of its own';
  comment on column triggers.parent is 'the order with which it came, or whose trigger it is while that rests';
  comment on column triggers.job is 'the transaction that sets it; null where it came with an opening or was set elsewhere';
  comment on column triggers.asked_place is 'where its transaction sets it: trade:<index> or resting:<index>';
  comment on column triggers.place is 'where it stands or stood; null before';
  comment on column triggers.changed_block is 'the block of the last event that changed the row; null before the first';
  create index triggers_by_owner on triggers (chain, trader, owner, leg);
  create index triggers_standing on triggers (chain, trader) where state = 'standing';
  create index triggers_by_place on triggers (chain, trader, place) where place is not null;
  create index triggers_by_block on triggers (chain, trader, changed_block) where changed_block is not null;
  create index triggers_by_job on triggers (job) where job is not null;
  create index triggers_by_parent on triggers (parent) where parent is not null;

  create table trigger_bases (
    chain text not null,
    trader text not null,
    block_number bigint not null,
    standing text not null,
    primary key (chain, trader, block_number)
  );
  comment on table trigger_bases is 'which triggers stood after a block: a fold begins at the newest';

  create index if not exists chain_events_of_triggers on chain_events (chain, trader, block_number, log_index)
  where kind in ('rested', 'replaced', 'amended', 'withdrawn', 'settled', 'executed', 'edited', 'found', 'guarded', 'guardMoved') and not orphaned;

  insert into triggers (chain, trader, key, owner, origin, leg, kind, parent, job, price, asked_at, asked_place)
  select o.chain, o.trader, 'bot/' || o.oid || '/1', o.oid, 'bot', 1, o.terms -> 'order' -> 'style' ->> 'tpsl', o.parent_order, job.id,
    (o.terms -> 'order' -> 'style' -> 'trigger' ->> '$n')::numeric, o.created_at, 'resting:' || (job.context -> 'intent' ->> 'tradeIndex')
  from exchange_orders o left join lateral (
    select id, context from relay_jobs where relay_jobs.chain = o.chain and relay_jobs.trader = o.trader and relay_jobs.parent = o.action
      and relay_jobs.context ->> 'kind' = 'child' and (relay_jobs.context ->> 'item')::integer = o.item order by id desc limit 1) job on true
  where o.parent_order is not null and o.terms -> 'order' -> 'style' ->> 'kind' = 'trigger';

  insert into triggers (chain, trader, key, owner, origin, leg, kind, job, price, asked_at, asked_place)
  select o.chain, o.trader, 'bot/' || o.oid || '/' || leg.place, o.oid, 'bot', leg.place,
    coalesce(o.terms -> 'order' -> 'style' ->> 'tpsl', 'tp'), job.id,
    coalesce((o.terms -> 'order' -> 'style' -> 'trigger' ->> '$n')::numeric, (o.terms -> 'order' -> 'limit' ->> '$n')::numeric), o.created_at,
    'trade:' || leg.trade_index
  from exchange_orders o cross join lateral (
    select seq, trade_index, row_number() over (order by seq) as place from exchange_legs
    where exchange_legs.chain = o.chain and exchange_legs.oid = o.oid and role = 'protect') leg
  cross join lateral (
    select id from relay_jobs where relay_jobs.chain = o.chain and relay_jobs.trader = o.trader and relay_jobs.parent = o.action
      and relay_jobs.context ->> 'kind' = 'order' and (relay_jobs.context ->> 'item')::integer = o.item
      and (relay_jobs.context ->> 'leg')::integer = leg.seq - 1 order by id desc limit 1) job
  where o.parent_order is null;

  insert into triggers (chain, trader, key, owner, origin, leg, kind, price, asked_at)
  select level.chain, level.trader, 'other/' || spot.place || '/' || level.kind || '/' || level.price, min(level.owner), 'other', 1, level.kind,
    level.price, min(level.seen_at)
  from level_owners level cross join lateral (
    select case when exists (select from chain_events opened where opened.chain = level.chain and opened.trader = level.trader
      and opened.order_key = 'resting:' || level.slot) then 'resting:' else 'trade:' end || level.slot as place) spot
  where not exists (select from exchange_orders o where o.chain = level.chain and o.oid = level.owner)
  group by level.chain, level.trader, spot.place, level.kind, level.price
  on conflict do nothing;`,
};
