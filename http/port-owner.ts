import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** The program that listens on a port. */
export interface PortOwner {
  readonly pid: number;
  readonly program: string;
}

const LISTENING = '0A';
const LSOF_MS = 2_000;

/** Null where the system does not say, for example because the program belongs to another user. */
export async function findPortOwner(port: number): Promise<PortOwner | null> {
  try {
    return process.platform === 'linux' ? await fromProc(port) : await fromLsof(port);
  } catch {
    return null; // only a word less in an error message
  }
}

async function fromProc(port: number): Promise<PortOwner | null> {
  const inodes = await listeningInodes(port);
  if (inodes.size === 0) return null;
  const links = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) if (await holds(pid, links)) return { pid: Number(pid), program: await programOf(pid) };
  return null;
}

/** The fields of a row: its number, local address, peer, state, …; the tenth is the inode of the socket. */
async function listeningInodes(port: number): Promise<Set<string>> {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  const rows = tables.flatMap((table) => table.split('\n').slice(1)).map((row) => row.trim().split(/\s+/));
  return new Set(
    rows.flatMap(([, local = '', , state = '', , , , , , inode = '']) =>
      local.endsWith(`:${wanted}`) && state === LISTENING ? [inode] : [],
    ),
  );
}

async function holds(pid: string, links: ReadonlySet<string>): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
  return targets.some((target) => links.has(target));
}

/** The file that runs: the name of a process can be changed, and its arguments may hold secrets. */
async function programOf(pid: string): Promise<string> {
  const file = await readlink(`/proc/${pid}/exe`).catch(() => '');
  return file === '' ? (await readFile(`/proc/${pid}/comm`, 'utf8')).trim() : path.basename(file.replace(/ \(deleted\)$/, ''));
}

/** `lsof -F pc` prints a line `p<pid>` and a line `c<program>` for each. */
async function fromLsof(port: number): Promise<PortOwner | null> {
  const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], { timeout: LSOF_MS });
  return readLsof(stdout);
}

export function readLsof(text: string): PortOwner | null {
  const [, pid, program] = /^p(\d+)\nc(.+)$/m.exec(text) ?? [];
  return pid === undefined || program === undefined ? null : { pid: Number(pid), program };
}
