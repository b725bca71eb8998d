import { createHash, randomBytes } from 'node:crypto';
import { access, constants, lstat, mkdir, readdir, realpath, rm, chmod } from 'node:fs/promises';
import path from 'node:path';
import { StoreStartError } from '../faults.js';
import { findIdentity, formatIdentity, isAlive, ownIdentity } from './occupancy.js';

/** Data folder for root where the server's account cannot reach the configured one. Must not be cleaned up by the system. */
const REACHABLE = '/var/lib/diamond-gateway';

/** The configured folder, created if missing. It is private: for root, the server's account may traverse it but not list it. */
export async function prepareFolder(folder: string): Promise<string> {
  const isRoot = process.getuid?.() === 0;
  try {
    const made = await mkdir(folder, { recursive: true, mode: isRoot ? 0o755 : 0o700 });
    if (made !== undefined && isRoot) await chmod(folder, 0o711);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(folder);
  } catch (error) {
    throw folderUnusable(folder, error);
  }
}

/** An alternative to the folder that every account can traverse; must be owned by root. */
export async function reachableHome(folder: string): Promise<string> {
  const home = path.join(REACHABLE, createHash('sha256').update(folder).digest('hex').slice(0, 16));
  try {
    await mkdir(home, { recursive: true, mode: 0o711 });
    for (const place of [REACHABLE, home]) {
      const found = await lstat(place);
      if (!found.isDirectory() || found.uid !== 0) throw new Error(`${place} is not ours`);
      await chmod(place, 0o711);
    }
    return home;
  } catch (error) {
    throw new StoreStartError(
      'folder-unusable',
      `PostgreSQL does not run as root, and its own account can reach neither ${folder} nor ${home}; name another folder.`,
      { cause: error },
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'it is a file, not a folder',
  EEXIST: 'it is a file, not a folder',
};

export function folderUnusable(folder: string, error: unknown): StoreStartError {
  if (error instanceof StoreStartError) return error;
  const code = codeOf(error) ?? 'unknown';
  return new StoreStartError('folder-unusable', `The database folder ${folder} cannot be used: ${REASONS[code] ?? code}.`, {
    cause: error,
  });
}

export const codeOf = (error: unknown): string | null =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : null;

/** A temporary name that contains the creating process, so that leftovers of ended processes can be removed. */
export async function halfMadeName(name: string): Promise<string> {
  return `${name}.new-${formatIdentity(await ownIdentity())}-${randomBytes(4).toString('hex')}`;
}

/** Removes temporary folders of processes that have ended; those of running ones stay. */
export async function sweepHalfMade(home: string, name: string): Promise<void> {
  for (const entry of await readdir(home)) {
    if (!entry.startsWith(`${name}.new-`)) continue;
    const maker = findIdentity(entry, `${name}.new-`);
    if (maker !== null && (await isAlive(maker))) continue;
    await rm(path.join(home, entry), { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
