import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../faults.js';
import { serverAccount } from './guard.js';
import { packagedBinaries, probe, usableBinaries } from './binaries.js';
import { clusterFolder, dataFolder, ensureCluster, patternOf, ROLE } from './cluster.js';
import { prepareFolder, reachableHome } from './home.js';
import { endStragglers, formatIdentity, ownIdentity, waitUntilFree } from './occupancy.js';
import { LaunchError, launchServer, type Server, type ServerPlan } from './server.js';

export interface EmbeddedPostgresOptions {
  /** Created if missing. Relative paths start at the working directory. */
  readonly folder: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** False only for data that may be lost in a power cut. */
  readonly durable?: boolean;
  /** Aborting interrupts the start; a running server is ended with `stop`. */
  readonly signal?: AbortSignal;
  /** Called once when the server is gone and cannot be restarted. */
  readonly onFailure?: (error: StoreStartError) => void;
  /** Called when another process makes or copies the files of a new cluster, and this one waits. */
  readonly onWaiting?: () => void;
  /** Where copies of a new cluster that is not durable come from, and are kept for the next time. */
  readonly patterns?: string;
  /** A folder with `bin`, `lib` and `share` instead of the npm package's. */
  readonly binaries?: string;
}

export interface EmbeddedPostgres {
  /** Contains the password: pass it to the driver only. */
  readonly url: string;
  readonly port: number;
  readonly dataFolder: string;
  /** True when this start created the data. */
  readonly isNew: boolean;
  readonly state: () => ServerState;
  /** The server process, null while there is none. */
  readonly pid: () => number | null;
  readonly stop: () => Promise<void>;
  /** Stops it and removes all data. */
  readonly remove: () => Promise<void>;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, clock, durable = true, signal = new AbortController().signal } = options;
  const startedAt = clock.now();
  const folder = await prepareFolder(options.folder);
  const packaged = options.binaries ?? packagedBinaries();
  const isTried = !durable && options.patterns !== undefined && (await isProven(folder, packaged, options.patterns));
  const { home, runs } = isTried ? { home: folder, runs: true } : await homeOf(folder, packaged, log);
  const account = await serverAccount(dataFolder(home));
  const native = await usableBinaries(packaged, home, account, runs);
  const { patterns = null, onWaiting = () => undefined } = options;
  const { password, made } = await ensureCluster({ folder, home, account, native, durable, patterns, signal, onWaiting });
  const owner = formatIdentity(await ownIdentity());
  const plan: ServerPlan = { folder, dataFolder: dataFolder(home), native, account, owner, durable, clock, log };
  const server = await startServer(plan, signal);
  const supervised = supervise(server, {
    restart: (port, stopping) => startServer(plan, stopping, port),
    clock,
    log,
    onFailure: options.onFailure ?? (() => undefined),
  });
  log.info('postgres.ready', { folder, port: server.port, pid: server.pid(), isNew: made, ms: clock.now() - startedAt });
  return {
    url: `postgres://${ROLE}:${password}@127.0.0.1:${server.port}/postgres`,
    port: server.port,
    dataFolder: plan.dataFolder,
    isNew: made,
    state: supervised.state,
    pid: supervised.pid,
    stop: supervised.stop,
    async remove() {
      await supervised.stop();
      await rm(clusterFolder(home), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
      if (home !== folder) await rm(home, { recursive: true, force: true });
    },
  };
}

/** A cluster that these binaries have set up as the same account saves the trial run. Temporary folders are made within its reach. */
async function isProven(folder: string, packaged: string, patterns: string): Promise<boolean> {
  const account = await serverAccount(dataFolder(folder));
  return (await patternOf(patterns, packaged, account).catch(() => null))?.isKept() ?? false;
}

/** The folder itself, unless we are root and the server's account cannot reach it, for example inside /root. */
async function homeOf(folder: string, packaged: string, log: Logger): Promise<{ readonly home: string; readonly runs: boolean }> {
  const account = await serverAccount(dataFolder(folder));
  if (!account.switch) return { home: folder, runs: false };
  const found = await probe(packaged, folder, account);
  if (found !== 'home-unreachable') return { home: folder, runs: found === 'runs' };
  const home = await reachableHome(folder);
  log.info('postgres.data-elsewhere', { folder, home, because: 'the account that runs PostgreSQL cannot reach the folder' });
  return { home, runs: false };
}

const PORT_TRIES = 20;
const LOCK_MAX_WAIT_MS = 8_000;
const LOCK_RETRY_MS = 50;
/** Processes of a predecessor that still run after this must be killed. */
const STRAGGLE_MS = 2_000;

/** Retries when the port was taken between choosing and binding it, and while a killed predecessor's last processes end. */
async function startServer(plan: ServerPlan, signal: AbortSignal, fixedPort?: number): Promise<Server> {
  const { folder, dataFolder: data, clock, log } = plan;
  const since = clock.now();
  for (let tries = 1; ; tries += 1) {
    await waitUntilFree({ folder, dataFolder: data, clock, log, signal });
    try {
      return await launchServer(plan, fixedPort ?? (await freePort()), signal);
    } catch (error) {
      if (!(error instanceof LaunchError) || !isWorthAnotherTry(error, tries, clock.now() - since)) throw error;
      log.debug('postgres.start-again', { obstacle: error.obstacle, tries });
      if (error.obstacle === 'lock' && clock.now() - since > STRAGGLE_MS) await endStragglers(data, log);
      await clock.sleep(LOCK_RETRY_MS, signal);
    }
  }
}

const isWorthAnotherTry = ({ obstacle }: LaunchError, tries: number, waitedMs: number): boolean =>
  (obstacle === 'port' && tries < PORT_TRIES) || (obstacle === 'lock' && waitedMs < LOCK_MAX_WAIT_MS);

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        address === null || typeof address === 'string'
          ? reject(new StoreStartError('server-failed', 'This system gave no free port.'))
          : resolve(address.port),
      );
    });
  });

export const SERVER_STATES = ['running', 'restarting', 'stopped', 'failed'] as const;
type ServerState = (typeof SERVER_STATES)[number];

interface Supervision {
  /** On the same port, so that the pool reconnects to the new server. */
  readonly restart: (port: number, stopping: AbortSignal) => Promise<Server>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onFailure: (error: StoreStartError) => void;
}

interface Supervised {
  readonly state: () => ServerState;
  readonly pid: () => number | null;
  readonly stop: () => Promise<void>;
}

const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5_000;
/** Consecutive failures after which restarts stop. */
const MAX_FAILURES = 8;
/** A server that ran this long has recovered; failures are counted from zero again. */
const STEADY_MS = 30_000;

/** Restarts the server when it dies. */
function supervise(first: Server, { restart, clock, log, onFailure }: Supervision): Supervised {
  const stopping = new AbortController();
  let server = first;
  let state: ServerState = 'running';
  const isStopping = (): boolean => stopping.signal.aborted;
  const settle = (next: ServerState): void => {
    if (!isStopping()) state = next;
  };

  const bringBack = async (died: { code: number | null }, failures: number): Promise<number> => {
    settle('restarting');
    log.error('postgres.died', { exitCode: died.code, failures });
    for (let count = failures; ; count += 1) {
      await clock.sleep(Math.min(FIRST_BACKOFF_MS * 2 ** count, MAX_BACKOFF_MS), stopping.signal);
      if (isStopping()) return count;
      try {
        server = await restart(server.port, stopping.signal);
        settle('running');
        if (!isStopping()) log.info('postgres.restarted', { port: server.port, pid: server.pid() });
        return count + 1;
      } catch (error) {
        if (isStopping()) return count;
        log.error('postgres.restart-failed', { error, failures: count + 1 });
        if (count + 1 >= MAX_FAILURES) throw error;
      }
    }
  };

  const watch = async (): Promise<void> => {
    for (let failures = 0; !isStopping();) {
      const since = clock.now();
      const died = await server.ended;
      if (isStopping()) return;
      const soFar = clock.now() - since > STEADY_MS ? 0 : failures;
      if (soFar >= MAX_FAILURES) throw new StoreStartError('server-failed', 'PostgreSQL keeps dying right after its start.');
      failures = await bringBack(died, soFar);
    }
  };

  const watching = watch().catch((error: unknown) => {
    settle('failed');
    onFailure(
      error instanceof StoreStartError ? error : new StoreStartError('server-failed', 'PostgreSQL is gone for good.', { cause: error }),
    );
  });

  let stopped: Promise<void> | null = null;
  const stopOnce = async (): Promise<void> => {
    stopping.abort();
    state = 'stopped';
    await server.stop();
    await watching;
    await server.stop(); // a restart may have completed during the stop
  };
  return { state: () => state, pid: () => (state === 'running' ? server.pid() : null), stop: () => (stopped ??= stopOnce()) };
}
