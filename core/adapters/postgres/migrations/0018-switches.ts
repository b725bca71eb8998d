import type { Migration } from './migration.js';

/** The operator's switches, persistent and valid for all replicas. `*` is every wallet of the chain. */
export const switches: Migration = {
  name: '0018-switches',
  async up(trx) {
    await trx.raw(`
      create table relay_switches (
        chain text not null,
        wallet text not null,
        mode text not null default 'running' check (mode in ('running', 'draining', 'paused')),
        is_retiring boolean not null default false,
        reason text,
        changed_at bigint not null,
        primary key (chain, wallet)
      );
      create index relay_wallets_of_wallet on relay_wallets (chain, wallet);
    `);
  },
};
