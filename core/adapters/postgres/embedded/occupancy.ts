import { readFile, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../store-start-error.js';
import { findIdentity, isAlive, isServerOf, type ProcessIdentity } from './process-identity.js';

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
