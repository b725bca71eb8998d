import { createServer, type AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '../harness/time/eventually.js';
import type { SandboxProcess } from '../harness/process/sandbox-process.js';
import { READY, useSandboxProcesses } from '../harness/process/sandbox-processes.js';

/** The sandbox as a person runs it, interrupted and killed; `every-step.slow.test.ts` does it at every step of the start. */

const isRoot = process.getuid?.() === 0;
const { playground, start, nothingLeft, readyUrl, takenOverAfter } = useSandboxProcesses();

beforeAll(() => {
  expect(existsSync(path.resolve(import.meta.dirname, '../../dist/sandbox/main.js'))).toBe(true); // `npm test` builds it
});

describe('Ctrl-C', () => {
  it('in the middle of the start ends everything with code 0', async () => {
    const sandbox = start();
    await sandbox.until(/putting the Diamond/);
    sandbox.child.kill('SIGINT');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
    await nothingLeft();
    expect(readdirSync(playground().folder)).toEqual([]);
  });

  it('pressed twice at once is one', async () => {
    const sandbox = start();
    await sandbox.until(READY);
    sandbox.child.kill('SIGINT');
    sandbox.child.kill('SIGINT');
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
  });
});

describe('kill -9', () => {
  it('leaves no process, and the next start takes the folder over', async () => {
    expect(await takenOverAfter(READY)).toBe(200);
  });

  it('leaves a temporary folder that the next sandbox removes', async () => {
    const killed = start();
    await killed.until(READY);
    killed.child.kill('SIGKILL');
    await killed.exit;
    await nothingLeft();
    const [abandoned] = readdirSync(playground().folder);
    expect(abandoned).toMatch(/^diamond-sandbox-/);
    const next = start();
    await next.until(READY);
    expect(readdirSync(playground().folder)).not.toContain(abandoned);
  });

  it('of the database alone is survived', async () => {
    const sandbox = start();
    const url = await readyUrl(sandbox);
    const postmasters = (): string[] =>
      playground()
        .leftovers()
        .flatMap((line) => /^\s*(\d+) \S*bin\/postgres -D/.exec(line)?.[1] ?? []);
    const [killed] = await eventually(postmasters, (pids) => pids.length > 0);
    process.kill(Number(killed), 'SIGKILL');
    // The gap may be shorter than a request, so the proof is a server that is another process, and a gateway that reaches it.
    await eventually(postmasters, (pids) => pids.length > 0 && !pids.includes(killed ?? ''));
    const ready = async () => (await fetch(`${url}/ready`)).status;
    expect(await eventually(ready, (status) => status === 200)).toBe(200);
  });
});

describe('a data folder', () => {
  (isRoot ? it : it.skip)('that is temporary is removed in full, also where the database of root could not walk to it', async () => {
    const closed = path.join(playground().folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const sandbox = start({ TMPDIR: closed, LOG_LEVEL: 'info' });
    await sandbox.until(READY);
    sandbox.child.kill('SIGTERM');
    expect(await sandbox.exit).toEqual({ code: 0, signal: null });
    expect(readdirSync(closed)).toEqual([]);
    expect(sandbox.output()).toContain('postgres.ready');
    expect(sandbox.output()).not.toContain('postgres.data-elsewhere');
    expect(readdirSync('/tmp').filter((name) => name.startsWith(`diamond-sandbox-${sandbox.child.pid}-`))).toEqual([]);
  });

  it('brings chain and database back after a restart', async () => {
    const data = path.join(playground().folder, 'data');
    const first = start({ SANDBOX_DATA: data });
    const firstUrl = await readyUrl(first);
    const { address } = (await (
      await fetch(`${firstUrl}/sandbox/accounts`, {
        method: 'POST',
        body: '{"usdc":"77"}',
        headers: { 'Content-Type': 'application/json' },
      })
    ).json()) as {
      address: string;
    };
    first.child.kill('SIGTERM');
    await first.exit;
    const second = start({ SANDBOX_DATA: data });
    const { chains } = (await (await fetch(`${await readyUrl(second)}/sandbox`)).json()) as {
      chains: { rpcUrl: string; collaterals: { symbol: string; address: string }[] }[];
    };
    const usdc = chains[0]?.collaterals.find(({ symbol }) => symbol === 'USDC')?.address;
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_call',
      params: [{ to: usdc, data: `0x70a08231${address.slice(2).padStart(64, '0')}` }, 'latest'],
    };
    const reply = await fetch(chains[0]?.rpcUrl ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call),
    });
    expect(BigInt(((await reply.json()) as { result: string }).result)).toBe(77_000_000n);
  });

  it('serves one sandbox at a time', async () => {
    const data = path.join(playground().folder, 'data');
    const first = start({ SANDBOX_DATA: data });
    await first.until(READY);
    const second = start({ SANDBOX_DATA: data });
    expect((await second.exit).code).toBe(1);
    expect(second.output()).toMatch(/in use/);
    expect((await fetch(`${await readyUrl(first)}/ready`)).status).toBe(200);
  });

  it('whose chain is damaged is set aside, with a word about it', async () => {
    const data = path.join(playground().folder, 'data');
    const first = start({ SANDBOX_DATA: data });
    await first.until(READY);
    first.child.kill('SIGTERM');
    await first.exit;
    const folder = path.join(data, 'chains', 'arbitrum-sepolia');
    for (const name of readdirSync(folder)) writeFileSync(path.join(folder, name), 'not a chain\n');
    const second = start({ SANDBOX_DATA: data });
    await second.until(READY);
    expect(second.output()).toMatch(/starting afresh/);
  });
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

  it('because of its settings names every problem', async () => {
    const sandbox = start({ PORT: 'x', SANDBOX_BLOCK_MS: '1', RPC_URL_BASE: 'https://rpc.example' });
    await failsWith(sandbox, /3 problems/);
    for (const name of ['PORT', 'SANDBOX_BLOCK_MS', 'RPC_URL_BASE']) expect(sandbox.output()).toContain(name);
  });

  it('because the folder is a file says so', async () => {
    const file = path.join(playground().folder, 'file');
    writeFileSync(file, '');
    await failsWith(start({ SANDBOX_DATA: path.join(file, 'data') }), /cannot be written to \(ENOTDIR\)/);
  });

  it('because there is no temporary folder says so', async () => {
    await failsWith(start({ TMPDIR: '/nowhere' }), /^The folder \/nowhere cannot be written to \(ENOENT\); set SANDBOX_DATA/m);
  });

  (isRoot ? it.skip : it)('because the folder may not be written says so (root may write anywhere)', async () => {
    const locked = path.join(playground().folder, 'locked');
    mkdirSync(locked);
    chmodSync(locked, 0o500);
    await failsWith(start({ SANDBOX_DATA: path.join(locked, 'data') }), /cannot be written to \(EACCES\)/);
  });

  it('because optional packages were left out says which', async () => {
    const hook = path.join(playground().folder, 'without-engine.cjs');
    writeFileSync(
      hook,
      `const { Module } = require('node:module'); const resolve = Module._resolveFilename;
       Module._resolveFilename = (name, ...rest) => resolve(name === '@nomicfoundation/edr' ? 'not-installed' : name, ...rest);`,
    );
    await failsWith(start({ NODE_OPTIONS: `--require=${hook}` }), /^The EVM engine of the sandbox does not load .*@nomicfoundation\/edr/m);
  });

  it('because the external node is not there says so', async () => {
    await failsWith(start({ SANDBOX_RPC_URL: 'http://127.0.0.1:9' }), /SANDBOX_RPC_URL does not answer as a node/);
  });
});

describe('the preflight', () => {
  const preflight = path.resolve(import.meta.dirname, '../../scripts/preflight.mjs');

  it('lets this Node pass', () => expect(spawnSync(process.execPath, [preflight]).status).toBe(0));

  it('refuses an old Node in one line', () => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '18.20.0' }); await import(${JSON.stringify(preflight)});`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', pretend], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr.trim()).toBe('Diamond Gateway needs Node 20.19 or newer; this is 18.20.0.');
  });
});
