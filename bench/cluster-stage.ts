import { fork, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../core/adapters/telemetry/log.js';
import { startEmbeddedPostgres } from '../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../core/adapters/system/clock.js';
import type { PriceOrder } from './cluster-prices.js';
import { ask, leave, settingsOf, start } from './relayer-stage.js';
import type { VenueUrls } from './relayer-venue.js';

export interface ReplicaUsage {
  /** Microseconds of processor time since the start, of all threads. */
  readonly cpu: number;
  /** Microseconds in which its main thread could have run and got no core; null where the system does not tell. */
  readonly waited: number | null;
  readonly rss: number;
  /** The heap and what hangs on it outside; after a collection when memory was asked for. */
  readonly heap: number;
  /** Round trips to the database since the start, and statements that admit requests. */
  readonly trips: number;
  readonly admissions: number;
  /** Median, p99 and most since the last answer. */
  readonly loopMs: readonly [number, number, number];
}

export interface BenchReplica {
  readonly url: string;
  usage(question?: 'cpu' | 'memory'): Promise<ReplicaUsage>;
}

/** One database, one node with its backend, one pricing host, and gateways of the production build: each in a process of its own. */
export interface ClusterStage {
  readonly databaseUrl: string;
  startReplica(): Promise<BenchReplica>;
  pace(perSecond: number, markets: number): Promise<void>;
  /** Microseconds of processor time of all the server's processes; null where the system does not tell. */
  databaseCpu(): number | null;
  end(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../dist/app/commands/start.js', import.meta.url));
const START_MS = 60_000;
const MOST_SAID = 100_000;
const PROBE = new URL('./cluster-probe.mjs', import.meta.url).href;

export async function openClusterStage(): Promise<ClusterStage> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-cluster-'));
  chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
  const database = await startEmbeddedPostgres({
    folder: path.join(folder, 'postgres'),
    log: createLogger('silent'),
    clock: systemClock,
    durable: false,
  });
  const [venue, prices] = [start('./relayer-venue.ts', []), start('./cluster-prices.ts', [])];
  const urls = (await ask(venue, { kind: 'start' })) as VenueUrls;
  const order = (asked: PriceOrder): Promise<unknown> => ask(prices, asked);
  const pricingUrl = (await order({ kind: 'start', pricingUrl: urls.pricingUrl })) as string;
  const pace: ClusterStage['pace'] = async (perSecond, markets) => {
    await order({ kind: 'pace', perSecond, markets });
  };
  await pace(1, 5);
  const variables = {
    ...settingsOf({ ...urls, pricingUrl }),
    GLOBAL_URL: urls.pricingUrl,
    RPC_URL_ARBITRUM_SEPOLIA: urls.rpcUrl,
    DATABASE_URL: database.url,
  };
  const replicas: ChildProcess[] = [];
  return {
    databaseUrl: database.url,
    pace,
    async startReplica() {
      const { child, url } = await startReplica(variables);
      replicas.push(child);
      return { url, usage: async (question = 'cpu') => (await ask(child, question)) as ReplicaUsage };
    },
    databaseCpu: () => treeCpu(database.pid()),
    async end() {
      await Promise.all([...replicas, prices, venue].map(leave));
      await database.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The program that production runs; ready when it says so itself. */
async function startReplica(variables: Readonly<Record<string, string>>): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(PROGRAM, {
    execArgv: ['--max-semi-space-size=64', '--enable-source-maps', '--expose-gc', '--import', PROBE],
    env: { PATH: process.env['PATH'], HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', LAUNCHER_PID: String(process.pid), ...variables },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const url = await urlOf(child);
  while ((await fetch(`${url}/ready`)).status !== 200) await systemClock.sleep(100);
  return { child, url };
}

function urlOf(child: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    const give = (): void => reject(new Error(`a gateway did not start: ${said}`));
    const patience = setTimeout(give, START_MS);
    child.once('exit', give);
    // Read to the end, or the process would wait for its reader.
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < MOST_SAID) said += chunk.toString();
      const [, url] = /"url":"(http:[^"]+)"/.exec(said) ?? [];
      if (url === undefined) return;
      clearTimeout(patience);
      resolve(url);
    });
  });
}

const TICK_US = 10_000;

/** A process with its children, also those that have ended. */
function treeCpu(root: number | null): number | null {
  if (root === null || process.platform !== 'linux') return null;
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const ticks = all.reduce((sum, pid) => {
    const fields = statOf(pid);
    if (fields === null || (Number(pid) !== root && fields[1] !== root)) return sum;
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return sum + user + system + (Number(pid) === root ? endedUser + endedSystem : 0);
  }, 0);
  return ticks * TICK_US;
}

/** What follows the name, which may hold anything: state, parent and so on. */
function statOf(pid: string): number[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return null; // it has ended meanwhile
  }
}
