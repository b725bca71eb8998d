import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type pg from 'pg';

/** What the venue holds and uses, for bounds on both. */
export interface Measure {
  readonly heapBytes: number;
  readonly rows: ReadonlyMap<string, number>;
  readonly databaseBytes: number;
  readonly nodeCalls: number;
  readonly isReady: boolean;
}

export interface MeasureOptions {
  readonly url: string;
  readonly operatorToken: string;
  readonly database: pg.Client;
}

let collect: (() => void) | null = null;

/** What is still reachable, and therefore what a leak would add to. */
export function heapAfterCollection(): number {
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  return process.memoryUsage().heapUsed;
}

export async function measure({ url, operatorToken, database }: MeasureOptions): Promise<Measure> {
  const ready = await fetch(`${url}/ready`);
  await ready.arrayBuffer();
  const metrics = await (await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${operatorToken}` } })).text();
  return {
    isReady: ready.status === 200,
    nodeCalls: sumOf(metrics, 'gateway_rpc_calls_total'),
    ...(await databaseSize(database)),
    heapBytes: heapAfterCollection(),
  };
}

const sumOf = (metrics: string, name: string): number =>
  [...metrics.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\d+)`, 'gm'))].reduce((sum, [, count]) => sum + Number(count), 0);

async function databaseSize(database: pg.Client): Promise<Pick<Measure, 'rows' | 'databaseBytes'>> {
  const tables = await database.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  const rows = new Map<string, number>();
  for (const { name } of tables.rows) {
    const counted = await database.query<{ count: string }>(`select count(*) from ${name}`);
    rows.set(name, Number(counted.rows[0]?.count ?? 0));
  }
  const size = await database.query<{ size: string }>('select pg_database_size(current_database()) as size');
  return { rows, databaseBytes: Number(size.rows[0]?.size ?? 0) };
}
