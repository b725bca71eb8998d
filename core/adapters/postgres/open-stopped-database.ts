import { existsSync } from 'node:fs';
import type { Knex } from 'knex';
import type { ChainSlug } from '../../chains/chains.js';
import type { CommitLoss } from '../../ports/stores/continuity.js';
import type { LaneRecoveryStore } from '../../ports/stores/lane-recovery.js';
import type { RelayStore } from '../../ports/stores/relay.js';
import type { TrackingStore } from '../../ports/stores/tracking.js';
import type { Address } from '../../types.js';
import { reachDatabase } from './connect-database.js';
import { LAST_ALIVE } from './continuity/continuity-sql.js';
import { createReplicaMemory } from './continuity/replica-memory.js';
import { ALIVE_MS, createReviews } from './continuity/reviews.js';
import { createLaneRecoveryStore } from './lane-recovery-store.js';
import { createLeaseKeeper, followerName, laneName, leaseHolder } from './lease-keeper.js';
import { unmigrated } from './migrate.js';
import { serverOf, unreachable, type OpenDatabaseOptions } from './open-database.js';
import { createRelayStore } from './relay-store.js';
import { ask } from './statement.js';
import { createStatementBatcher } from './statement-batcher.js';
import { createTrackingStore } from './tracking-store.js';
import { isUnavailable, StoreStartError } from './faults.js';

/** The database of a deployment whose gateways are stopped. Opening it migrates, counts and compares nothing. */
export interface StoppedDatabase {
  readonly relay: Pick<RelayStore, 'open' | 'knownLanes'>;
  readonly recovery: LaneRecoveryStore;
  readonly index: Pick<TrackingStore, 'cursor'>;
  lastLoss(): Promise<CommitLoss | null>;
  /** What shows that a gateway runs on it, as half a sentence; null if nothing does. Waits for the next sign of a replica that was alive just now. */
  running(lanes: readonly Lane[]): Promise<string | null>;
  /** Everything that the database acknowledged after its newest row may be lost. Once until the next gateway starts; `walletNonces`: what the chain counts. */
  markRestored(
    reason: string,
    walletNonces: Readonly<Record<string, number>>,
  ): Promise<{ readonly loss: CommitLoss; readonly isNew: boolean }>;
  close(): Promise<void>;
}

export interface Lane {
  readonly chain: ChainSlug;
  readonly wallets: readonly Address[];
}

const NAME = 'diamond-gateway restore';

export async function openStoppedDatabase(options: OpenDatabaseOptions): Promise<StoppedDatabase> {
  const { clock, log } = options;
  // A start would make a new one.
  if (options.kind === 'embedded' && !existsSync(options.folder))
    throw new StoreStartError('folder-unusable', `There is no folder ${options.folder} with a database.`);
  const { stop, ...server } = await serverOf(options);
  const { db, createClient } = reachDatabase({ ...server, log, applicationName: NAME, poolSize: 4, limits: null });
  const leases = createLeaseKeeper({ createClient: () => createClient({ applicationName: NAME }), clock, log });
  const reviews = createReviews({ db, replica: NAME, memory: createReplicaMemory(), clock });
  const close = async (): Promise<void> => {
    await db.destroy();
    await stop();
  };

  try {
    const missing = await unmigrated(db);
    if (missing.length > 0) throw new StoreStartError('not-migrated', notMigrated(missing));
  } catch (error) {
    await close();
    throw isUnavailable(error) ? unreachable(server.url, error) : error;
  }

  async function running(lanes: readonly Lane[]): Promise<string | null> {
    const [session] = (await db.raw<{ rows: SessionRow[] }>(SESSIONS)).rows;
    if (session) return `${session.name} is connected${session.host === null ? '' : ` from ${session.host}`}`;
    for (const { chain, wallets } of lanes)
      for (const name of [followerName(chain), ...wallets.map((wallet) => laneName(chain, wallet))])
        if ((await leaseHolder(db, name)) !== null) return `the lease "${name}" is held`;
    const age = clock.now() - (await newestCounter(db));
    if (age >= ALIVE_MS) return null;
    // The counters of a copy that was put back at once are as young as those of a process that is only cut off.
    await clock.sleep(Math.min(ALIVE_MS, ALIVE_MS - age));
    return clock.now() - (await newestCounter(db)) < ALIVE_MS ? 'a replica writes its counter' : null;
  }

  return {
    relay: createRelayStore({ db, batcher: createStatementBatcher(db, clock), leases }),
    recovery: createLaneRecoveryStore(db),
    index: createTrackingStore({ db, leases }),
    lastLoss: () => reviews.lastLoss(),
    running,
    markRestored: (reason, walletNonces) => reviews.markRestored(reason, walletNonces),
    close,
  };
}

interface SessionRow {
  readonly name: string;
  readonly host: string | null;
}

const SESSIONS = `
  select application_name as name, host(client_addr) as host from pg_stat_activity
  where datname = current_database() and application_name like 'diamond-gateway%' and application_name <> '${NAME}' limit 1`;

async function newestCounter(db: Knex): Promise<number> {
  const [row] = await ask<{ at: bigint | null }>(db, LAST_ALIVE, {});
  return Number(row?.at ?? 0);
}

const notMigrated = (missing: readonly string[]): string =>
  missing.includes('0001-schema')
    ? 'The database has no tables of a gateway. Put the backup back first.'
    : `The database is of an earlier release, without ${missing.join(', ')}. Run npx diamond-gateway migrate first.`;
