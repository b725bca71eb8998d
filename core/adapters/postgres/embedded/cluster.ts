import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, lstat, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StoreStartError } from '../faults.js';
import { runGuarded, type Account } from './guard.js';
import { codeOf, folderUnusable, halfMadeName, sweepHalfMade } from './home.js';

/** The major version as in the file PG_VERSION. */
const MAJOR_VERSION = '18';
export const ROLE = 'gateway';

export interface ClusterPlace {
  /** The folder as configured, for messages. */
  readonly folder: string;
  readonly home: string;
  readonly account: Account;
  readonly native: string;
  readonly durable: boolean;
  /** A folder with patterns to copy instead of setting up a cluster that is not durable; null for none. */
  readonly patterns: string | null;
  readonly signal: AbortSignal;
  /** Called when another process makes or copies the files, and this one waits. */
  readonly onWaiting: () => void;
}

export const clusterFolder = (home: string): string => path.join(home, 'cluster');
export const dataFolder = (home: string): string => path.join(clusterFolder(home), 'data');

/** A cluster is created under a temporary name and renamed: it is either complete or absent, wherever the creation was interrupted. */
export async function ensureCluster(place: ClusterPlace): Promise<{ readonly password: string; readonly made: boolean }> {
  try {
    await sweepHalfMade(place.home, 'cluster');
    const made = (await stat(clusterFolder(place.home)).catch(absent)) === null;
    if (made) await makeCluster(place);
    await checkVersion(place);
    return { password: await readPassword(place), made };
  } catch (error) {
    throw folderUnusable(place.folder, error);
  }
}

function absent(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

async function makeCluster(place: ClusterPlace): Promise<void> {
  const fresh = path.join(place.home, await halfMadeName('cluster'));
  try {
    await mkdir(fresh);
    await chmod(fresh, place.account.switch ? 0o711 : 0o700);
    await fill(place, fresh);
    if (place.durable) await syncFolder(fresh);
    await rename(fresh, clusterFolder(place.home));
    if (place.durable) await syncFolder(place.home);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error; // another process was faster; its cluster is used
  }
}

export const patternOf = (patterns: string, native: string, account: Account): Promise<Pattern> =>
  openPattern(patterns, native, account, [...INITDB, ...DROP_TEMPLATES]);

async function fill(place: ClusterPlace, fresh: string): Promise<void> {
  const { patterns, durable, native, account } = place;
  if (patterns === null || durable) return initialise(place, fresh);
  const pattern = await patternOf(patterns, native, account);
  if (await pattern.copyTo(fresh, place.onWaiting)) return;
  await initialise(place, fresh);
  await dropTemplates(place, fresh);
  await pattern.keep(fresh);
}

async function initialise(place: ClusterPlace, fresh: string): Promise<void> {
  const { account, native, durable } = place;
  const data = path.join(fresh, 'data');
  const passwordFile = path.join(fresh, 'password');
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: durable });
  if (account.switch) for (const file of [data, passwordFile]) await chown(file, account.uid, account.gid);
  await runSetup(place, path.join(native, 'bin/initdb'), [
    ...INITDB,
    `--username=${ROLE}`,
    `--pwfile=${passwordFile}`,
    `--pgdata=${data}`,
    ...(durable ? [] : ['--no-sync']),
  ]);
  // From here on only we may read it; the server keeps only the derived verifier.
  if (account.switch) await chown(passwordFile, 0, 0);
}

const DROP_TEMPLATES = ['update pg_database set datistemplate = false', 'drop database template0', 'drop database template1'];

/** The one database that is used remains: the other two are two thirds of every copy. */
const dropTemplates = (place: ClusterPlace, fresh: string): Promise<void> =>
  runSetup(place, '/bin/sh', [
    ...['-c', `printf '%s\\n' "$3" "$4" "$5" | exec "$1" --single -D "$2" postgres`, 'drop-templates'],
    ...[path.join(place.native, 'bin/postgres'), path.join(fresh, 'data'), ...DROP_TEMPLATES],
  ]);

async function runSetup({ folder, account, signal, onWaiting }: ClusterPlace, command: string, rest: readonly string[]): Promise<void> {
  const output: string[] = [];
  const setup = runGuarded({
    command,
    arguments: rest,
    account,
    politeSignal: 'KILL', // a partial cluster is useless, so it is killed immediately
    politeMs: 0,
    onLine: (line) => output.push(line),
  });
  onWaiting();
  const interrupt = (): void => setup.end();
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  const { code } = await setup.ended;
  signal.removeEventListener('abort', interrupt);
  if (signal.aborted) throw new StoreStartError('interrupted', 'The start of the database was interrupted.');
  if (code !== 0) throw new StoreStartError('server-failed', `PostgreSQL could not set up the folder ${folder}: ${complaintOf(output)}.`);
}

const INITDB = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--wal-segsize=4', '--no-instructions'];

function complaintOf(output: readonly string[]): string {
  const line = output.find((text) => /(?:error|fatal|panic):/i.test(text)) ?? output.at(-1) ?? 'no output';
  return line.replace(/^.*?(?:error|fatal|panic):\s*|^initdb:\s*/i, '').replace(/\.$/, '');
}

async function checkVersion({ folder, home }: ClusterPlace): Promise<void> {
  const version = await readFile(path.join(dataFolder(home), 'PG_VERSION'), 'utf8').catch(() => null);
  if (version === null) throw damaged(folder, 'its data is missing or belongs to another user');
  if (version.trim() !== MAJOR_VERSION)
    throw damaged(folder, `it was made by PostgreSQL ${version.trim()} and this is PostgreSQL ${MAJOR_VERSION}`);
}

async function readPassword({ folder, home }: ClusterPlace): Promise<string> {
  const password = await readFile(path.join(clusterFolder(home), 'password'), 'utf8').catch(() => '');
  if (password === '') throw damaged(folder, 'its password file is missing or cannot be read');
  return password;
}

const damaged = (folder: string, why: string): StoreStartError =>
  new StoreStartError('folder-damaged', `The database folder ${folder} cannot be used: ${why}.`);

/** A rename survives a power cut only once its folder is synced too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * A cluster as PostgreSQL sets it up, kept to be copied: the copy takes a twentieth of the processor time of the set-up. Copies share its
 * password, which only the owner of the pattern can read, so it is for temporary data on the owner's own machine.
 */
interface Pattern {
  /** There is one, so these binaries have run as this account before. */
  isKept(): Promise<boolean>;
  /** Fills the folder with a copy; false if there is none to copy, or the copy failed, which leaves the folder empty. */
  copyTo(folder: string, onWaiting: () => void): Promise<boolean>;
  /** Keeps a copy of this complete cluster, on which no server runs yet. */
  keep(folder: string): Promise<void>;
}

const NAME = 'cluster-';
const run = promisify(execFile);

/** Keeps owner and mode: PostgreSQL insists on them. */
const copy = async (from: string, to: string, onWaiting: () => void = () => undefined): Promise<void> => {
  const copied = run('cp', ['-Rp', `${from}/.`, to]);
  onWaiting();
  await copied;
};

/** `setup` is what the result depends on besides the binaries. A folder that cannot be written to has no pattern, which is no fault. */
async function openPattern(folder: string, native: string, account: Account, setup: readonly string[]): Promise<Pattern> {
  const { size, mtimeMs } = await stat(path.join(native, 'bin/initdb'));
  const depends = [native, size, mtimeMs, account.uid, ...setup].join(' ');
  const name = `${NAME}${createHash('sha256').update(depends).digest('hex').slice(0, 12)}`;
  const pattern = path.join(folder, name);
  return {
    isKept: () => isOurs(pattern),
    async copyTo(target, onWaiting) {
      if (!(await isOurs(pattern))) return false;
      try {
        await copy(pattern, target, onWaiting);
        return true;
      } catch {
        for (const entry of await readdir(target)) await rm(path.join(target, entry), { recursive: true, force: true });
        return false;
      }
    },
    async keep(cluster) {
      try {
        await mkdir(path.dirname(folder), { recursive: true });
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await sweepHalfMade(folder, name);
        const fresh = path.join(folder, await halfMadeName(name));
        try {
          await mkdir(fresh, { mode: 0o700 });
          await copy(cluster, fresh);
          await rename(fresh, pattern);
        } finally {
          await rm(fresh, { recursive: true, force: true }); // still there if the copy failed, or another process was faster
        }
        for (const entry of await readdir(folder))
          if (entry.startsWith(NAME) && !entry.startsWith(name)) await rm(path.join(folder, entry), { recursive: true, force: true });
      } catch {
        // The next start sets up a cluster again.
      }
    },
  };
}

/** Another user must not have put it there: a server would run the functions that it contains. */
async function isOurs(pattern: string): Promise<boolean> {
  const found = await lstat(pattern).catch(() => null);
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? 0) && (found.mode & 0o022) === 0;
}
