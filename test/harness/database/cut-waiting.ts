import type pg from 'pg';
import { eventually } from '../time/eventually.js';

const END_WAITING = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`;

/** Does something while a table is locked against writers, or against readers too, and ends every connection that waits for it. Returns the answer of the caller that lost its connection. */
export async function cutOff<Answer>(
  database: pg.Client,
  table: string,
  write: () => Promise<Answer>,
  lock: 'share row exclusive' | 'access exclusive' = 'share row exclusive',
): Promise<Answer> {
  await database.query('begin');
  try {
    await database.query(`lock table ${table} in ${lock} mode`);
    let isAnswered = false;
    const answer = write().finally(() => (isAnswered = true));
    answer.catch(() => undefined); // it is asked for below, unless the wait for it fails
    await eventually(
      async () => {
        await database.query('select pg_stat_clear_snapshot()'); // a transaction sees the connections of its first look only
        await database.query(END_WAITING);
      },
      () => isAnswered,
    );
    return await answer;
  } finally {
    await database.query('rollback');
  }
}
