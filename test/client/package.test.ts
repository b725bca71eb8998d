import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';

const root = path.resolve(import.meta.dirname, '../..');
const MOST_BYTES = 60 * 1024;
const Packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })]);
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()), sideEffects: z.literal(false) });

let folder: string;
let project: string;
let tarball: string;
let files: string[];

const run = (command: string, args: readonly string[], cwd: string) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
};

/** Packed in a copy, because packing empties client/dist, and unpacked into a project that has viem and nothing else of ours. */
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'client-'));
  const copy = path.join(folder, 'repository');
  for (const name of [
    'tsconfig.json',
    'scripts/build-client.mjs',
    'client/package.json',
    'client/tsconfig.json',
    'client/README.md',
    'client/LICENSE',
    'client/src',
  ])
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const [packed] = Packed.parse(
    JSON.parse(run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], path.join(copy, 'client'))),
  );
  tarball = path.join(folder, packed.filename);
  files = packed.files.map((file) => file.path);
  project = path.join(folder, 'project');
  const installed = path.join(project, 'node_modules/@diamond-gateway/client');
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed], folder);
  symlinkSync(path.join(root, 'node_modules/viem'), path.join(project, 'node_modules/viem'));
  writeFileSync(path.join(project, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the packed client', () => {
  it('has at most 60 KiB, a licence, a readme, and code with types', () => {
    expect(statSync(tarball).size).toBeLessThanOrEqual(MOST_BYTES);
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'package.json', 'dist/create-client.js', 'dist/create-client.d.ts']),
    );
    expect(files.filter((name) => !/^(?:LICENSE|README\.md|package\.json|dist\/[\w-]+\.(?:js|d\.ts))$/.test(name))).toEqual([]);
  });

  it('has one dependency, of the version that the gateway is tested with', () => {
    const own = Manifest.parse(JSON.parse(readFileSync(path.join(root, 'client/package.json'), 'utf8')));
    const ours = z
      .object({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
    expect(own.dependencies).toEqual({ viem: ours.dependencies['viem'] });
  });

  it('runs in an empty project', () => {
    writeFileSync(
      path.join(project, 'main.js'),
      `import { createClient } from '@diamond-gateway/client';
       import { newAgentKey } from '@diamond-gateway/client/agent';
       import { masterTypedData } from '@diamond-gateway/client/master';
       const client = createClient({ url: 'http://127.0.0.1:1', chain: 'arbitrum', agent: newAgentKey(), serviceName: 'test' });
       const headers = await client.sign({ operation: 'listPositions', method: 'GET', path: '/v1/arbitrum/x' });
       const typed = masterTypedData({ serviceName: 'test', chain: client.chain }, { type: 'ApiKeyIssue', label: 'a', timestamp: 1 });
       const refused = await client.getPrices().catch((error) => error.message);
       console.log(JSON.stringify([Object.keys(headers), headers['X-Service-Agent'] === client.agent.address, typed.primaryType, refused]));`,
    );
    expect(JSON.parse(run(process.execPath, ['main.js'], project))).toEqual([
      ['X-Service-Agent', 'X-Service-Timestamp', 'X-Service-Nonce', 'X-Service-Signature'],
      true,
      'ApiKeyIssue',
      'No gateway answers at http://127.0.0.1:1.',
    ]);
  });

  it('has types that hold in a strict project, for a browser and for Node', () => {
    writeFileSync(
      path.join(project, 'typed.ts'),
      `import { createClient } from '@diamond-gateway/client';
       import type { Order } from '@diamond-gateway/client/api';
       import { privateKeyToAccount } from 'viem/accounts';
       export async function trade(): Promise<string> {
         const client = createClient({ url: '', chain: 'base', agent: privateKeyToAccount('0x01'), rpc: (method, params) => Promise.resolve([method, params]) });
         const order: Order | null = await client.execute('createOrder', { market: 'BTC/USD', side: 'long', type: 'market', size: '1', leverage: '2' });
         // @ts-expect-error a side is long or short
         await client.createOrder({ market: 'BTC/USD', side: 'up', type: 'market', size: '1' });
         // @ts-expect-error an order has an id
         await client.getOrder();
         await client.listPositions();
         client.stream().subscribe({ channel: 'orders' }, ({ cursor, data }) => { const at: number = cursor; void [at, data]; });
         client.stream().subscribe({ channel: 'book', market: 'BTC/USD' }, ({ data: { bids } }) => { const best: string | undefined = bids[0]?.price; void best; });
         return order?.status ?? '';
       }`,
    );
    const compiler = path.join(root, 'node_modules/typescript7/bin/tsc');
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--target', 'es2022', '--types', ''];
    for (const more of [
      ['--module', 'nodenext', '--lib', 'es2022'],
      ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom'],
    ])
      expect(run(process.execPath, [compiler, ...strict, ...more, 'typed.ts'], project)).toBe('');
  });
});
