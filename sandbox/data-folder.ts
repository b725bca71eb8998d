import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StartError } from '../core/errors.js';

export interface DataFolder {
  readonly root: string;
  readonly database: string;
  chain(slug: string): string | null;
  /** Null if nothing is kept. */
  readonly prices: string | null;
  remove(): void;
}

const TEMPORARY = 'diamond-sandbox-';

/** A folder chosen by the user is kept; without one, a temporary folder is removed with the process. */
export function openDataFolder(chosen: string | undefined): DataFolder {
  const root = chosen === undefined ? temporary() : lasting(path.resolve(chosen));
  return {
    root,
    database: path.join(root, 'database-1'),
    chain: (slug) => (chosen === undefined ? null : path.join(root, 'chains', slug)),
    prices: chosen === undefined ? null : path.join(root, 'prices.json'),
    remove: () => chosen === undefined && rmSync(root, { recursive: true, force: true }),
  };
}

/** The folder of the package: compiled code lies deeper in it than the sources. */
export function findPackage(from = import.meta.dirname): string {
  const parent = path.dirname(from);
  return parent === from || existsSync(path.join(from, 'package.json')) ? from : findPackage(parent);
}

function lasting(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true });
    rmSync(mkdtempSync(path.join(folder, '.write-test-')), { recursive: true });
    return folder;
  } catch (error) {
    throw unwritable(folder, error);
  }
}

const unwritable = (folder: string, error: unknown): StartError =>
  new StartError(`The folder ${folder} cannot be written to (${codeOf(error)}); set SANDBOX_DATA to another one.`, { cause: error });

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason');

/** The name contains our process id, so that the next sandbox finds and removes what a killed one left. */
function temporary(): string {
  const place = temporaryPlace();
  try {
    for (const name of readdirSync(place)) if (isAbandoned(place, name)) rmSync(path.join(place, name), { recursive: true, force: true });
    const folder = mkdtempSync(path.join(place, `${TEMPORARY}${process.pid}-`));
    // As root, the database runs as another user, which must be able to enter the folder.
    chmodSync(folder, 0o711);
    return folder;
  } catch (error) {
    throw unwritable(place, error);
  }
}

/** As root, a place that the database's account can enter, so that all data lies inside the folder that is removed at the end. */
function temporaryPlace(): string {
  if (process.getuid?.() !== 0 || isOpenToAll(tmpdir())) return tmpdir();
  return ['/tmp', '/var/tmp'].find(isOpenToAll) ?? tmpdir();
}

/** A missing folder counts as open: using it fails with an error that names it. */
function isOpenToAll(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found && (found.mode & 0o001) === 0) return false;
  const parent = path.dirname(path.resolve(folder));
  return parent === folder || isOpenToAll(parent);
}

function isAbandoned(place: string, name: string): boolean {
  if (!name.startsWith(TEMPORARY)) return false;
  const pid = Number(name.slice(TEMPORARY.length).split('-')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || isAlive(pid)) return false;
  return statSync(path.join(place, name), { throwIfNoEntry: false })?.uid === process.getuid?.();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
