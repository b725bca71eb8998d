import type { Knex } from 'knex';
import { randomId, type RandomBytes } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import { systemRandom } from '../system/clock.js';
import { connectDatabase, type DatabaseOptions } from './connect-database.js';
import { isLostRace, isUnavailable, StoreStartError } from './faults.js';
import { borrowed } from './connection-pool.js';
import { NOW_MS, type Migration } from './migrations/migration.js';
import { MIGRATIONS } from './migrations/registry.js';

const OLDEST_SERVER = 15;
/** An arbitrary number that is no other advisory lock in this database. */
const LOCK = 7_402_681_935;
/** How long a process waits for another one that is migrating. */
const LOCK_TIMEOUT = '120s';
/** A pending table lock blocks all later users of the table, so the wait is short and the caller retries. */
const TABLE_TIMEOUT = '2s';

export interface MigrateOptions extends Pick<DatabaseOptions, 'url' | 'ca'> {
  readonly log: Logger;
  readonly migrations?: readonly Migration[];
  readonly randomBytes?: RandomBytes;
}

/**
 * Migrates the schema and returns the applied steps. Each step is a transaction of its own under one lock, which looks again at what is done:
 * of many processes one applies it. A crash undoes the step under way and keeps those before it, so that no table stays locked for the
 * length of all steps, and one that fails for a table in use repeats nothing. A newer schema is left unchanged, that of a pre-release is
 * refused.
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const { log, migrations = MIGRATIONS, randomBytes = systemRandom, ...reach } = options;
  const db = connectDatabase({ ...reach, log, applicationName: 'diamond-gateway migrate', poolSize: 2, limits: null });
  try {
    await requireServer(db);
    await requireSessions(db, randomId(randomBytes));
    const applied: string[] = [];
    for (;;) {
      const step = await db.transaction((trx) => applyNext(trx, migrations));
      if (applied.length === 0 && step.newer.length > 0) log.warn('store.schema-newer', { unknown: step.newer });
      if (step.applied === null) return applied;
      log.info('store.migrated', { name: step.applied });
      applied.push(step.applied);
    }
  } finally {
    await db.destroy();
  }
}

/** Refuses unsupported servers before anything is changed. */
async function requireServer(db: Knex): Promise<void> {
  const { rows } = await db.raw<{ rows: { version: number; encoding: string }[] }>(
    `select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding`,
  );
  const problem = serverProblem(rows[0] ?? { version: 0, encoding: '' });
  if (problem !== null) throw new StoreStartError('unsupported', problem);
}

/**
 * A pooler in transaction mode shares one server connection between two of ours: leases and session settings would be shared too. Detected
 * by reading in one session what the other one has set.
 */
async function requireSessions(db: Knex, mark: string): Promise<void> {
  const isShared = await borrowed(db, async (own) => {
    await own.query(`select set_config('diamond_gateway.session', '${mark}', false)`);
    return borrowed(db, async (other) => {
      const { rows } = await other.query<{ mark: string | null }>(`select current_setting('diamond_gateway.session', true) as mark`);
      return rows[0]?.mark === mark;
    });
  });
  if (isShared) throw new StoreStartError('unsupported', SHARED);
}

const SHARED =
  'The database is reached through a pooler that lends its connections for a transaction; it must lend whole sessions (PgBouncer: pool_mode = session).';

export function serverProblem({ version, encoding }: { readonly version: number; readonly encoding: string }): string | null {
  const major = Math.floor(version / 10_000);
  if (major < OLDEST_SERVER) return `The database server is PostgreSQL ${major}; it must be ${OLDEST_SERVER} or later.`;
  return encoding === 'UTF8' ? null : `The database has the encoding ${encoding}; it must be made with UTF8.`;
}

interface AppliedStep {
  /** Null: there was none left. */
  readonly applied: string | null;
  /** Steps that a newer release has done. */
  readonly newer: readonly string[];
}

async function applyNext(trx: Knex.Transaction, migrations: readonly Migration[]): Promise<AppliedStep> {
  await trx.raw(PREPARE);
  const known = new Set(migrations.map(({ name }) => name));
  const done = new Set(await trx('migrations').pluck<string[]>('name'));
  if (PRE_RELEASE_STEPS.some((name) => done.has(name))) throw new StoreStartError('unsupported', PRE_RELEASE);
  const newer = [...done].filter((name) => !known.has(name));
  const next = migrations.find(({ name }) => !done.has(name));
  if (next) await apply(trx, next);
  return { applied: next?.name ?? null, newer };
}

/** The steps that are still to be applied; changes nothing. */
export async function unmigrated(db: Knex): Promise<readonly string[]> {
  const { rows } = await db.raw<{ rows: { is_made: boolean }[] }>(`select to_regclass('public.migrations') is not null as is_made`);
  const done = new Set(rows[0]?.is_made === true ? await db('migrations').pluck<string[]>('name') : []);
  return MIGRATIONS.map(({ name }) => name).filter((name) => !done.has(name));
}

/** The server may have default timeouts; a migration must not be limited. */
const PREPARE = `
  set local statement_timeout = 0;
  set local lock_timeout = '${LOCK_TIMEOUT}';
  select pg_advisory_xact_lock(${LOCK});
  set local lock_timeout = '${TABLE_TIMEOUT}';
  create table if not exists migrations (name text primary key, applied_at bigint not null default ${NOW_MS})`;

/** Pre-releases had other steps, and began with one of these. No step leads from their schema to this one. */
const PRE_RELEASE_STEPS = ['0001-deployment', '0001-baseline'];
const PRE_RELEASE = 'The database was made by a pre-release; use an empty database.';

async function apply(trx: Knex.Transaction, { name, sql }: Migration): Promise<void> {
  const statements = `${sql};\n${trx('migrations').insert({ name }).toQuery()}`;
  try {
    await trx.raw(statements);
  } catch (error) {
    if (isUnavailable(error) || isLostRace(error)) throw error; // the step itself is not at fault
    // The driver puts all statements in front of the message.
    const message = (error instanceof Error ? error.message : String(error)).replace(`${statements} - `, '');
    throw new StoreStartError('migration-failed', `The database migration ${name} failed and changed nothing: ${message}.`, {
      cause: error,
    });
  }
}
