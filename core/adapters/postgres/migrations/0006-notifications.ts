import type { Migration } from './migration.js';

export const notifications: Migration = {
  name: '0006-notifications',
  async up(trx) {
    await trx.raw(`
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
    `);
  },
};
