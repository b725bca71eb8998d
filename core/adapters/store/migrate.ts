import type { Knex } from 'knex';
import type { Logger } from '../../ports.js';
import { connectDatabase } from './connect-database.js';
import { NOW_MS, type Migration } from './migrations/migration.js';
import { MIGRATIONS } from './migrations/registry.js';
import { StoreStartError } from './store-start-error.js';

/** Any number will do that nobody else uses as an advisory lock in this database. */
const LOCK = 7_402_681_935;
/** How long a starter waits for another one that is migrating. */
const LOCK_PATIENCE = '120s';

export interface MigrateOptions {
  readonly url: string;
  readonly log: Logger;
  readonly migrations?: readonly Migration[];
}

/**
 * Brings the schema up to date and tells which steps that took. All steps are one transaction behind one lock: of many starters one does the
 * work and the others find it done; one that dies half-way has done nothing.
 */
export async function migrate({ url, log, migrations = MIGRATIONS }: MigrateOptions): Promise<readonly string[]> {
  const db = connectDatabase({ url, log, applicationName: 'diamond-gateway migrate', poolSize: 1, limits: null });
  try {
    const applied = await db.transaction((trx) => applyMissing(trx, migrations, log));
    for (const name of applied) log.info('store.migrated', { name });
    return applied;
  } finally {
    await db.destroy();
  }
}

async function applyMissing(trx: Knex.Transaction, migrations: readonly Migration[], log: Logger): Promise<string[]> {
  // A server may have limits of its own; a migration takes the time it takes.
  await trx.raw(`set local statement_timeout = 0; set local lock_timeout = '${LOCK_PATIENCE}'`);
  await trx.raw('select pg_advisory_xact_lock(?)', [LOCK]);
  await trx.raw(`create table if not exists migrations (name text primary key, applied_at bigint not null default ${NOW_MS})`);
  const known = new Set(migrations.map(({ name }) => name));
  const done = new Set(await trx('migrations').pluck<string[]>('name'));
  const newer = [...done].filter((name) => !known.has(name));
  if (newer.length > 0) log.warn('store.schema-newer', { unknown: newer });
  const missing = migrations.filter(({ name }) => !done.has(name));
  for (const migration of missing) await apply(trx, migration);
  return missing.map(({ name }) => name);
}

async function apply(trx: Knex.Transaction, { name, up }: Migration): Promise<void> {
  try {
    await up(trx);
    await trx('migrations').insert({ name });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new StoreStartError('migration-failed', `The database migration ${name} failed and nothing was changed: ${said}.`, {
      cause: error,
    });
  }
}
