import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { addRows, contentsOf, schemaOf, type Row } from './schema.js';

const log = createRecordedLog();
const upTo = (database: TestDatabase, count: number) => migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, count) });

let [grown, fresh]: (TestDatabase | undefined)[] = [];
let db: Knex;
beforeAll(async () => {
  [grown, fresh] = [await createEmptyTestDatabase(), await createEmptyTestDatabase()];
  db = connectDatabase({ url: grown.url, log });
});
afterAll(async () => {
  await db.destroy();
  await grown?.drop();
  await fresh?.drop();
});

it('a database that was in use through every release keeps each row of each, and ends like one that is new', async () => {
  if (!grown || !fresh) throw new Error('there is no database');
  let before = await contentsOf(db);
  for (let step = 1; step <= MIGRATIONS.length; step += 1) {
    await upTo(grown, step);
    expectKept(before, await contentsOf(db));
    await addRows(db, step);
    before = await contentsOf(db);
    expect([...before].filter(([, rows]) => rows.length === 0).map(([table]) => table)).toEqual([]);
  }
  await upTo(fresh, MIGRATIONS.length);
  const other = connectDatabase({ url: fresh.url, log });
  try {
    expect(await schemaOf(db)).toEqual(await schemaOf(other));
  } finally {
    await other.destroy();
  }
});

type Contents = ReadonlyMap<string, readonly Row[]>;

/** Every row is there as it was; columns and rows may have been added. */
function expectKept(before: Contents, after: Contents): void {
  for (const [table, rows] of before) {
    const [first] = rows;
    if (!first) continue;
    const names = Object.keys(first);
    const known = new Set((after.get(table) ?? []).map((row) => JSON.stringify(names.map((name) => row[name]))));
    const lost = rows.filter((row) => !known.has(JSON.stringify(names.map((name) => row[name]))));
    expect({ table, lost }).toEqual({ table, lost: [] });
  }
}
