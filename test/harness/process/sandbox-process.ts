import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The built sandbox as a real process, in a temporary folder by whose path its children can be found. */
export interface SandboxProcess {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Resolves when the output matches, rejects when the process ends first. */
  until(pattern: RegExp): Promise<RegExpMatchArray>;
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const root = path.resolve(import.meta.dirname, '../../..');

export interface Playground {
  readonly folder: string;
  start(environment?: Record<string, string>): SandboxProcess;
  /** As a person does it: `npm start`, in a process group of its own, as a terminal makes one. */
  npmStart(environment?: Record<string, string>): SandboxProcess;
  /** Processes of any kind whose command line names the folder, or that belong to the group of an `npmStart`. */
  leftovers(): string[];
  remove(): void;
}

export function createPlayground(): Playground {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'playground-'));
  // Children of root run as another user and have to walk through.
  spawnSync('chmod', ['711', folder]);
  const groups: number[] = [];
  const surroundings = { ...basics(), TMPDIR: folder, PORT: '0', npm_config_logs_max: '0', npm_config_update_notifier: 'false' };
  return {
    folder,
    start: (environment = {}) =>
      startProcess(process.execPath, ['--enable-source-maps', 'dist/sandbox/main.js'], { env: { ...surroundings, ...environment } }),
    npmStart(environment = {}) {
      const started = startProcess('npm', ['start'], { env: { ...surroundings, ...environment }, detached: true });
      if (started.child.pid !== undefined) groups.push(started.child.pid);
      return started;
    },
    leftovers: () => processesOf(folder, groups),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What a shell gives any program, and none of the settings this test run may have. */
export const basics = (): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? os.homedir() });

export function startProcess(
  command: string,
  parameters: readonly string[],
  options: Pick<SpawnOptions, 'env' | 'detached'>,
): SandboxProcess {
  const child = spawn(command, parameters, { ...options, cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (const listener of [...listeners]) listener();
    });
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal })),
  );
  const until = (pattern: RegExp): Promise<RegExpMatchArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(text);
        if (!match) return;
        listeners.delete(look);
        resolve(match);
      };
      listeners.add(look);
      void exit.then(({ code }) => reject(new Error(`ended with ${code} before ${pattern.source}: ${text}`)));
      look();
    });
  return { child, output: () => text, until, exit };
}

function processesOf(folder: string, groups: readonly number[]): string[] {
  const { stdout } = spawnSync('ps', ['-eo', 'pgid=,pid=,args='], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  return stdout.split('\n').flatMap((line) => {
    const [, group, rest] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return rest !== undefined && (rest.includes(folder) || groups.includes(Number(group))) ? [rest] : [];
  });
}
