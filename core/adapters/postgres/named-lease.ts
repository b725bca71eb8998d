import type { Knex } from 'knex';
import { lockName } from './lease-keeper.js';

/** Who holds it follows the chain. It only spares work; that nothing is applied twice is the cursor's doing, which every change checks. */
export const followerName = (chain: string): string => `follows ${chain}`;

/** Who holds it sends for the wallet. That no number is given twice is the doing of the lane's row. */
export const laneName = (chain: string, wallet: string): string => `relays ${chain} ${wallet}`;

/** Which connection holds a lease; null when nobody does. */
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

/** A lock of 64 bits is kept in two halves. */
const HOLDER = `
  select host(client_addr) as host, activity.pid, (extract(epoch from backend_start) * 1000)::bigint as since
  from pg_locks lock join pg_stat_activity activity on activity.pid = lock.pid
  where locktype = 'advisory' and granted and objsubid = 1 and lock.database = (select oid from pg_database where datname = current_database())
  and ((classid::bigint << 32) | objid::bigint) = hashtextextended(:name, 0)`;
