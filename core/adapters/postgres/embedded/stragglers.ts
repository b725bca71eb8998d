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

/** What a process of the server calls itself; the server proper keeps the command line it was started with. */
const TITLE = `postgres: ${OWNER_PREFIX}`;

/**
 * Ends what a server left behind when it was killed. Its processes notice that by themselves, except one that fails over and over,
 * which never comes to the point where it would look: it holds the server's memory and output, and nothing could start in its place.
 */
export async function endStragglers(dataFolder: string, log: Logger): Promise<void> {
  for (const { pid, command } of await stragglersOn(dataFolder)) {
    log.warn('postgres.straggler', { pid, title: command.slice(0, 80).trim() });
    signalProcess(pid, 'SIGKILL');
  }
}

/** Processes of a server on this folder whose server is gone. Those of a living one are never among them. */
async function stragglersOn(dataFolder: string): Promise<readonly Seen[]> {
  const seen = process.platform === 'linux' ? await workingIn(dataFolder) : await titledOurs();
  const pids = new Set(seen.map(({ pid }) => pid));
  return seen.filter(({ command, parent }) => command.startsWith(TITLE) && !pids.has(parent));
}

/** Every process of the server works in its data folder. */
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

/** Where no folder can be asked for, a process that lost its server is known by its adopted parent alone, which is as good. */
async function titledOurs(): Promise<Seen[]> {
  const { stdout } = await run('ps', ['-axo', 'pid=,ppid=,command=']).catch(() => ({ stdout: '' }));
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*postgres.*)$/.exec(line) ?? [];
    return pid === undefined || parent === undefined || command === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), command }];
  });
}
