import type { Migration } from './migration.js';

/**
 * Every order that took a level is kept, in place of the last one with those that had it before: a transaction that failed may be mined
 * after a reorganisation. `protections` is read here for the last time; it stays, because steps only add.
 */
export const levelOwners: Migration = {
  name: '0003-level-owners',
  sql: `
  create table level_owners (
    id bigint generated always as identity primary key,
    chain text not null,
    trader text not null,
    slot bigint not null,
    kind text not null check (kind in ('tp', 'sl')),
    price numeric(78, 0) not null,
    owner bigint not null,
    job bigint not null default 0,
    seen_at bigint not null
  );
  comment on table level_owners is 'orders that set a take profit or stop loss; of those of one level the newest whose transaction did not fail has it';
  comment on column level_owners.slot is 'the index of the trade, or of the resting order that opened it';
  comment on column level_owners.owner is 'the order of a bot; for a level that none of them set, a number of its own';
  comment on column level_owners.job is 'the transaction with which the order sets it; 0 where it came with an opening or was seen on chain';
  comment on table protections is 'not used since 0003-level-owners';
  create unique index level_owners_of_level on level_owners (chain, trader, slot, kind, price, job, owner);
  create index level_owners_by_owner on level_owners (chain, trader, owner);
  insert into level_owners (chain, trader, slot, kind, price, owner, job, seen_at)
  select chain, trader, slot, kind, price, (entry ->> 'owner')::bigint, coalesce((entry ->> 'job')::bigint, 0), (entry ->> 'seen_at')::bigint
  from protections cross join lateral (
    select jsonb_build_object('owner', coalesce(set_by, id), 'job', job, 'seen_at', seen_at) as entry
    union all
    select jsonb_build_object('owner', coalesce(before ->> 'set_by', before ->> 'id')::bigint, 'job', (before ->> 'job')::bigint,
      'seen_at', (before ->> 'seen_at')::bigint)
    from jsonb_array_elements(case when jsonb_typeof(former) = 'array' then former else '[]' end) before
  ) owners
  order by id, (entry ->> 'job')::bigint nulls first, (entry ->> 'owner')::bigint
  on conflict do nothing`,
};
