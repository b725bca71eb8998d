import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains.js';
import type { Lease } from '../../tracking/tracking-store.js';

/** What we need of the driver's connection. */
interface Connection {
  query(sql: string, values: readonly unknown[]): Promise<{ rows: { held: boolean }[] }>;
  once(event: 'end' | 'error', listener: () => void): unknown;
}

interface ConnectionPool {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

const LOCK_NAME = 'diamond-gateway follows ';

/**
 * An advisory lock of a connection of its own: a replica that dies or loses the database gives it up by that. It only spares work;
 * that nothing is applied twice is the cursor's doing, which every change checks.
 */
export async function leaseChain(db: Knex, chain: ChainSlug): Promise<Lease | null> {
  const pool = db.client as ConnectionPool;
  const connection = await pool.acquireConnection();
  let held = await ask(connection, 'select pg_try_advisory_lock(hashtextextended($1, 0)) as held', chain).catch(async (error: unknown) => {
    await pool.releaseConnection(connection);
    throw error;
  });
  if (!held) {
    await pool.releaseConnection(connection);
    return null;
  }
  for (const event of ['end', 'error'] as const) connection.once(event, () => (held = false));
  return {
    isHeld: () => held,
    async release() {
      if (held) await ask(connection, 'select pg_advisory_unlock(hashtextextended($1, 0)) as held', chain).catch(() => undefined);
      held = false;
      await pool.releaseConnection(connection);
    },
  };
}

async function ask(connection: Connection, sql: string, chain: ChainSlug): Promise<boolean> {
  const { rows } = await connection.query(sql, [LOCK_NAME + chain]);
  return rows[0]?.held === true;
}
