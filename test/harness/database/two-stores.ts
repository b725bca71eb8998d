import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { createTestDatabase } from './test-database.js';
import { createRecordedLog } from '../checks/recorded-log.js';

/** Two replicas of one deployment, as far as the database knows them. */
export interface Replicas {
  readonly url: string;
  readonly stores: readonly [KnexStore, KnexStore];
  close(): Promise<void>;
}

export async function openReplicas(): Promise<Replicas> {
  const log = createRecordedLog();
  const database = await createTestDatabase();
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
