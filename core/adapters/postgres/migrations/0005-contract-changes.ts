import type { Migration } from './migration.js';

/** What the contract logged that a release could not read, and changes of its facets. */
export const contractChanges: Migration = {
  name: '0005-contract-changes',
  sql: `
  create table unread_transactions (
    chain text not null,
    block_number bigint not null,
    block_hash text not null,
    tx_hash text not null,
    at bigint not null,
    logs jsonb not null,
    settled_at bigint,
    settled_note text,
    primary key (chain, tx_hash, block_hash)
  );
  comment on table unread_transactions is 'transactions that closed a request and have logs which the release of that time could not read; a release that can deletes them';
  comment on column unread_transactions.at is 'of the block';
  comment on column unread_transactions.logs is 'all logs of the Diamond in it, as the node gave them';
  comment on column unread_transactions.settled_at is 'when the operator said what became of its orders';
  create index unread_transactions_by_block on unread_transactions (chain, block_number);

  create table diamond_cuts (
    chain text not null,
    block_number bigint not null,
    block_hash text not null,
    tx_hash text not null,
    log_index integer not null,
    at bigint not null,
    primary key (chain, block_number, block_hash, tx_hash, log_index)
  );
  comment on table diamond_cuts is 'changes of the facets of the Diamond; a reorganisation deletes them with their block';

  create table accepted_contracts (
    chain text primary key,
    up_to_block bigint not null,
    findings jsonb not null,
    reason text,
    at bigint not null
  );
  comment on table accepted_contracts is 'what the operator accepted: every change up to the block, and these findings after later ones';

  create index if not exists orders_unexplained on orders (chain, id) where status = 'pending' and requested_block is null;`,
};
