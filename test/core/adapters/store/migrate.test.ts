import { connectDatabase } from '../../../../core/adapters/store/connect-database.js';
import { migrate } from '../../../../core/adapters/store/migrate.js';
import type { Migration } from '../../../../core/adapters/store/migrations/migration.js';
import { MIGRATIONS } from '../../../../core/adapters/store/migrations/registry.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database.js';
import { createKeptLog } from '../../../harness/kept-log.js';

let database: TestDatabase;
beforeEach(async () => (database = await createTestDatabase()));
afterEach(() => database.drop());

const names = MIGRATIONS.map(({ name }) => name);
const step = (name: string, statement: string): Migration => ({
  name,
  async up(trx) {
    await trx.raw(statement);
  },
});
const log = createKeptLog();
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

  it('are done by exactly one of many concurrent starters', async () => {
    // A second run of this step would fail, because its table is there already.
    const slow = step('9999-slow', 'create table slow (id bigint primary key); select pg_sleep(0.2)');
    const done = await Promise.all(Array.from({ length: 6 }, () => run([...MIGRATIONS, slow])));
    expect(done.filter((applied) => applied.length > 0)).toEqual([[...names, '9999-slow']]);
  });

  it('are all undone when one fails, and the error names it', async () => {
    const good = step('9998-good', 'create table good (id bigint primary key)');
    const bad = step('9999-bad', 'create table good (id bigint primary key)');
    await expect(run([...MIGRATIONS, good, bad])).rejects.toMatchObject({
      problem: 'migration-failed',
      message: expect.stringMatching(/^The database migration 9999-bad failed and nothing was changed: .*already exists\.$/),
    });
    expect(await tables()).toEqual([]);
    expect(await run()).toEqual(names);
  });

  it('of a newer gateway do not stop an older one', async () => {
    await run([...MIGRATIONS, step('9999-newer', 'create table newer (id bigint primary key)')]);
    expect(await run()).toEqual([]);
    expect(log.entries.filter(({ event }) => event === 'store.schema-newer')).toEqual([
      { level: 'warn', event: 'store.schema-newer', fields: { unknown: ['9999-newer'] } },
    ]);
  });
});
