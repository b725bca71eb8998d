import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { approveAgent, order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { basics, startProcess, type SandboxProcess } from '../harness/process/sandbox-process.js';
import { useSandboxProcesses } from '../harness/process/sandbox-processes.js';
import { eventually } from '../harness/time/eventually.js';

const root = path.resolve(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/production-on-one-machine.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const CHAIN = 'arbitrum-sepolia';

/** The lines of the page, for a sandbox at another address: the usual port may be in use on the machine of the test. */
function settings(sandboxUrl: string): string {
  const [, block = ''] = /<!-- settings[^>]*-->\s*```sh\n([\s\S]*?)```/.exec(page) ?? [];
  expect(block.match(/^export /gm)).toHaveLength(5);
  return block.replaceAll('http://127.0.0.1:8080', sandboxUrl);
}

describe('the page about production on one machine', () => {
  const { start, readyUrl, playground } = useSandboxProcesses();

  const json = async (url: string, body?: object): Promise<Record<string, unknown>> =>
    (await (
      await fetch(url, body && { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })
    ).json()) as Record<string, unknown>;

  it('has five lines of settings with which a production gateway trades on the sandbox', async () => {
    const sandbox = await readyUrl(start());
    const script = `${settings(sandbox)}\n${scripts['start:production']}`;
    const env = { ...basics(), TMPDIR: playground().folder, HOST: '127.0.0.1', PORT: '0' };
    const production = startProcess('bash', ['-ec', script], { env });
    try {
      await tradesOn(production, sandbox);
    } finally {
      production.child.kill('SIGINT');
      await production.exit;
    }
  });

  async function tradesOn(production: SandboxProcess, sandbox: string): Promise<void> {
    const [, url = ''] = await production.until(/"url":"(http:[^"]+)"/);
    await eventually(
      async () => (await fetch(`${url}/ready`)).status,
      (status) => status === 200,
    );
    expect(await json(`${url}/health`)).toMatchObject({ mode: 'production', chains: [CHAIN] });
    expect((await fetch(`${url}/sandbox`)).status).toBe(404);

    const { relayer } = await json(`${url}/v1/${CHAIN}`);
    expect(relayer).not.toBe((await json(`${sandbox}/v1/${CHAIN}`))['relayer']);
    const made = await json(`${sandbox}/sandbox/accounts`, { delegate: relayer });
    expect(made).toEqual({ address: expect.any(String), privateKey: expect.any(String) });
    const [trader, agent] = [new Wallet(String(made['privateKey'])), new Wallet(generatePrivateKey())];
    const approval = await approveAgent(trader, agent.address, null, { network: 'Testnet' });
    expect((await postExchange(url, CHAIN, approval)).body).toMatchObject({ status: 'ok' });
    const { body } = await postExchange(url, CHAIN, await signL1(agent, orderAction(order({ p: '90000' }))));
    expect(body).toMatchObject({ status: 'ok', response: { data: { statuses: [{ filled: { oid: expect.any(Number) } }] } } });
  }
});
