import { NOW_MS } from '../migration.js';

/** What is published to an account: its journal and its notifications. */
export const JOURNAL = `
  -- One row per account, locked by the writer of its journal, so that cursors become visible in order.
  create table account_cursors (
    chain text not null,
    trader text not null,
    cursor bigint not null,
    primary key (chain, trader)
  );

  -- Insert-only.
  create table journal (
    chain text not null,
    trader text not null,
    cursor bigint not null,
    at bigint not null,
    kind text not null check (kind in ('order', 'fill', 'position', 'agent', 'correction')),
    order_id bigint,
    fact jsonb not null,
    transaction_id xid8 not null default pg_current_xact_id(),
    written_at bigint not null default ${NOW_MS},
    primary key (chain, trader, cursor)
  );
  comment on column journal.at is 'the gateway''s time';
  comment on column journal.written_at is 'the database''s time';
  create index journal_by_transaction on journal (transaction_id);
  create index journal_of_order on journal (chain, order_id, cursor) where order_id is not null;

  -- The delegate that a trader had when it was last read; another one makes a notice.
  create table delegates_seen (
    chain text not null,
    trader text not null,
    delegate text,
    primary key (chain, trader)
  );

  create table notices (
    id bigint generated always as identity primary key,
    chain text not null,
    trader text not null,
    kind text not null check (kind in ('delegation_changed', 'agent_expiring')),
    about text,
    subject text not null,
    created_at bigint not null,
    unique (chain, trader, kind, subject)
  );
  create index notices_of_trader on notices (chain, trader, id desc);

  create table dismissals (
    trader text not null,
    notification_id bigint not null,
    dismissed_at bigint not null,
    primary key (trader, notification_id)
  );
`;
