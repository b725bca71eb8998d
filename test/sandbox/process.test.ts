import { createServer, type AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../core/adapters/system/clock.js';
import { chainBySlug } from '../../core/chains/chains.js';
import { readSettings } from '../../app/read-settings.js';
import { openDataFolder } from '../../sandbox/data-folder.js';
import { openNode, type NodeOptions } from '../../sandbox/venue-chain.js';
import { readSandboxSettings } from '../../sandbox/settings.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { eventually } from '../harness/time/eventually.js';
import type { SandboxProcess } from '../harness/process/sandbox-process.js';
import { READY, useSandboxProcesses } from '../harness/process/sandbox-processes.js';

/** The sandbox as a person runs it, interrupted and killed; `every-step.slow.test.ts` does it at every step of the start. */

const isRoot = process.getuid?.() === 0;
const { playground, start, nothingLeft, readyUrl } = useSandboxProcesses();

beforeAll(() => {
  expect(existsSync(path.resolve(import.meta.dirname, '../../dist/sandbox/main.js'))).toBe(true); // `npm test` builds it
});

describe('a temporary folder', () => {
  it('that a killed sandbox left is removed by the next one, whose own is gone after a Ctrl-C in the middle of its start', async () => {
    const killed = start();
    await killed.until(/putting the Diamond/);
    killed.child.kill('SIGKILL');
    await killed.exit;
    await nothingLeft();
    const [abandoned] = readdirSync(playground().folder);
    expect(abandoned).toMatch(/^diamond-sandbox-/);
    const next = start();
    await next.until(/putting the Diamond/);
    expect(readdirSync(playground().folder)).not.toContain(abandoned);
    next.child.kill('SIGINT');
    expect(await next.exit).toEqual({ code: 0, signal: null });
    await nothingLeft();
    expect(readdirSync(playground().folder)).toEqual([]);
  });

  (isRoot ? it : it.skip)('is removed in full, also where the database of root could not walk to it', async () => {
    const closed = path.join(playground().folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const sandbox = start({ TMPDIR: closed, LOG_LEVEL: 'info' });
    await sandbox.until(/postgres\.ready/);
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
    expect(readdirSync(closed)).toEqual([]);
    expect(sandbox.output()).toContain('postgres.ready');
    expect(sandbox.output()).not.toContain('postgres.data-elsewhere');
    expect(readdirSync('/tmp').filter((name) => name.startsWith(`diamond-sandbox-${sandbox.child.pid}-`))).toEqual([]);
  });
});

describe('a data folder', () => {
  it('serves one sandbox at a time, outlives kills and restarts, and is set aside where its chain is damaged', async () => {
    const data = path.join(playground().folder, 'data');
    const killed = start({ SANDBOX_DATA: data });
    const killedUrl = await readyUrl(killed);
    const second = start({ SANDBOX_DATA: data });
    expect((await second.exit).code).toBe(1);
    expect(second.output()).toMatch(/in use/);
    expect(await readiness(killedUrl)).toBe(200);
    killed.child.kill('SIGKILL');
    await killed.exit;
    await nothingLeft();

    const next = start({ SANDBOX_DATA: data });
    const nextUrl = await readyUrl(next);
    expect(await readiness(nextUrl)).toBe(200);
    const address = await traderWith77(nextUrl);
    const [database] = await eventually(postmasters, (pids) => pids.length > 0);
    process.kill(Number(database), 'SIGKILL');
    // The gap may be shorter than a request, so the proof is a server that is another process, and a gateway that reaches it.
    await eventually(postmasters, (pids) => pids.length > 0 && !pids.includes(database ?? ''));
    await eventually(
      () => readiness(nextUrl),
      (status) => status === 200,
    );
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) next.child.kill(signal); // a Ctrl-C that comes several times is one
    expect(await next.exit).toEqual({ code: 0, signal: null });

    const restarted = start({ SANDBOX_DATA: data });
    expect(await usdcOf(await readyUrl(restarted), address)).toBe(77_000_000n);
    restarted.child.kill('SIGTERM');
    await restarted.exit;
    const folder = path.join(data, 'chains', 'arbitrum-sepolia');
    for (const name of readdirSync(folder)) writeFileSync(path.join(folder, name), 'not a chain\n');
    const afresh = start({ SANDBOX_DATA: data });
    await afresh.until(READY);
    expect(afresh.output()).toMatch(/starting afresh/);
  }, 600_000); // five starts, on a machine that may be busy

  const readiness = async (url: string): Promise<number> => (await fetch(`${url}/ready`)).status;

  const postmasters = (): string[] =>
    playground()
      .leftovers()
      .flatMap((line) => /^\s*(\d+) \S*bin\/postgres -D/.exec(line)?.[1] ?? []);

  async function traderWith77(url: string): Promise<string> {
    const body = JSON.stringify({ usdc: '77' });
    const reply = await fetch(`${url}/sandbox/accounts`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    return ((await reply.json()) as { address: string }).address;
  }

  async function usdcOf(url: string, address: string): Promise<bigint> {
    const { chains } = (await (await fetch(`${url}/sandbox`)).json()) as {
      chains: { rpcUrl: string; collaterals: { symbol: string; address: string }[] }[];
    };
    const to = chains[0]?.collaterals.find(({ symbol }) => symbol === 'USDC')?.address;
    const data = `0x70a08231${address.slice(2).padStart(64, '0')}`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to, data }, 'latest'] });
    const reply = await fetch(chains[0]?.rpcUrl ?? '', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return BigInt(((await reply.json()) as { result: string }).result);
  }
});

describe('a start that cannot succeed', () => {
  const failsWith = async (sandbox: SandboxProcess, sentence: RegExp): Promise<void> => {
    expect((await sandbox.exit).code).toBe(1);
    expect(sandbox.output()).toMatch(sentence);
    expect(sandbox.output()).not.toMatch(/^ +at /m);
  };

  it('because the port is in use says so in one line', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', () => resolve()));
    const { port } = blocker.address() as AddressInfo;
    await failsWith(start({ PORT: String(port) }), new RegExp(`^Port ${port} on 127.0.0.1 is in use`, 'm'));
    await new Promise((resolve) => blocker.close(resolve));
  });

  it('because of its settings names every problem', () => {
    const wrong = { PORT: 'x', SANDBOX_BLOCK_MS: '1', RPC_URL_BASE: 'https://rpc.example' };
    const reading = () => readSettings(wrong, readSandboxSettings);
    for (const said of ['3 problems', ...Object.keys(wrong)]) expect(reading).toThrow(said);
  });

  it('because the folder is a file says so', () => {
    const file = path.join(playground().folder, 'file');
    writeFileSync(file, '');
    expect(() => openDataFolder(path.join(file, 'data'))).toThrow(/cannot be written to \(ENOTDIR\)/);
  });

  it('because there is no temporary folder says so', () => {
    const folder = path.resolve(import.meta.dirname, '../../sandbox/data-folder.ts');
    // Set inside, because the loader of sources would make the folder.
    const use = `process.env.TMPDIR = '/nowhere'; (await import(${JSON.stringify(folder)})).openDataFolder(undefined)`;
    const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', use], { encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/The folder \/nowhere cannot be written to \(ENOENT\); set SANDBOX_DATA/);
  });

  (isRoot ? it.skip : it)('because the folder may not be written says so (root may write anywhere)', async () => {
    const locked = path.join(playground().folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    await failsWith(start({ SANDBOX_DATA: path.join(locked, 'data') }), /cannot be written to \(EACCES\)/);
  });

  it('because optional packages were left out says which', () => {
    const hook = path.join(playground().folder, 'without-engine.cjs');
    writeFileSync(
      hook,
      `const { Module } = require('node:module'); const resolve = Module._resolveFilename;
       Module._resolveFilename = (name, ...rest) => resolve(name === '@nomicfoundation/edr' ? 'not-installed' : name, ...rest);`,
    );
    // The start itself would make a database beside it.
    const engine = path.resolve(import.meta.dirname, '../../sandbox/chain/engine.ts');
    const use = `const { createEngine } = await import(${JSON.stringify(engine)}); await createEngine({ chainId: 1, genesisTime: 0, balances: new Map() });`;
    const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--require', hook, '--input-type=module', '-e', use], {
      encoding: 'utf8',
    });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/The EVM engine of the sandbox does not load .*@nomicfoundation\/edr/);
  });

  it('because the external node is not there says so', async () => {
    const progress = { step: () => undefined };
    const node = {
      externalUrl: 'http://127.0.0.1:9',
      definition: chainBySlug('arbitrum-sepolia'),
      clock: systemClock,
      log: createRecordedLog(),
      progress,
    };
    await expect(openNode(node as unknown as NodeOptions)).rejects.toThrow('SANDBOX_RPC_URL does not answer as a node: 127.0.0.1:9.');
  });
});

describe('the preflight', () => {
  const preflight = path.resolve(import.meta.dirname, '../../scripts/preflight.mjs');

  it('lets this Node pass', () => expect(spawnSync(process.execPath, [preflight]).status).toBe(0));

  it('refuses an old Node in one line', () => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '18.20.0' }); await import(${JSON.stringify(preflight)});`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', pretend], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr.trim()).toBe(
      'Diamond Gateway needs Node 20.19 or newer; this is 18.20.0. Install Node 26 from https://nodejs.org, or with nvm: nvm install 26',
    );
  });
});
