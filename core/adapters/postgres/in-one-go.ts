import type { Knex } from 'knex';
import pg from 'pg';
import { sendTogether, type Lent, type Manner } from './send-together.js';
import { valuesOf, type Question, type Statement, type Values } from './statement.js';

/** The query builder of the pool spends more time on a statement than the driver does; what runs with every request goes past it. */
interface ConnectionPool {
  acquireConnection(): Promise<Lent>;
  releaseConnection(connection: Lent): Promise<void>;
}

/** One statement, one round trip. */
export const ask = <Row>(db: Knex, asked: Statement, values: Values): Promise<Row[]> =>
  borrowed(db, (connection) =>
    byName(connection, async (manner) => {
      const called = manner === 'by-name' && asked.name !== null ? { name: asked.name } : {};
      const { rows } = await connection.query({ ...called, text: asked.text, values: valuesOf(asked, values) });
      return rows as Row[];
    }),
  );

/** All in one round trip and one transaction; the rows of the last. */
export async function askAll<Row>(db: Knex, questions: readonly Question[]): Promise<Row[]> {
  const rows = await askEach(db, questions);
  return (rows.at(-1) ?? []) as Row[];
}

/** The same with the rows of each. */
export const askEach = (db: Knex, questions: readonly Question[]): Promise<unknown[][]> =>
  borrowed(db, (connection) => byName(connection, (manner) => sendTogether(connection, questions, manner)));

/** What it answers has another form than when the server read it, or the server knows no such name. Nothing of it was done. */
const OUTDATED: ReadonlySet<unknown> = new Set(['0A000', '26000']);

/** Another release may change the tables while we run: then it is asked in full, and this connection is not lent again. */
export async function byName<Result>(connection: Lent, send: (manner: Manner) => Promise<Result>): Promise<Result> {
  try {
    return await send('by-name');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !OUTDATED.has(error.code)) throw error;
    connection.__knex__disposed = error;
    return send('in-full');
  }
}

export async function borrowed<Result>(db: Knex, work: (connection: Lent) => Promise<Result>): Promise<Result> {
  const pool = db.client as ConnectionPool;
  const connection = await pool.acquireConnection();
  try {
    return await work(connection);
  } finally {
    await pool.releaseConnection(connection);
  }
}
