import type { Migration } from './migration.js';

/** Queried every second: due schedules, tried before or not. The index of 0012 covers only untried ones. */
const DUE = `
  create index scheduled_cancels_by_time on scheduled_cancels (chain, due_at);
  drop index scheduled_cancels_due;
`;

/** The refusal reason of a job. Earlier releases store only a note, which is still parsed. */
const REFUSED = `
  alter table relay_jobs add column refusal text;
  create or replace function relay_refusal_count() returns trigger language plpgsql as $$
  begin
    insert into relay_refusals as known (chain, reason, count)
    values (new.chain, case
      when new.refusal is not null then new.refusal
      when new.note like 'its time was over%' then 'too-late'
      when new.note like 'gas %' then 'gas-cap'
      when new.note like '%nonce%' then 'nonce-used-elsewhere'
      when new.note like '%quota%' then 'quota'
      when new.note like '%signed action%' or new.note like '%on the list%' or new.note like '%delegated call%' then 'policy'
      else 'other' end, 1)
    on conflict (chain, reason) do update set count = known.count + 1;
    return null;
  end $$;
`;

export const dueAndRefused: Migration = {
  name: '0024-due-and-refused',
  async up(trx) {
    for (const step of [DUE, REFUSED]) await trx.raw(step);
  },
};
