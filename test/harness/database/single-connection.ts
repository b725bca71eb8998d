import type { Knex } from 'knex';
import { connectDatabase } from '../../../core/adapters/postgres/connect-database.js';
import type { DatabaseLimits } from '../../../core/config/database.js';
import { createRecordedLog } from '../checks/recorded-log.js';

/** For one work, a pool of one connection: whatever is left on it is met again. */
export async function onSingleConnection<Result>(
  { url, limits }: { readonly url: string; readonly limits?: DatabaseLimits },
  work: (db: Knex) => Promise<Result>,
): Promise<Result> {
  const db = connectDatabase({ url, log: createRecordedLog(), poolSize: 1, ...(limits && { limits }) });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
