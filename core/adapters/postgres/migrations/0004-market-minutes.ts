import type { Migration } from './migration.js';

/**
 * What was traded in a market in a minute. Executions are marked as counted, so that each is counted once, whichever release stored or
 * orphaned it: those stored before this step are not counted yet, and the replica that follows the chain counts them, newest first.
 */
export const marketMinutes: Migration = {
  name: '0004-market-minutes',
  sql: `
  create table market_minutes (
    chain text not null,
    pair_index integer not null,
    time bigint not null,
    base numeric(78, 0) not null,
    trades integer not null,
    primary key (chain, pair_index, time)
  ) with (fillfactor = 70);
  comment on column market_minutes.base is 'base units of all executions that changed a size, 1e18';
  alter table chain_events add column if not exists counted boolean not null default false;
  comment on column chain_events.counted is 'an execution is part of market_minutes';
  create index if not exists chain_events_uncounted on chain_events (chain, id) where is_fill and counted = orphaned`,
};
