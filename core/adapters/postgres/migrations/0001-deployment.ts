import { NOW_MS, type Migration } from './migration.js';

export const deployment: Migration = {
  name: '0001-deployment',
  async up(trx) {
    await trx.raw(`
      create table deployment (
        singleton boolean primary key default true check (singleton),
        instance_id uuid not null default gen_random_uuid(),
        created_at bigint not null default ${NOW_MS}
      )`);
    await trx.raw('insert into deployment default values');
  },
};
