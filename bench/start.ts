import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** `npm start` as a person meets it: how long until `/ready`, cold and warm, and what it weighs when nobody asks anything of it. */

const root = path.resolve(import.meta.dirname, '..');
const COLD_MS = 8_000;
const WARM_MS = 4_000;
const IDLE_MIB = 400;
const IDLE_AFTER_MS = 15_000;
const GIVE_UP_MS = 60_000;
const WARM_RUNS = 3;

const temporary = mkdtempSync(path.join(os.tmpdir(), 'bench-start-'));
chmodSync(temporary, 0o711); // the database of root runs as another user and has to walk through

interface Run {
  readonly child: ChildProcess;
  readonly readyMs: number;
}

async function startToReady(): Promise<Run> {
  const since = performance.now();
  const child = spawn('npm', ['start'], { cwd: root, env: surroundings(), stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (performance.now() - since < GIVE_UP_MS && child.exitCode === null) {
    const url = /ready: (http:\/\/[\d.:]+)/.exec(output)?.[1];
    if (url !== undefined && (await fetch(`${url}/ready`)).status === 200) return { child, readyMs: performance.now() - since };
    await sleep(10);
  }
  await end(child);
  throw new Error(`npm start did not become ready:\n${output}`);
}

/** The person's environment without the settings that would change what is measured. */
function surroundings(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:SANDBOX_|RPC_URL_|RELAYER_|DATABASE_URL|HOST|LOG_LEVEL)/.test(name));
  return { ...Object.fromEntries(own), PORT: '0', TMPDIR: temporary };
}

async function end(child: ChildProcess): Promise<number> {
  const since = performance.now();
  if (child.exitCode !== null) return 0;
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGINT');
  await gone;
  return performance.now() - since;
}

async function bareNode(): Promise<number> {
  const since = performance.now();
  await new Promise((resolve) => spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('close', resolve));
  return performance.now() - since;
}

/** Each process's share of what it maps, so that memory used by several is counted once. Null where the system does not tell. */
function memoryOfTree(top: number): { readonly mib: number; readonly processes: number } | null {
  try {
    const parents = new Map(
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((name) => [Number(name), parentOf(name)]),
    );
    const isBelow = (pid: number): boolean => pid === top || (pid > 0 && isBelow(parents.get(pid) ?? 0));
    const tree = [...parents.keys()].filter(isBelow);
    const kib = tree.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0));
    return { mib: kib.reduce((sum, share) => sum + share, 0) / 1024, processes: tree.length };
  } catch {
    return null;
  }
}

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // gone meanwhile
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const verdict = (isKept: boolean): string => (isKept ? 'kept' : 'MISSED');

function show(name: string, ms: number, bare: number, promised?: number): void {
  const promise = promised === undefined ? '' : `  promised ${promised / 1000} s: ${verdict(ms <= promised)}`;
  console.log(`${name.padEnd(26)} ${(ms / 1000).toFixed(2).padStart(6)} s  ${(ms / bare).toFixed(0).padStart(4)} x a bare node${promise}`);
}

async function measure(): Promise<void> {
  const bare = median([await bareNode(), await bareNode(), await bareNode(), await bareNode(), await bareNode()]);
  show('node -e 0', bare, bare);
  rmSync(path.join(root, 'dist'), { recursive: true, force: true });
  const cold = await startToReady();
  await end(cold.child);
  show('npm start, nothing built', cold.readyMs, bare, COLD_MS);
  const warm: number[] = [];
  for (let run = 1; ; run += 1) {
    const { child, readyMs } = await startToReady();
    warm.push(readyMs);
    if (run < WARM_RUNS) {
      await end(child);
      continue;
    }
    show(`npm start, built (of ${WARM_RUNS})`, median(warm), bare, WARM_MS);
    await sleep(IDLE_AFTER_MS);
    const memory = child.pid === undefined ? null : memoryOfTree(child.pid);
    show('Ctrl-C to the end', await end(child), bare);
    if (memory === null) console.log('idle memory                not told by this system');
    else
      console.log(
        `idle memory                ${memory.mib.toFixed(0).padStart(6)} MiB in ${memory.processes} processes  promised ${IDLE_MIB} MiB: ${verdict(memory.mib <= IDLE_MIB)}`,
      );
    return;
  }
}

await measure().finally(() => rmSync(temporary, { recursive: true, force: true }));
