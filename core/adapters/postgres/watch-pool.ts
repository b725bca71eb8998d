import type { Knex } from 'knex';
import { createHistogram } from '../../observability/histogram.js';
import type { Clock } from '../../ports/clock.js';
import type { PoolFigures } from '../../ports/stores/metrics.js';

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
export function watchPool(db: Knex, clock: Clock): () => PoolFigures {
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
