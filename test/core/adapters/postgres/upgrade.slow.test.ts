import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { addRows, contentsOf, schemaOf } from './schema.js';
import { expectKept } from './upgrade.js';

const log = createRecordedLog();
let freshSchema: readonly string[];

beforeAll(async () => {
  const fresh = await createEmptyTestDatabase();
  await migrate({ url: fresh.url, log });
  const db = connectDatabase({ url: fresh.url, log });
  freshSchema = await schemaOf(db);
  await db.destroy();
  await fresh.drop();
});

it.each(MIGRATIONS.map(({ name }, index) => [name, index + 1] as const))(
  'a database in use since %s is brought up to date in one go, and keeps every row',
  async (_name, count) => {
    const database = await createEmptyTestDatabase();
    const db = connectDatabase({ url: database.url, log });
    try {
      await migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, count) });
      for (const n of [1, 2, 3]) await addRows(db, n);
      const before = await contentsOf(db);
      expect(await migrate({ url: database.url, log })).toEqual(MIGRATIONS.slice(count).map(({ name }) => name));
      expectKept(before, await contentsOf(db));
      expect(await schemaOf(db)).toEqual(freshSchema);
    } finally {
      await db.destroy();
      await database.drop();
    }
  },
);
