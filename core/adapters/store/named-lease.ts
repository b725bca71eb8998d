import type { Knex } from 'knex';
import type { Lease } from '../../tracking/tracking-store.js';

/** What we need of the driver's connection. */
interface Connection {
  query(sql: string, values: readonly unknown[]): Promise<{ rows: { held: boolean }[] }>;
  once(event: 'end' | 'error', listener: () => void): unknown;
  off(event: 'end' | 'error', listener: () => void): unknown;
}

interface ConnectionPool {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
}

const PREFIX = 'diamond-gateway ';
const ENDS = ['end', 'error'] as const;

/** Who holds it sends for the wallet. */
export const laneName = (chain: string, wallet: string): string => `relays ${chain} ${wallet}`;

/** Which connection holds a lease; null when nobody does. */
export async function leaseHolder(db: Knex, name: string): Promise<LeaseHolder | null> {
  const { rows } = await db.raw<{ rows: { host: string | null; pid: number; since: bigint }[] }>(HOLDER, { name: PREFIX + name });
  const [row] = rows;
  return row ? { host: row.host, connection: row.pid, since: Number(row.since) } : null;
}

export interface LeaseHolder {
  readonly host: string | null;
  readonly connection: number;
  readonly since: number;
}

/** A lock of 64 bits is kept in two halves. */
const HOLDER = `
  select host(client_addr) as host, activity.pid, (extract(epoch from backend_start) * 1000)::bigint as since
  from pg_locks lock join pg_stat_activity activity on activity.pid = lock.pid
  where locktype = 'advisory' and granted and objsubid = 1 and lock.database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = hashtextextended(:name, 0)`;

/** An advisory lock of a connection of its own: a replica that dies or loses the database gives it up by that. null = somebody else has it. */
export async function lease(db: Knex, name: string): Promise<Lease | null> {
  const pool = db.client as ConnectionPool;
  const connection = await pool.acquireConnection();
  const ask = async (call: string): Promise<boolean> => {
    const { rows } = await connection.query(`select ${call}(hashtextextended($1, 0)) as held`, [PREFIX + name]);
    return rows[0]?.held === true;
  };
  let held = await ask('pg_try_advisory_lock').catch(async (error: unknown) => {
    await pool.releaseConnection(connection);
    throw error;
  });
  if (!held) {
    await pool.releaseConnection(connection);
    return null;
  }
  const lost = (): void => void (held = false);
  for (const event of ENDS) connection.once(event, lost);
  return {
    isHeld: () => held,
    async release() {
      if (held) await ask('pg_advisory_unlock').catch(() => undefined);
      held = false;
      // The pool lends the connection to others afterwards.
      for (const event of ENDS) connection.off(event, lost);
      await pool.releaseConnection(connection);
    },
  };
}
