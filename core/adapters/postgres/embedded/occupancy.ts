import { readdir, readFile, readlink, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../faults.js';

/** The server has its owner in this setting, and PostgreSQL writes it next to the lock file. */
export const OWNER_PREFIX = 'diamond-gateway/';

interface Holder {
  readonly pid: number;
  /** Null when the server was started manually. */
  readonly owner: ProcessIdentity | null;
}

/** A server without an owner is ended by its guard; these signals are sent if the guard is gone too. */
const ESCALATION: readonly { readonly afterMs: number; readonly signal: NodeJS.Signals }[] = [
  { afterMs: 10_000, signal: 'SIGKILL' },
  { afterMs: 8_000, signal: 'SIGQUIT' },
  { afterMs: 2_000, signal: 'SIGINT' },
];
const MAX_WAIT_MS = 12_000;
const POLL_MS = 25;
/** No server takes this long to write its lock file. */
const EMPTY_LOCK_MS = 1_000;

export interface Occupied {
  readonly folder: string;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Resolves when no server runs on the folder. Throws while the server's owner lives; waits for, then kills a server without owner. */
export async function waitUntilFree({ folder, dataFolder, clock, log, signal }: Occupied): Promise<void> {
  const since = clock.now();
  let sent: NodeJS.Signals | null = null;
  for (;;) {
    const holder = await findHolder(dataFolder);
    if (holder === null) return;
    const waited = clock.now() - since;
    const owned = holder.owner === null || (await isAlive(holder.owner));
    if (owned || waited > MAX_WAIT_MS) throw inUse(folder, holder.owner !== null && owned ? holder.owner.pid : holder.pid);
    if (signal.aborted) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
    const due = ESCALATION.find(({ afterMs }) => waited >= afterMs)?.signal ?? null;
    if (due !== null && due !== sent) {
      log.warn('postgres.orphan', { pid: holder.pid, sent: due });
      signalProcess(holder.pid, due);
      sent = due;
    }
    await clock.sleep(POLL_MS, signal);
  }
}

const inUse = (folder: string, pid: number): StoreStartError =>
  new StoreStartError('folder-in-use', `The database folder ${folder} is in use by process ${pid}.`);

async function findHolder(dataFolder: string): Promise<Holder | null> {
  const lock = path.join(dataFolder, 'postmaster.pid');
  await dropEmptyLock(lock);
  const pid = await lockedBy(lock);
  if (pid === null || !canBeSignalled(pid)) return null; // PostgreSQL itself replaces the lock of a server that is gone or not ours
  if (!(await isServerOf(pid, dataFolder))) {
    // The pid was reused by another program of ours, which PostgreSQL would take for a server.
    if ((await lockedBy(lock)) === pid && !(await isServerOf(pid, dataFolder))) await unlink(lock).catch(() => undefined);
    return null;
  }
  const options = await readFile(path.join(dataFolder, 'postmaster.opts'), 'utf8').catch(() => '');
  return { pid, owner: findIdentity(options, OWNER_PREFIX) };
}

/** A server killed between creating and writing its lock leaves an empty file, which PostgreSQL never removes. */
async function dropEmptyLock(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => null);
  if (found?.size === 0 && Date.now() - found.mtimeMs > EMPTY_LOCK_MS) await unlink(lock).catch(() => undefined);
}

async function lockedBy(lock: string): Promise<number | null> {
  const [first] = (await readFile(lock, 'utf8').catch(() => '')).split('\n');
  const pid = Math.abs(Number(first));
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
}

function canBeSignalled(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // already gone
  }
}

const run = promisify(execFile);

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** The process title of the server's child processes; the main process keeps its command line. */
const TITLE = `postgres: ${OWNER_PREFIX}`;

/**
 * Kills child processes of a killed server. They normally end by themselves, except one in an error loop, which never reaches the check:
 * it keeps the server's shared memory and output open, so that no new server could start.
 */
export async function endStragglers(dataFolder: string, log: Logger): Promise<void> {
  for (const { pid, command } of await stragglersOn(dataFolder)) {
    log.warn('postgres.straggler', { pid, title: command.slice(0, 80).trim() });
    signalProcess(pid, 'SIGKILL');
  }
}

/** Server processes on this folder whose main process is gone; never those of a running server. */
async function stragglersOn(dataFolder: string): Promise<readonly Seen[]> {
  const seen = process.platform === 'linux' ? await workingIn(dataFolder) : await titledOurs();
  const pids = new Set(seen.map(({ pid }) => pid));
  return seen.filter(({ command, parent }) => command.startsWith(TITLE) && !pids.has(parent));
}

/** Every process of the server has the data folder as its working directory. */
async function workingIn(dataFolder: string): Promise<Seen[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const seen = await Promise.all(pids.map((pid) => seenAt(pid, dataFolder)));
  return seen.filter((one) => one !== null);
}

async function seenAt(pid: string, dataFolder: string): Promise<Seen | null> {
  if ((await readlink(`/proc/${pid}/cwd`).catch(() => null)) !== dataFolder) return null;
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1];
  return parent === undefined ? null : { pid: Number(pid), parent: Number(parent), command: command.replaceAll('\0', ' ') };
}

/** Without access to working directories, orphans are recognised by their parent process alone, which is sufficient. */
async function titledOurs(): Promise<Seen[]> {
  const { stdout } = await run('ps', ['-axo', 'pid=,ppid=,command=']).catch(() => ({ stdout: '' }));
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*postgres.*)$/.exec(line) ?? [];
    return pid === undefined || parent === undefined || command === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}

/** Identifies a process: pids are reused, a pid together with its start time is not. */
interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: (await startTimeOf(process.pid)) ?? '0' };
}

export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await startTimeOf(pid)) === startedAt;
}

export const formatIdentity = ({ pid, startedAt }: ProcessIdentity): string => `${pid}-${startedAt}`;

/** Finds an identity inside a file name or a command line. */
export function findIdentity(text: string, prefix: string): ProcessIdentity | null {
  const at = text.indexOf(prefix);
  const match = at < 0 ? null : /^(\d+)-(\w+)/.exec(text.slice(at + prefix.length));
  return match?.[1] === undefined || match[2] === undefined ? null : { pid: Number(match[1]), startedAt: match[2] };
}

/** Null when no such process runs; a zombie does not count as running. */
async function startTimeOf(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startTimeFromPs(pid);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // The second field is the command's name and may contain spaces and brackets; fields are counted after its last bracket.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state] = fields;
  return state === undefined || state === 'Z' || state === 'X' ? null : (fields[19] ?? null);
}

async function startTimeFromPs(pid: number): Promise<string | null> {
  const answer = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).catch(() => null);
  const line = answer?.stdout.trim() ?? '';
  return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+/, '').replace(/\W/g, '');
}

/** Whether this process is a PostgreSQL server on this data folder, by its command line or working directory. */
async function isServerOf(pid: number, dataFolder: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return commandLine.includes(dataFolder) || (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === dataFolder;
  }
  const answer = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => null);
  return answer?.stdout.includes(dataFolder) ?? false;
}
