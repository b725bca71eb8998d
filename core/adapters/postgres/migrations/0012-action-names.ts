import type { Migration } from './migration.js';

/** The cost ledger books an action under its own name, so that a new action needs no migration. */
export const actionNames: Migration = {
  name: '0012-action-names',
  sql: `
  create or replace function relay_action_of(purpose text, parent bigint) returns text language plpgsql stable as $$
  begin
    if purpose <> 'action' then return purpose; end if;
    return (select coalesce(envelope::json -> 'action' ->> 'type', 'other') from relay_actions where id = parent);
  exception when others then
    -- An unreadable envelope must not prevent the booking.
    return 'other';
  end $$`,
};
