import type { Migration } from './migration.js';

/** Whether the database still has what it acknowledged: what replicas remember of it, what they found missing, and what followed from it. */
export const continuity: Migration = {
  name: '0009-continuity',
  sql: `
  create table replica_counters (
    replica text primary key,
    counter bigint not null,
    written_at bigint not null
  );
  comment on table replica_counters is 'one row per process, counted up each second while it writes: a counter that falls behind shows lost commits';

  create table commit_losses (
    id bigint generated always as identity primary key,
    detected_at bigint not null,
    lost_from bigint,
    reason text not null,
    wallet_nonces jsonb not null default '{}',
    adopted_at bigint
  );
  comment on column commit_losses.lost_from is 'when the first missing commit was acknowledged; null if no replica remembered it';
  comment on column commit_losses.wallet_nonces is 'the highest nonce of each wallet that a replica remembered';
  comment on column commit_losses.adopted_at is 'when the operator let openings go on';

  create table continuity_reviews (
    id bigint generated always as identity primary key,
    begun_at bigint not null,
    reason text not null,
    ended_at bigint,
    loss bigint references commit_losses (id)
  );
  create table continuity_reports (
    review bigint not null references continuity_reviews (id),
    replica text not null,
    missing_from bigint,
    missing_to bigint,
    wallet_nonces jsonb not null,
    primary key (review, replica),
    check ((missing_from is null) = (missing_to is null))
  );
  comment on table continuity_reports is 'what each replica found missing of what the database had acknowledged to it';

  create table journal_gaps (
    chain text not null,
    trader text not null,
    after_cursor bigint not null,
    next_cursor bigint not null,
    primary key (chain, trader, next_cursor)
  );
  comment on table journal_gaps is 'cursors between the two were given out for entries that were lost, or were never given out';

  alter table deployment add column server_system text, add column server_timeline text;
  comment on column deployment.server_timeline is 'of the server that was last compared with what replicas remember';

  alter table relay_lanes add column reconciled_loss bigint not null default 0;
  comment on column relay_lanes.reconciled_loss is 'the newest loss of commits after which the lane was compared with the chain';

  -- A service that withholds one of these is no error: the column is null.
  create function server_position(out system text, out timeline text, out log numeric) language plpgsql as $body$
  begin
    begin
      select system_identifier::text into system from pg_control_system();
    exception when others then null;
    end;
    begin
      log := pg_current_wal_insert_lsn() - '0/0'::pg_lsn;
      timeline := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
    exception when others then null;
    end;
  end $body$`,
};
