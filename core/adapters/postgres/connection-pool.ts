import type { Knex } from 'knex';
import type pg from 'pg';

/** The pool interface below Knex: its query builder costs more time than the driver, so frequent statements bypass it. */
export interface ConnectionPool {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
}

export async function borrowed<Result>(db: Knex, work: (connection: pg.Client) => Promise<Result>): Promise<Result> {
  const pool = db.client as ConnectionPool;
  const connection = await pool.acquireConnection();
  try {
    return await work(connection);
  } finally {
    await pool.releaseConnection(connection);
  }
}

const retired = new WeakSet<pg.Client>();

/** The pool closes this connection instead of lending it again. */
export const retire = (connection: pg.Client): void => void retired.add(connection);

/** The pool's test of a connection before it is lent. */
export const isLendable = (connection: pg.Client): boolean => !retired.has(connection);
