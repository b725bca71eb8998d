import type { Knex } from 'knex';
import { connectDatabase } from '../../../../core/adapters/postgres/connect-database.js';
import { migrate } from '../../../../core/adapters/postgres/migrate.js';
import { MIGRATIONS } from '../../../../core/adapters/postgres/migrations/registry.js';
import { createEmptyTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

const log = createRecordedLog();
const upTo = (count: number) => migrate({ url: database.url, log, migrations: MIGRATIONS.slice(0, count) });

let database: TestDatabase;
let db: Knex;
beforeAll(async () => {
  database = await createEmptyTestDatabase();
  db = connectDatabase({ url: database.url, log });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

it('every order that has a level, or had it before, is kept with its transaction', async () => {
  await upTo(2);
  const level = { chain: 'base', trader: '0xt', kind: 'sl', price: 55 };
  const former = [
    { id: 11, set_by: null, seen_at: 1, job: null },
    { id: 12, set_by: 19, seen_at: 2, job: 4 },
  ];
  await db('protections').insert([
    { ...level, id: 10, slot: 1, seen_at: 7 },
    { ...level, id: 11, slot: 2, seen_at: 3, set_by: 20, job: 5, former: JSON.stringify(former) },
  ]);
  await upTo(3);
  const found = await db('level_owners').orderBy('id').select<Record<'slot' | 'owner' | 'job' | 'seen_at', bigint>[]>();
  expect(found.map(({ slot, owner, job, seen_at }) => [slot, owner, job, seen_at].map(Number))).toEqual([
    [1, 10, 0, 7],
    [2, 11, 0, 1],
    [2, 19, 4, 2],
    [2, 20, 5, 3],
  ]);
});
