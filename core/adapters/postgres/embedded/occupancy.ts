import { readFile, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '../../../ports/log.js';
import type { Clock } from '../../../ports/clock.js';
import { StoreStartError } from '../store-start-error.js';
import { findIdentity, isAlive, isServerOf, type ProcessIdentity } from './process-identity.js';

/** The server carries its owner in this setting, and PostgreSQL itself writes it beside the lock that the server won. */
export const OWNER_PREFIX = 'diamond-gateway/';

interface Holder {
  readonly pid: number;
  /** Null when somebody started this server by hand. */
  readonly owner: ProcessIdentity | null;
}

/** A server whose owner is gone is being ended by its guard; should the guard be gone too, we do its work. */
const NUDGES: readonly { readonly afterMs: number; readonly signal: NodeJS.Signals }[] = [
  { afterMs: 10_000, signal: 'SIGKILL' },
  { afterMs: 8_000, signal: 'SIGQUIT' },
  { afterMs: 2_000, signal: 'SIGINT' },
];
const PATIENCE_MS = 12_000;
const POLL_MS = 25;
/** No server takes this long to write a line. */
const EMPTY_LOCK_MS = 1_000;

export interface Occupied {
  readonly folder: string;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Resolves when no server runs on the folder. One that has a living owner is refused by name, one that lost its owner is outwaited. */
export async function waitUntilFree({ folder, dataFolder, clock, log, signal }: Occupied): Promise<void> {
  const since = clock.now();
  let sent: NodeJS.Signals | null = null;
  for (;;) {
    const holder = await findHolder(dataFolder);
    if (holder === null) return;
    const waited = clock.now() - since;
    const owned = holder.owner === null || (await isAlive(holder.owner));
    if (owned || waited > PATIENCE_MS) throw inUse(folder, holder.owner !== null && owned ? holder.owner.pid : holder.pid);
    if (signal.aborted) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
    const nudge = NUDGES.find(({ afterMs }) => waited >= afterMs)?.signal ?? null;
    if (nudge !== null && nudge !== sent) {
      log.warn('postgres.orphan', { pid: holder.pid, sent: nudge });
      signalProcess(holder.pid, nudge);
      sent = nudge;
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
    // The number belongs to another program of ours by now, which PostgreSQL would take for a server.
    if ((await lockedBy(lock)) === pid && !(await isServerOf(pid, dataFolder))) await unlink(lock).catch(() => undefined);
    return null;
  }
  const options = await readFile(path.join(dataFolder, 'postmaster.opts'), 'utf8').catch(() => '');
  return { pid, owner: findIdentity(options, OWNER_PREFIX) };
}

/** A server killed between making its lock and writing it leaves an empty one, which PostgreSQL never removes by itself. */
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
    // gone meanwhile, which is what we wanted
  }
}
