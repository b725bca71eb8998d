import type { Migration } from './migration.js';

/** By its data a transaction that failed is known as the prepared change, which is then in the way of no other. */
export const dataOfChanges: Migration = {
  name: '0010-data-of-changes',
  sql: `
  alter table prepared_changes add column data text;
  comment on column prepared_changes.data is 'calldata that was given to the agent; null where an earlier release prepared it'`,
};
