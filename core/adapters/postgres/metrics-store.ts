import type { Knex } from 'knex';
import type { Clock } from '../../ports/clock.js';
import type { LaneFigures, MetricsStore, PoolFigures } from '../../ports/stores/alerts.js';
import type { RelayState } from '../../ports/stores/relay.js';
import { createHistogram } from '../../observability/metrics.js';

export function createMetricsStore(db: Knex, clock: Clock): MetricsStore {
  const readPool = watchPool(db, clock);
  const rows = async <Row extends object>(sql: string): Promise<Row[]> => (await db.raw<{ rows: Row[] }>(sql)).rows;
  const counted = async <Row extends object>(sql: string): Promise<(Row & { readonly count: number })[]> =>
    (await rows<Row & { count: bigint }>(sql)).map((row) => ({ ...row, count: Number(row.count) }));
  return {
    liveOrders: () => counted<{ chain: string; status: string }>('select chain, status, count(*) from orders where is_live group by 1, 2'),
    openAlerts: () =>
      counted<{ chain: string; kind: string }>('select chain, kind, count(*) from alerts where recovered_at is null group by 1, 2'),
    undelivered: () =>
      counted<{ state: string }>(
        `select 'pending' as state, count(*) from alert_deliveries where state = 'pending'
         union all select 'dead', count(*) from alert_deliveries where state = 'dead'`,
      ),
    journalEntries: () => counted<{ chain: string }>('select chain, sum(cursor) as count from account_cursors group by 1'),
    lanes: async () => lanesOf(await rows<LaneRow>(LANES)),
    pool: () => Promise.resolve(readPool()),
  };
}

interface LaneRow {
  readonly chain: string;
  readonly wallet: string;
  readonly next_nonce: bigint | null;
  readonly is_blocked: boolean | null;
  readonly state: RelayState | null;
  readonly count: bigint | null;
  readonly oldest: bigint | null;
}

const LANES = `
  select chain, wallet, lane.next_nonce, lane.blocked_since is not null as is_blocked, open.state, open.count, open.oldest
  from relay_lanes lane full join (
    select chain, wallet, state, count(*) as count, min(created_at) as oldest from relay_jobs where not is_over group by 1, 2, 3
  ) open using (chain, wallet)`;

function lanesOf(rows: readonly LaneRow[]): LaneFigures[] {
  return [...grouped(rows).values()].flatMap((own) => {
    const [first] = own;
    if (!first) return [];
    const oldest = own.flatMap((row) => (row.oldest === null ? [] : [Number(row.oldest)]));
    return {
      chain: first.chain,
      wallet: first.wallet,
      nextNonce: first.next_nonce === null || first.next_nonce < 0n ? null : Number(first.next_nonce),
      isBlocked: first.is_blocked === true,
      open: own.flatMap(({ state, count }) => (state === null ? [] : [{ state, count: Number(count) }])),
      oldestOpenAt: oldest.length === 0 ? null : Math.min(...oldest),
    };
  });
}

const keyOf = ({ chain, wallet }: LaneRow): string => `${chain} ${wallet}`;

function grouped(rows: readonly LaneRow[]): Map<string, LaneRow[]> {
  const lanes = new Map<string, LaneRow[]>();
  for (const row of rows) lanes.set(keyOf(row), [...(lanes.get(keyOf(row)) ?? []), row]);
  return lanes;
}

/** The used part of Knex's pool. */
interface Pool {
  readonly max: number;
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
  numPendingCreates(): number;
  on(event: string, listener: (id: number) => void): unknown;
}

/** Seconds, upper ends. */
const BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

/** Measures the wait for a connection; the pool numbers its acquisitions. */
function watchPool(db: Knex, clock: Clock): () => PoolFigures {
  const { pool } = db.client as { pool: Pool };
  const waitSeconds = createHistogram(BOUNDS);
  const since = new Map<number, number>();
  pool.on('acquireRequest', (id) => void since.set(id, clock.monotonic()));
  const over = (id: number): void => {
    waitSeconds.observe((clock.monotonic() - (since.get(id) ?? clock.monotonic())) / 1_000);
    since.delete(id);
  };
  pool.on('acquireSuccess', over);
  pool.on('acquireFail', over);
  return () => ({
    used: pool.numUsed(),
    idle: pool.numFree(),
    opening: pool.numPendingCreates(),
    most: pool.max,
    waiting: pool.numPendingAcquires(),
    waitSeconds,
  });
}
