import type { Knex } from 'knex';
import { lockName } from './lease-keeper.js';

/** The holder indexes the chain. The lease only saves work; the cursor, which every change checks, prevents double indexing. */
export const followerName = (chain: string): string => `follows ${chain}`;

/** The holder sends for the wallet. The lane's row guarantees that no nonce is assigned twice. */
export const laneName = (chain: string, wallet: string): string => `relays ${chain} ${wallet}`;

/** The connection that holds a lease; null while it is free. */
export async function leaseHolder(db: Knex, name: string): Promise<LeaseHolder | null> {
  const { rows } = await db.raw<{ rows: { host: string | null; pid: number; since: bigint }[] }>(HOLDER, { name: lockName(name) });
  const [row] = rows;
  return row ? { host: row.host, connection: row.pid, since: Number(row.since) } : null;
}

export interface LeaseHolder {
  readonly host: string | null;
  readonly connection: number;
  readonly since: number;
}

/** PostgreSQL stores a 64-bit lock in two halves. */
const HOLDER = `
  select host(client_addr) as host, activity.pid, (extract(epoch from backend_start) * 1000)::bigint as since
  from pg_locks lock join pg_stat_activity activity on activity.pid = lock.pid
  where locktype = 'advisory' and granted and objsubid = 1 and lock.database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = hashtextextended(:name, 0)`;
