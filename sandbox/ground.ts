import path from 'node:path';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemRandom } from '../core/adapters/system/clock.js';
import { accessSettings } from '../core/access/access-variables.js';
import { databaseLimits, poolSizeFor, type DatabaseConfig } from '../core/config/database.js';
import type { Clock } from '../core/ports/clock.js';
import type { Logger } from '../core/ports/log.js';
import type { Lifecycle } from '../app/lifecycle.js';
import { listen, type Listening } from '../http/listen.js';
import { findPackage, openDataFolder, type DataFolder } from './data-folder.js';
import type { SandboxSettings } from './settings.js';
import { dataFolder } from '../core/adapters/postgres/embedded/cluster.js';
import { waitUntilFree, type Occupied } from '../core/adapters/postgres/embedded/occupancy.js';

/** What a start needs first, and what takes long without our processor: while the database server starts, the rest can be loaded. */
export interface Ground {
  readonly http: Listening;
  readonly folder: DataFolder;
  /** Where the data of a pre-release was moved; null if there was none. */
  readonly setAside: string | null;
  readonly database: DatabaseConfig;
  /** Absent for an external database. Its files are being copied, or it runs. */
  readonly server?: Promise<EmbeddedPostgres>;
}

export interface GroundOptions {
  readonly settings: SandboxSettings;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
}

export async function layGround({ settings, lifecycle, clock, log }: GroundOptions): Promise<Ground> {
  const http = await lifecycle.start(
    'http',
    () => {
      const { connections, trustedProxies } = accessSettings(settings);
      const onFault = (error: unknown): void => log.error('http.listener-failed', { error });
      return listen(settings.HOST, settings.PORT, { randomBytes: systemRandom, connections, trustedProxies, onFault });
    },
    (made) => made.close(),
  );
  const folder = await lifecycle.start(
    'data folder',
    () => openDataFolder(settings.SANDBOX_DATA),
    (made) => made.remove(),
  );
  const setAside = await setAsidePreRelease(folder.root, { clock, log, signal: lifecycle.stopping });
  const database = databaseOf(settings, folder);
  if (database.kind !== 'embedded') return { http, folder, setAside, database };
  const options = { ...database, clock, log, signal: lifecycle.stopping, patterns: patternFolder() };
  let onWaiting = (): void => undefined;
  const waiting = new Promise<void>((resolve) => (onWaiting = resolve));
  const server = lifecycle.start(
    'database server',
    () => startEmbeddedPostgres({ ...options, onWaiting, onFailure: (error) => lifecycle.fail(error) }),
    (made) => made.stop(),
  );
  const opened = server.catch(() => undefined); // a failure is met where the database is opened
  // Loading modules blocks the event loop, so the copy begins before it.
  await Promise.race([waiting, opened]);
  return { http, folder, setAside, database, server };
}

/** Each chain of the sandbox has one relayer. */
function databaseOf(settings: SandboxSettings, folder: DataFolder): DatabaseConfig {
  const { DATABASE_URL, DATABASE_POOL, SANDBOX_CHAINS, SANDBOX_DATA } = settings;
  const limits = databaseLimits(settings);
  const poolSize = poolSizeFor(DATABASE_POOL, { chains: SANDBOX_CHAINS.length, wallets: SANDBOX_CHAINS.length });
  if (DATABASE_URL !== undefined) return { ...DATABASE_URL, poolSize, limits };
  return { kind: 'embedded', folder: folder.database, durable: SANDBOX_DATA !== undefined, poolSize, limits };
}

/** Where tools keep what they can make again; `npm ci` clears it. */
const patternFolder = (): string => path.join(findPackage(), 'node_modules/.cache/diamond-gateway');

/** Pre-releases kept their database under these names; no step leads from its schema to the present one. */
const DATABASES = ['postgres', 'database'];
/** What they kept. The database is moved last, so that the next start finishes what an interrupted one began. */
const KEPT = ['prices.json', 'chains', ...DATABASES];

/**
 * Moves the data of a pre-release into a folder beside it and returns that folder; null if there is none. The chain goes along, because
 * agents and signatures of its traders are in the database. Throws if a pre-release still runs on the data.
 */
export async function setAsidePreRelease(root: string, options: Pick<Occupied, 'clock' | 'log' | 'signal'>): Promise<string | null> {
  const databases = DATABASES.map((name) => path.join(root, name)).filter((folder) => existsSync(folder));
  if (databases.length === 0) return null;
  for (const folder of databases) await waitUntilFree({ ...options, folder, dataFolder: dataFolder(folder) });
  const aside = path.join(root, `pre-release-${options.clock.now()}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const name of KEPT) if (existsSync(path.join(root, name))) renameSync(path.join(root, name), path.join(aside, name));
  return aside;
}
