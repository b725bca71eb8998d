import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './account.js';
import { halfMadeName, sweepHalfMade } from './home.js';

/**
 * A cluster as PostgreSQL sets it up, kept to be copied: the copy takes a twentieth of the processor time of the set-up. Copies share its
 * password, which only the owner of the pattern can read, so it is for temporary data on the owner's own machine.
 */
export interface Pattern {
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
export async function openPattern(folder: string, native: string, account: Account, setup: readonly string[]): Promise<Pattern> {
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
