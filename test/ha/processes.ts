import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';

/** PostgreSQL and PgBouncer refuse to run as root. */
export const ACCOUNT = 'postgres';
const isRoot = process.getuid?.() === 0;

/** How a command runs as the database's account. */
export const asAccount = (command: readonly string[]): readonly string[] =>
  isRoot ? ['setpriv', `--reuid=${ACCOUNT}`, `--regid=${ACCOUNT}`, '--init-groups', ...command] : command;

export const surroundings = (home: string): Record<string, string> => ({
  PATH: `/usr/lib/postgresql/15/bin:/usr/sbin:/sbin:${process.env['PATH'] ?? ''}`,
  HOME: home,
  LANG: 'C.UTF-8',
});

/** Starts a program that works in that folder, and writes what it says to a file there. */
export function launch(folder: string, name: string, command: readonly string[]): ChildProcess {
  const [program = '', ...words] = asAccount(command);
  const out = openSync(path.join(folder, `${name}.log`), 'a');
  const child = spawn(program, words, { cwd: folder, env: surroundings(folder), stdio: ['ignore', out, out], detached: true });
  closeSync(out);
  child.on('error', () => undefined); // it shows by what never gets ready
  return child;
}

/** What a program says; throws with it when the program fails. */
export async function run(folder: string, command: readonly string[]): Promise<string> {
  const [program = '', ...words] = asAccount(command);
  const child = spawn(program, words, { cwd: folder, env: surroundings(folder), stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${said}`);
  return said;
}

/** Processes that work in that folder or below: PostgreSQL's own leave their parent and their group, but not their folder. */
export async function processesIn(folder: string): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    all.map(async (pid) => {
      const place = await readlink(`/proc/${pid}/cwd`).catch(() => '');
      return place === folder || place.startsWith(`${folder}/`) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

export async function signalIn(folder: string, signal: NodeJS.Signals): Promise<void> {
  for (const pid of await processesIn(folder))
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile.
    }
}

/** Kills until nothing is left: PostgreSQL may be starting a process while it is killed. */
export async function killIn(folder: string): Promise<void> {
  while ((await processesIn(folder)).length > 0) await signalIn(folder, 'SIGKILL');
}

const GUARD = `
while read -r _; do :; done
left=1
while [ $left = 1 ]; do
  left=0
  for each in /proc/[0-9]*; do
    case "$(readlink "$each/cwd" 2>/dev/null)" in "$1" | "$1"/*) left=1; kill -9 "\${each#/proc/}" 2>/dev/null ;; esac
  done
done
for mounted in $(sed -n "s|^[^ ]* \\($1/[^ ]*\\) .*|\\1|p" /proc/mounts); do umount "$mounted"; done
rm -rf "$1"`;

/**
 * Ends what works in the folder, and removes the folder, when this process ends it or is gone, however that came: killed, or out of memory.
 * Resolves when that is done.
 */
export function guardFolder(folder: string): () => Promise<void> {
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', folder], { cwd: '/', stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  const gone = once(guard, 'exit');
  guard.stdin.on('error', () => undefined);
  return async () => {
    guard.stdin.end();
    await gone;
  };
}

/** Ports that nobody listened on a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
