import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '../../../harness/time/eventually.js';

const root = path.resolve(import.meta.dirname, '../../../..');

export interface LogLine {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface Owner {
  readonly lines: readonly LogLine[];
  readonly ended: Promise<number | null>;
  /** Its process is gone, though others may still hold its output. */
  readonly exited: Promise<void>;
  readonly pid: number;
  /** Waits for an event that the process prints. */
  readonly printed: (event: string) => Promise<LogLine>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Asks for a proper end without waiting for it. */
  readonly askToStop: () => void;
}

export interface OwnerOptions {
  readonly folder: string;
  readonly manner?: 'durable' | 'careless';
  readonly binaries?: string;
  readonly uid?: number;
  readonly inOwnGroup?: boolean;
}

/** Starts a real process that owns an embedded server on the folder. */
export function startOwner({ folder, manner = 'durable', binaries, uid, inOwnGroup = false }: OwnerOptions): Owner {
  const script = path.join(import.meta.dirname, 'owner-process.ts');
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', script, folder, manner, ...(binaries === undefined ? [] : [binaries])],
    { cwd: root, stdio: ['pipe', 'pipe', 'inherit'], detached: inOwnGroup, ...(uid === undefined ? {} : { uid, gid: uid }) },
  );
  const lines: LogLine[] = [];
  if (child.stdout === null || child.stdin === null || child.pid === undefined) throw new Error('the owner did not start');
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as LogLine));
  const { stdin, pid } = child;
  return {
    lines,
    pid,
    exited: new Promise((resolve) => child.on('exit', () => resolve())),
    ended: new Promise((resolve) => child.on('close', resolve)),
    async printed(event) {
      await eventually(
        () => lines.map((one) => one.event),
        (events) => events.includes(event) || events.includes('failed'),
      );
      const found = lines.find((one) => one.event === event);
      if (found === undefined) throw new Error(`the owner lines ${JSON.stringify(lines.at(-1))}`);
      return found;
    },
    kill: (signal) => void child.kill(signal),
    askToStop: () => stdin.end(),
  };
}

/** Every living process that has this folder in its command line or as its working directory. */
export function processesOn(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && touches(pid, folder));
}

function touches(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
  } catch {
    return false; // gone while we looked, or gone and not collected yet
  }
}

export const untilNoProcessOn = async (folder: string): Promise<void> => {
  await eventually(
    () => processesOn(folder),
    (pids) => pids.length === 0,
  );
};
