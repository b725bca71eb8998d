import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './median.js';
import { treeOf, usageOf } from './process-tree.js';

/**
 * `npm start` as a person meets it: how long until `/ready`, the first time after `npm ci` and later, until the demo's first fill, and what it
 * weighs without requests. A start with everything removed that an install makes is shown for developers, without a promise. Times are multiples of a bare `node -e 0` of the same minute, because machines and their load differ.
 */

const root = path.resolve(import.meta.dirname, '..');
const FIRST_TIMES = 25;
const WARM_TIMES = 18;
const FILL_MS = 2_000;
const IDLE_MIB = 400;
const IDLE_AFTER_MS = 15_000;
const GIVE_UP_MS = 120_000;
const RUNS = Number(process.env['RUNS'] ?? 5);
/** Everything that an install or an earlier start has left behind. */
const BUILT = ['dist', 'client/dist', 'node_modules/.cache/diamond-gateway'];

const temporary = mkdtempSync(path.join(os.tmpdir(), 'bench-start-'));
chmodSync(temporary, 0o711); // the database of root runs as another user and has to walk through

interface Run {
  readonly child: ChildProcess;
  readonly url: string;
  readonly since: number;
  readonly ms: number;
  /** How many bare starts of Node fit into it. */
  readonly times: number;
}

async function startToReady(): Promise<Run> {
  const before = await bareNode();
  const since = performance.now();
  const child = spawn('npm', ['start'], { cwd: root, env: surroundings(), stdio: ['ignore', 'pipe', 'inherit'] });
  const [, url = ''] = await said(child, /(http:\/\/127\.0\.0\.1:\d+)/, since);
  while ((await fetch(`${url}/ready`).catch(() => null))?.status !== 200) {
    if (performance.now() - since > GIVE_UP_MS) throw new Error('npm start did not become ready');
    await sleep(5);
  }
  const ms = performance.now() - since;
  return { child, url, since, ms, times: ms / median([...before, ...(await bareNode())]) };
}

/** Resolves when the output matches. */
function said(child: ChildProcess, pattern: RegExp, since: number): Promise<RegExpExecArray> {
  let output = '';
  return new Promise((resolve, reject) => {
    const give = setTimeout(() => reject(new Error(`nothing in ${(performance.now() - since).toFixed(0)} ms:\n${output}`)), GIVE_UP_MS);
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const match = pattern.exec(output);
      if (match === null) return;
      clearTimeout(give);
      resolve(match);
    });
    child.once('close', () => reject(new Error(`it ended:\n${output}`)));
  });
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

async function bareNode(): Promise<number[]> {
  const took: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const since = performance.now();
    await new Promise((resolve) => spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }).once('close', resolve));
    took.push(performance.now() - since);
  }
  return took;
}

const verdict = (isKept: boolean): string => (isKept ? 'kept' : 'MISSED');
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2).padStart(6)} s`;

function show(name: string, runs: readonly Run[], promised: number | null): void {
  const times = median(runs.map((run) => run.times));
  const measured = `${name.padEnd(28)} ${seconds(median(runs.map(({ ms }) => ms)))}  ${times.toFixed(1).padStart(5)} x a bare node`;
  console.log(promised === null ? measured : `${measured}  promised ${promised}: ${verdict(times <= promised)}`);
}

/** Starts that find nothing of an earlier one, each after `prepare`. */
async function firstStarts(prepare: () => void): Promise<Run[]> {
  const runs: Run[] = [];
  for (let run = 0; run < Math.ceil(RUNS / 2); run += 1) {
    for (const folder of BUILT) rmSync(path.join(root, folder), { recursive: true, force: true });
    prepare();
    const made = await startToReady();
    runs.push(made);
    await end(made.child);
  }
  return runs;
}

/** What the end of `npm ci` does here. */
const install = (): void => void execFileSync('npm', ['run', 'prepare'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });

/** From the first word of `npm run demo` to its first fill. The demo is started when the sandbox is ready. */
async function firstFill({ url }: Run): Promise<number> {
  const since = performance.now();
  const demo = spawn('npm', ['run', 'demo', '--', url], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  await said(demo, /open at the market.*\d/, since);
  const ms = performance.now() - since;
  demo.kill('SIGINT');
  return ms;
}

async function measure(): Promise<void> {
  const bare = await firstStarts(() => undefined);
  show(`npm start, nothing built (${bare.length})`, bare, null);
  const first = await firstStarts(install);
  show(`npm start after npm ci (${first.length})`, first, FIRST_TIMES);
  const warm: Run[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const made = await startToReady();
    warm.push(made);
    if (run < RUNS - 1) await end(made.child);
  }
  show(`npm start, later (${warm.length})`, warm, WARM_TIMES);
  const last = warm.at(-1);
  if (last === undefined) return;
  const fill = await firstFill(last);
  console.log(
    `${'first fill of npm run demo'.padEnd(28)} ${seconds(fill)}  after ready  promised ${FILL_MS / 1000} s: ${verdict(fill <= FILL_MS)}`,
  );
  await sleep(IDLE_AFTER_MS);
  const memory = last.child.pid === undefined ? null : usageOf(treeOf(last.child.pid));
  console.log(`${'Ctrl-C to the end'.padEnd(28)} ${seconds(await end(last.child))}`);
  if (memory === null) console.log('idle memory: this system does not show it');
  else
    console.log(
      `${'idle memory'.padEnd(28)} ${memory.mib.toFixed(0).padStart(6)} MiB in ${memory.processes} processes  promised ${IDLE_MIB} MiB: ${verdict(memory.mib <= IDLE_MIB)}`,
    );
}

await measure().finally(() => rmSync(temporary, { recursive: true, force: true }));
