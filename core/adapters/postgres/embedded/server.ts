import path from 'node:path';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../faults.js';
import { runGuarded, type Account, type Guarded } from './guard.js';
import { endStragglers, OWNER_PREFIX, signalProcess } from './occupancy.js';

export interface ServerPlan {
  readonly folder: string;
  readonly dataFolder: string;
  readonly native: string;
  readonly account: Account;
  readonly owner: string;
  readonly durable: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Server {
  readonly port: number;
  readonly ended: Promise<{ readonly code: number | null }>;
  readonly pid: () => number | null;
  /** Fast shutdown, then immediate, then kill, all bounded; every process of the server is gone when it resolves. */
  readonly stop: () => Promise<void>;
}

export const LAUNCH_OBSTACLES = ['port', 'lock', 'other'] as const;
export type LaunchObstacle = (typeof LAUNCH_OBSTACLES)[number];

/** The server ended before it was ready. A taken port and a predecessor that is still shutting down are worth a retry. */
export class LaunchError extends StoreStartError {
  readonly obstacle: LaunchObstacle;

  constructor(obstacle: LaunchObstacle, folder: string, complaint: string) {
    super('server-failed', `PostgreSQL could not start on the folder ${folder}: ${complaint}.`);
    this.obstacle = obstacle;
  }
}

const OBSTACLES: readonly (readonly [LaunchObstacle, RegExp])[] = [
  ['port', /could not bind|could not create (?:any )?(?:listen socket|TCP\/IP)/],
  ['lock', /lock file ".*" (?:already exists|is empty)|pre-existing shared memory block/],
];
/** Crash recovery replays the log since the last checkpoint, which can take a while on a slow disk. */
const READY_MS = 60_000;
const FAST_STOP_MS = 4_000;
/** Fast, immediate and kill together must stay below the shutdown timeout of the process. */
const STOP_MS = 7_500;
/** How long child processes of a dead server may take to notice it. */
const STRAGGLE_MS = 2_000;

export async function launchServer(plan: ServerPlan, port: number, signal: AbortSignal): Promise<Server> {
  const output = createOutput(plan.log);
  const guarded = runGuarded({
    command: path.join(plan.native, 'bin/postgres'),
    arguments: ['-D', plan.dataFolder, ...serverSettings({ port, durable: plan.durable, owner: `${OWNER_PREFIX}${plan.owner}` })],
    account: plan.account,
    politeSignal: 'INT',
    politeMs: FAST_STOP_MS,
    onLine: output.take,
  });
  const server: Server = { port, ended: guarded.ended, pid: guarded.pid, stop: () => stopServer(guarded, plan) };
  void guarded.left.then(() => sweepAfter(guarded, plan));
  const waiting = new AbortController();
  const outcome = await Promise.race([
    output.ready.then(() => 'ready' as const),
    guarded.ended.then(() => 'ended' as const),
    plan.clock.sleep(READY_MS, AbortSignal.any([waiting.signal, signal])).then(() => 'late' as const),
  ]).finally(() => waiting.abort());
  if (outcome === 'ready' && !signal.aborted) return server;
  await server.stop();
  if (signal.aborted) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
  const complaint = outcome === 'late' ? `it was not ready after ${READY_MS / 1000} s` : output.complaint();
  throw new LaunchError(outcome === 'late' ? 'other' : output.obstacle(), plan.folder, complaint);
}

async function sweepAfter(guarded: Guarded, { dataFolder, clock, log }: ServerPlan): Promise<void> {
  const over = new AbortController();
  const settled = (): void => over.abort();
  guarded.ended.then(settled, settled);
  for (;;) {
    await clock.sleep(STRAGGLE_MS, over.signal);
    if (over.signal.aborted) return;
    await endStragglers(dataFolder, log);
  }
}

async function stopServer(guarded: Guarded, { clock, log }: ServerPlan): Promise<void> {
  guarded.end();
  const waiting = new AbortController();
  const gone = guarded.ended.then(() => waiting.abort());
  await clock.sleep(STOP_MS, waiting.signal);
  const pid = guarded.pid();
  if (!waiting.signal.aborted && pid !== null) {
    log.warn('postgres.stop-forced', { pid }); // the guard itself must have been killed
    signalProcess(pid, 'SIGKILL');
  }
  await gone;
}

/** FATAL messages to clients that connect too early or stay too long are normal and not worth a warning. */
const EXPECTED = /system is (?:starting up|shutting down|not yet accepting)|terminating connection/;

function importanceOf(level: string, text: string): 'debug' | 'warn' | 'error' {
  if (level === 'PANIC') return 'error';
  return level === 'WARNING' || (level === 'FATAL' && !EXPECTED.test(text)) ? 'warn' : 'debug';
}

interface Output {
  readonly take: (line: string) => void;
  readonly ready: Promise<void>;
  complaint(): string;
  obstacle(): LaunchObstacle;
}

/** Parses the server's output. Statements and values are not logged, see the settings. */
function createOutput(log: Logger): Output {
  const complaints: string[] = [];
  let resolveReady = (): void => undefined;
  const ready = new Promise<void>((resolve) => (resolveReady = resolve));
  const take = (line: string): void => {
    const [, level = 'LOG', text = line] = /^(?:.*? )?([A-Z]+[0-9]?): {2}(.*)$/.exec(line) ?? [];
    if (text.includes('ready to accept connections')) resolveReady();
    if (/^(?:FATAL|PANIC|WARNING)$/.test(level) || text.includes('could not')) {
      complaints.push(text);
      if (complaints.length > 20) complaints.shift();
    }
    log[importanceOf(level, text)]('postgres.said', { level, text });
  };
  return {
    take,
    ready,
    complaint: () => (complaints.at(-1) ?? 'it ended without a word').replace(/\.$/, ''),
    obstacle: () => OBSTACLES.find(([, pattern]) => complaints.some((text) => pattern.test(text)))?.[0] ?? 'other',
  };
}

interface ServerNeeds {
  readonly port: number;
  readonly durable: boolean;
  readonly owner: string;
}

/** A small server for one gateway: few processes, little memory, loopback only. */
const SMALL = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '60',
  shared_buffers: '24MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  wal_buffers: '1MB',
  min_wal_size: '16MB',
  max_wal_size: '256MB',
  jit: 'off',
  io_method: 'sync', // the default starts three more processes
  wal_level: 'minimal', // no replication
  max_wal_senders: '0',
  max_replication_slots: '0',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  autovacuum_max_workers: '1',
  autovacuum_naptime: '60s',
  bgwriter_lru_maxpages: '0', // the checkpointer is enough for one gateway, and the idle process stays asleep
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

/** Row values and statement texts must not be logged: they are users' data. */
const PRIVATE_LOGS = {
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '',
  log_checkpoints: 'off',
  log_statement: 'none',
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
} as const;

/** For tests and temporary sandboxes, whose data need not survive a power cut. Tests run many gateways on one server. */
const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '250' } as const;

function serverSettings({ port, durable, owner }: ServerNeeds): string[] {
  const settings = { ...SMALL, ...PRIVATE_LOGS, ...(durable ? {} : NOT_DURABLE), port: String(port), cluster_name: owner };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
