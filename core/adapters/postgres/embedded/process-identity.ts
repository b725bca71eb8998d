import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Identifies a process: pids are reused, a pid together with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

export async function ownIdentity(): Promise<ProcessIdentity> {
  return { pid: process.pid, startedAt: (await startTimeOf(process.pid)) ?? '0' };
}

export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  return (await startTimeOf(pid)) === startedAt;
}

export const formatIdentity = ({ pid, startedAt }: ProcessIdentity): string => `${pid}-${startedAt}`;

/** Finds an identity inside a file name or a command line. */
export function findIdentity(text: string, prefix: string): ProcessIdentity | null {
  const at = text.indexOf(prefix);
  const match = at < 0 ? null : /^(\d+)-(\w+)/.exec(text.slice(at + prefix.length));
  return match?.[1] === undefined || match[2] === undefined ? null : { pid: Number(match[1]), startedAt: match[2] };
}

/** Null when no such process runs; a zombie does not count as running. */
async function startTimeOf(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startTimeFromPs(pid);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // The second field is the command's name and may contain spaces and brackets; fields are counted after its last bracket.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state] = fields;
  return state === undefined || state === 'Z' || state === 'X' ? null : (fields[19] ?? null);
}

async function startTimeFromPs(pid: number): Promise<string | null> {
  const answer = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).catch(() => null);
  const line = answer?.stdout.trim() ?? '';
  return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+/, '').replace(/\W/g, '');
}

/** Whether this process is a PostgreSQL server on this data folder, by its command line or working directory. */
export async function isServerOf(pid: number, dataFolder: string): Promise<boolean> {
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return commandLine.includes(dataFolder) || (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === dataFolder;
  }
  const answer = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => null);
  return answer?.stdout.includes(dataFolder) ?? false;
}
