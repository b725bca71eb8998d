import type { Migration } from './migration.js';

/**
 * What an agent has spent on a day is the sum of its reservations that are held. `agent_spend` had that sum as a figure of its own, which
 * concurrent changes of a reservation's day left too high or too low. It is not read any more. The table stays for the previous release;
 * without the check, a sum of it that is too low no longer fails the transaction of a follower.
 */
export const spendFromReservations: Migration = {
  name: '0006-spend-from-reservations',
  sql: `
  create index if not exists spend_reservations_held on spend_reservations (chain, agent, trader, day) where held;
  alter table agent_spend drop constraint if exists agent_spend_spent_usd_check;
  comment on table agent_spend is 'not used since 0006-spend-from-reservations'`,
};
