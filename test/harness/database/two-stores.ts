import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import { createRecordedLog } from '../checks/recorded-log.js';

/** Two replicas of one deployment, as far as the database knows them. */
export interface Replicas {
  readonly url: string;
  readonly stores: readonly [KnexStore, KnexStore];
  close(): Promise<void>;
}

/** `prepare` changes the database before the first connection of either. */
export async function openReplicas(prepare?: (database: TestDatabase) => Promise<void>): Promise<Replicas> {
  const log = createRecordedLog();
  const database = await createTestDatabase();
  await prepare?.(database);
  const { url } = database;
  const stores = [createStore({ log, url }), createStore({ log, url })] as const;
  return {
    url,
    stores,
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await database.drop();
    },
  };
}
