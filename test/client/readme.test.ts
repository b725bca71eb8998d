import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';

const root = path.resolve(import.meta.dirname, '../..');
let sandbox: TestVenue;

beforeAll(async () => {
  ({ sandbox } = await tradingVenue());
});
afterAll(() => sandbox.stop());

/** Runs a program with the sources of the client; answers what it printed. */
async function run(text: string, variables: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'readme-'));
  try {
    const file = path.join(folder, 'main.mts');
    writeFileSync(
      file,
      text.replace(/from '@diamond-gateway\/client'/, `from ${JSON.stringify(path.join(root, 'client/src/create-client.ts'))}`),
    );
    const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd: root, env: { ...process.env, ...variables } });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const code = await new Promise((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(printed);
    return printed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const firstProgram = (page: string): string => {
  const [, code] = /```js\n([\s\S]*?)```/.exec(readFileSync(path.join(root, page), 'utf8')) ?? [];
  if (code === undefined) throw new Error(`${page} has no program`);
  return code.replaceAll('http://127.0.0.1:8080', sandbox.url);
};

describe('the programs in the documentation', () => {
  it('open and close a position: docs/integrators.md', async () => {
    expect(await run(firstProgram('docs/integrators.md'), {})).toMatch(/^filled \d+(\.\d+)?\nfilled \d+(\.\d+)?\n$/);
  });

  it('trade with a key, a trader and a node of the reader: client/README.md', async () => {
    const { chains, accounts } = (await sandbox.get('/sandbox')).body as {
      readonly chains: readonly { readonly rpcUrl: string }[];
      readonly accounts: readonly { readonly role: string; readonly address: string; readonly privateKey: string }[];
    };
    const account = (role: string) => accounts.find((each) => each.role === role);
    const variables = {
      AGENT_KEY: account('agent')?.privateKey ?? '',
      TRADER: account('trader')?.address ?? '',
      RPC_URL: chains[0]?.rpcUrl ?? '',
    };
    expect(await run(firstProgram('client/README.md'), variables)).toMatch(/^filled \d+(\.\d+)?\n$/);
  });
});
