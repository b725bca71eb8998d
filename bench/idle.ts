import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { folderMib, treeOf, usageOf, type Usage } from './process-tree.js';

/** A sandbox that is left running, pages closed: what a day of idle blocks adds, and how busy it is without requests. */

const root = path.resolve(import.meta.dirname, '..');
/** One every two seconds. */
const DAY_BLOCKS = Number(process.env['BLOCKS'] ?? 43_200);
const HOUR_BLOCKS = Math.max(1, Math.round(DAY_BLOCKS / 24));
const MOST_MIB = 100;
const MOST_CORE = 0.03;
const WATCH_MS = Number(process.env['WATCH_MS'] ?? 60_000);
const SETTLE_MS = 30_000;
const CHAIN = 'arbitrum-sepolia';

const temporary = mkdtempSync(path.join(os.tmpdir(), 'bench-idle-'));
chmodSync(temporary, 0o711); // the database of root runs as another user and has to walk through

async function started(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:SANDBOX_|RPC_URL_|RELAYER_|DATABASE_URL|HOST|LOG_LEVEL)/.test(name));
  const env = { ...Object.fromEntries(own), PORT: '0', TMPDIR: temporary };
  const child = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  return new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const url = /ready: (http:\/\/[\d.:]+)/.exec(output)?.[1];
      if (url !== undefined) resolve({ child, url });
    });
    child.once('close', () => reject(new Error(`npm start ended:\n${output}`)));
  });
}

async function post(url: string, body: unknown): Promise<void> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`);
}

/** Until the gateway has read every block, so that nothing it does for them is missed. */
async function caughtUp(url: string): Promise<void> {
  while ((await fetch(`${url}/ready`)).status !== 200) await sleep(100);
}

const usage = (pid: number): Usage => {
  const found = usageOf(treeOf(pid));
  if (found === null) throw new Error('This system has no /proc: nothing can be measured.');
  return found;
};
const verdict = (isKept: boolean): string => (isKept ? 'kept' : 'MISSED');

function line(name: string, { mib, mibOfNode }: Usage, since: Usage, folder: number, folderBefore: number): void {
  const signed = (value: number): string => `${value >= 0 ? '+' : ''}${value.toFixed(1)}`.padStart(7);
  console.log(
    `${name.padEnd(18)} memory ${mib.toFixed(0).padStart(4)} MiB ${signed(mib - since.mib)}   of it node ${signed(mibOfNode - since.mibOfNode)}   data folder ${signed(folder - folderBefore)}`,
  );
}

async function measure(child: ChildProcess, url: string): Promise<void> {
  const { pid = 0 } = child;
  await sleep(SETTLE_MS);
  const before = usage(pid);
  await sleep(WATCH_MS);
  const core = (usage(pid).cpuMs - before.cpuMs) / WATCH_MS;
  console.log(
    `idle for ${WATCH_MS / 1000} s      ${(core * 100).toFixed(1)} % of a core  promised ${MOST_CORE * 100} %: ${verdict(core <= MOST_CORE)}`,
  );

  const [start, folder] = [usage(pid), folderMib(temporary)];
  line('before', start, start, folder, folder);
  for (let hour = 1; hour <= 24; hour += 1) {
    await post(`${url}/sandbox/chain`, { chain: CHAIN, action: 'mine', blocks: HOUR_BLOCKS });
    await caughtUp(url);
    if (hour % 4 === 0) line(`${hour * HOUR_BLOCKS} blocks`, usage(pid), start, folderMib(temporary), folder);
  }
  await sleep(SETTLE_MS);
  const end = usage(pid);
  line('a moment later', end, start, folderMib(temporary), folder);
  const grown = end.mib - start.mib;
  console.log(`a day of blocks    ${grown.toFixed(1)} MiB more memory  promised ${MOST_MIB} MiB: ${verdict(grown <= MOST_MIB)}`);
}

const { child, url } = await started();
try {
  await measure(child, url);
} finally {
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGINT');
  await gone;
  rmSync(temporary, { recursive: true, force: true });
}
