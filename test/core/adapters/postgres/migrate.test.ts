import { spawn } from 'node:child_process';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { isUnavailable } from '../../../../core/adapters/postgres/faults.js';
import { migrate, serverProblem } from '../../../../core/adapters/postgres/migrate.js';
import type { Migration } from '../../../../core/adapters/postgres/migrations/migration.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { eventually } from '../../../harness/time/eventually.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

/** Migrates as a process of its own, which can be killed. */
const PROGRAM = `
  const { migrate } = await import('./core/adapters/postgres/migrate.ts');
  const log = { debug() {}, info() {}, warn() {}, error() {}, child() { return log; } };
  await migrate({ url: process.env.TEST_URL, log, migrations: JSON.parse(process.env.STEPS) });`;

let database: TestDatabase;
beforeEach(async () => (database = await createEmptyTestDatabase()));
afterEach(() => database.drop());

const names = MIGRATIONS.map(({ name }) => name);
const step = (name: string, sql: string): Migration => ({ name, sql });
const log = createRecordedLog();
const run = (migrations: readonly Migration[] = MIGRATIONS): Promise<readonly string[]> => migrate({ url: database.url, log, migrations });

async function tables(): Promise<string[]> {
  const db = connectDatabase({ url: database.url, log });
  const found = await db('pg_tables').where({ schemaname: 'public' }).orderBy('tablename').pluck<string[]>('tablename');
  await db.destroy();
  return found;
}

describe('the migrations', () => {
  it('have names that are unique and in their order', () => {
    expect(names).toEqual([...new Set(names)].sort());
    expect(names.every((name) => /^\d{4}-[a-z-]+$/.test(name))).toBe(true);
  });

  it('are applied once each, the second time being no work', async () => {
    expect(await run()).toEqual(names);
    expect(await run()).toEqual([]);
  });

  it('that came later are added to a database that is in use', async () => {
    await run();
    const later = step('9999-later', 'create table later (id bigint primary key)');
    expect(await run([...MIGRATIONS, later])).toEqual(['9999-later']);
    expect(await tables()).toContain('later');
  });

  it('are done once each by many concurrent starters', async () => {
    // A second run of this step would fail, because its table is there already.
    const slow = step('9999-slow', 'create table slow (id bigint primary key); select pg_sleep(0.2)');
    const done = await Promise.all(Array.from({ length: 6 }, () => run([...MIGRATIONS, slow])));
    expect(done.flat().sort()).toEqual([...names, '9999-slow']);
  });

  it('are kept up to the one that fails, which changes nothing and is named', async () => {
    const good = step('9998-good', 'create table good (id bigint primary key)');
    const bad = step('9999-bad', 'create table bad (id bigint); create table good (id bigint primary key)');
    await expect(run([...MIGRATIONS, good, bad])).rejects.toMatchObject({
      problem: 'migration-failed',
      message: 'The database migration 9999-bad failed and changed nothing: relation "good" already exists.',
    });
    expect(await tables()).toEqual(expect.arrayContaining(['good', 'orders']));
    expect(await tables()).not.toContain('bad');
    expect(await run([...MIGRATIONS, good])).toEqual([]);
  });

  it('go on where a starter was killed: what it had done stays, and the step under way is done anew', async () => {
    const long = step('9998-long', 'create table long (id bigint primary key); select pg_sleep(1)');
    const last = step('9999-last', 'create table last (id bigint primary key)');
    const all = [...MIGRATIONS, long, last];
    const starter = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', PROGRAM], {
      cwd: process.cwd(),
      env: { ...process.env, STEPS: JSON.stringify(all), TEST_URL: database.url },
      stdio: 'inherit',
    });
    const ended = new Promise((resolve) => void starter.once('exit', resolve));
    const db = connectDatabase({ url: database.url, log });
    await eventually(
      async () =>
        (
          await db.raw<{ rows: unknown[] }>(
            `select from pg_stat_activity where query like '%pg_sleep(1)%' and pid <> pg_backend_pid() and datname = current_database()`,
          )
        ).rows,
      ({ length }) => length > 0,
    );
    starter.kill('SIGKILL');
    await ended;
    expect(await db('migrations').pluck('name').orderBy('name')).toEqual(names);
    expect(await run(all)).toEqual(['9998-long', '9999-last']);
    await db.destroy();
  });

  it('lock a table for their own step only', async () => {
    const db = connectDatabase({ url: database.url, log });
    await run();
    const locking = step('9998-locking', 'alter table orders add column more text');
    const long = step('9999-long', 'create table long (id bigint primary key); select pg_sleep(1)');
    const migrated = run([...MIGRATIONS, locking, long]);
    await eventually(
      async () =>
        (
          await db.raw<{ rows: unknown[] }>(
            `select from pg_stat_activity where query like '%pg_sleep(1)%' and pid <> pg_backend_pid() and datname = current_database()`,
          )
        ).rows,
      ({ length }) => length > 0,
    );
    expect(await db('orders').select('more')).toEqual([]);
    expect(await db('migrations').where({ name: '9999-long' })).toEqual([]);
    await migrated;
    await db.destroy();
  });

  it('of a newer gateway do not stop an older one', async () => {
    await run([...MIGRATIONS, step('9999-newer', 'create table newer (id bigint primary key)')]);
    expect(await run()).toEqual([]);
    expect(log.entries.filter(({ event }) => event === 'store.schema-newer')).toEqual([
      { level: 'warn', event: 'store.schema-newer', fields: { unknown: ['9999-newer'] } },
    ]);
  });

  it.each(['0001-deployment', '0001-baseline'])('of a pre-release (%s) are refused, and its tables stay as they are', async (first) => {
    await run([]);
    const db = connectDatabase({ url: database.url, log });
    await db.raw('create table deployment (id bigint); create table hours (id bigint)');
    await db('migrations').insert([{ name: first }, { name: '0048-balance-hours' }]);
    await db.destroy();
    await expect(run()).rejects.toMatchObject({
      problem: 'unsupported',
      message: 'The database was made by a pre-release; use an empty database.',
    });
    expect(await tables()).toEqual(['deployment', 'hours', 'migrations']);
  });

  it('wait briefly for a table that is in use, and are done when it is free', async () => {
    await run();
    const change = step('9999-change', 'alter table orders add column more text');
    const db = connectDatabase({ url: database.url, log, limits: null }); // its transaction waits for the migration
    await db.transaction(async (trx) => {
      await trx('orders').select('id');
      const failure: unknown = await run([...MIGRATIONS, change]).catch((error: unknown) => error);
      expect(isUnavailable(failure)).toBe(true);
    });
    await db.destroy();
    expect(await run([...MIGRATIONS, change])).toEqual(['9999-change']);
  });
});

describe('a database server', () => {
  it('that is too old is refused in one sentence', () => {
    expect(serverProblem({ version: 140_012, encoding: 'UTF8' })).toBe('The database server is PostgreSQL 14; it must be 15 or later.');
    expect(serverProblem({ version: 150_000, encoding: 'UTF8' })).toBeNull();
  });

  it('whose database cannot hold every text is refused before anything is made in it', async () => {
    const narrow = await createEmptyTestDatabase("encoding 'LATIN1' template template0 locale 'C'");
    await expect(migrate({ url: narrow.url, log })).rejects.toMatchObject({
      problem: 'unsupported',
      message: 'The database has the encoding LATIN1; it must be made with UTF8.',
    });
    const db = connectDatabase({ url: narrow.url, log });
    expect(await db('pg_tables').where({ schemaname: 'public' })).toEqual([]);
    await db.destroy();
    await narrow.drop();
  });
});
