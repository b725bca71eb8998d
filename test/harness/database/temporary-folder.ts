import { randomBytes } from 'node:crypto';
import { access, chmod, constants, mkdir, readdir, realpath, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findIdentity, formatIdentity, isAlive, ownIdentity } from '../../../core/adapters/postgres/embedded/occupancy.js';

/**
 * A private folder for data that ends with this process. Its name says whose it is, so that the next one to come removes what a killed process
 * left behind. Root lets the database's account walk through it, which a folder made by `mkdtemp` would not.
 */
export const makeTemporaryFolder = async (name: string): Promise<string> => makeFolder(await realpath(tmpdir()), name);

const MEMORY = '/dev/shm';
/** Bytes. Containers often have 64 MiB there, which is too little. */
const ENOUGH = 2 * 2 ** 30;

/** For a database cluster: in memory where enough is free, because copying a database on a disk can take ten times as long. */
export async function makeDataFolder(name: string): Promise<string> {
  const hasSpace = async (): Promise<boolean> => {
    await access(MEMORY, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY);
    return bavail * bsize >= ENOUGH;
  };
  return (await hasSpace().catch(() => false)) ? makeFolder(MEMORY, name) : makeTemporaryFolder(name);
}

async function makeFolder(base: string, name: string): Promise<string> {
  const prefix = `${name}-run-`;
  await sweep(base, prefix);
  const folder = path.join(base, `${prefix}${formatIdentity(await ownIdentity())}-${randomBytes(4).toString('hex')}`);
  await mkdir(folder, { mode: 0o700 });
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  return folder;
}

async function sweep(base: string, prefix: string): Promise<void> {
  for (const entry of await readdir(base)) {
    const maker = entry.startsWith(prefix) ? findIdentity(entry, prefix) : null;
    if (maker === null || (await isAlive(maker))) continue;
    // Another user's leftovers are not ours to remove, and a server that is just leaving may still write.
    await rm(path.join(base, entry), { recursive: true, force: true, maxRetries: 3, retryDelay: 100 }).catch(() => undefined);
  }
}
