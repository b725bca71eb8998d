import type { Knex } from 'knex';
import type { MetricsStore } from '../../metrics-store.js';

export function createMetricsStore(db: Knex): MetricsStore {
  const counted = async <Row extends object>(sql: string): Promise<(Row & { readonly count: number })[]> =>
    (await db.raw<{ rows: (Row & { count: bigint })[] }>(sql)).rows.map((row) => ({ ...row, count: Number(row.count) }));
  return {
    liveOrders: () => counted<{ chain: string; status: string }>('select chain, status, count(*) from orders where is_live group by 1, 2'),
    openAlerts: () =>
      counted<{ chain: string; kind: string }>('select chain, kind, count(*) from alerts where recovered_at is null group by 1, 2'),
    undelivered: () =>
      counted<{ state: string }>(
        `select 'pending' as state, count(*) from alert_deliveries where state = 'pending'
         union all select 'dead', count(*) from alert_deliveries where state = 'dead'`,
      ),
  };
}
