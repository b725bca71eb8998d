import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Logger } from '../../../ports/log.js';
import { OWNER_PREFIX, signalProcess } from './occupancy.js';

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
