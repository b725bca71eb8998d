import type { Migration } from './migration.js';

/**
 * What an agent has spent on a day is the sum of its reservations that are held. `agent_spend` had that sum as a figure of its own, which
 * concurrent changes of a reservation's day left too high or too low. It is not read any more. The table stays for the previous release;
 * without the check, a sum of it that is too low no longer fails the transaction of a follower.
 *
 * A change of a resting order repeats all of it, so of two that are prepared from the same state only one may be sent.
 */
export const spendAndChanges: Migration = {
  name: '0006-spend-and-changes',
  sql: `
  alter table spend_reservations add column if not exists in_sum boolean not null default false;
  comment on column spend_reservations.in_sum is 'whether the sum of its day in spend_sums has it';
  create index if not exists spend_reservations_beside_sum on spend_reservations (chain, agent, trader, day) where held <> in_sum;
  create table spend_sums (
    chain text not null,
    agent text not null,
    trader text not null,
    day integer not null,
    usd numeric not null,
    primary key (chain, agent, trader, day)
  );
  comment on table spend_sums is 'reservations of a day added up, so that few are left to add; written under the lock of the trader''s orders only';
  create table prepared_changes (
    chain text not null,
    trader text not null,
    trade_index bigint not null,
    order_id bigint not null,
    was jsonb not null,
    becomes jsonb not null,
    expires_at bigint not null,
    primary key (chain, trader, trade_index)
  );
  comment on table prepared_changes is 'the change of a resting order that was given to an agent last';
  comment on column prepared_changes.was is 'what of the order it was prepared from: it is mined, or of no use, once the order is different';
  alter table agent_spend drop constraint if exists agent_spend_spent_usd_check;
  comment on table agent_spend is 'not used since 0006-spend-and-changes'`,
};
