import type { Knex } from 'knex';
import pg from 'pg';
import { tryAgain } from './faults.js';
import { sendTogether, type Lent, type Manner } from './pipeline.js';
import { valuesOf, type Question, type Statement, type Values } from './statement.js';

/** The pool interface below Knex: its query builder costs more time than the driver, so frequent statements bypass it. */
interface ConnectionPool {
  acquireConnection(): Promise<Lent>;
  releaseConnection(connection: Lent): Promise<void>;
}

/** One statement, one round trip; repeated after a conflict with a concurrent transaction, such as a deadlock. */
export const ask = <Row>(db: Knex, asked: Statement, values: Values): Promise<Row[]> =>
  tryAgain(() =>
    borrowed(db, (connection) =>
      byName(connection, async (manner) => {
        const called = manner === 'by-name' && asked.name !== null ? { name: asked.name } : {};
        const { rows } = await connection.query({ ...called, text: asked.text, values: valuesOf(asked, values) });
        return rows as Row[];
      }),
    ),
  );

/** All statements in one round trip and one transaction, repeated after a conflict; returns the rows of the last. */
export async function askAll<Row>(db: Knex, questions: readonly Question[]): Promise<Row[]> {
  const rows = await tryAgain(() => askEach(db, questions));
  return (rows.at(-1) ?? []) as Row[];
}

/** The rows of each. A caller that shares the trip with others repeats each by itself after a conflict. */
export const askEach = (db: Knex, questions: readonly Question[]): Promise<unknown[][]> =>
  borrowed(db, (connection) => byName(connection, (manner) => sendTogether(connection, questions, manner)));

/** The prepared statement is outdated or unknown to the server. It was not executed. */
const OUTDATED: ReadonlySet<unknown> = new Set(['0A000', '26000']);

/** A new release may change tables while this one runs: then the full text is sent, and the connection is not reused. */
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
