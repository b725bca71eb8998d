import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startCuttingProxy, type CuttingProxy } from '../harness/servers/cutting-proxy.js';
import { eventually } from '../harness/time/eventually.js';
import { newAgentTrader, prepared } from '../harness/traders/agent-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, tradingVenue } from '../harness/venue/trading-venue.js';
import { connect, isData, isOp, wsAuth } from '../native-api/ws/socket-client.js';

const script = path.resolve(import.meta.dirname, '../../examples/stream-resume.mjs');

let sandbox: TestVenue;
let proxy: CuttingProxy;
const folder = mkdtempSync(path.join(os.tmpdir(), 'stream-'));
const file = path.join(folder, 'orders.jsonl');
let child: ChildProcess | null = null;

beforeAll(async () => {
  ({ sandbox } = await tradingVenue());
  proxy = await startCuttingProxy(sandbox.url);
});
/** By the signal that leaves no time to write anything. */
const kill = async (): Promise<void> => {
  const gone = child === null ? null : once(child, 'exit');
  child?.kill('SIGKILL');
  child = null;
  await gone;
};
afterAll(async () => {
  await kill();
  await proxy.stop();
  await sandbox.stop();
  rmSync(folder, { recursive: true });
});

interface Line {
  readonly cursor: number;
  readonly snapshot: boolean;
  readonly data: { readonly id: string; readonly status: string };
}

const lines = (): Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line)
    : [];

describe('the client that resumes its stream', () => {
  it('has every event once, through cuts and a kill', async () => {
    const chain = firstChain(sandbox);
    const agent = await newAgentTrader(sandbox, chain);
    const env = { PATH: process.env['PATH'] ?? '', AGENT_KEY: agent.wallet.privateKey };
    const start = (): ChildProcess => (child = spawn(process.execPath, [script, proxy.url, file], { env, stdio: 'ignore' }));
    const until = (status: string, count: number) =>
      eventually(lines, (now) => now.filter(({ data }) => data.status === status).length >= count);
    const place = async (): Promise<string> => {
      const answer = await agent.create(LIMIT);
      await agent.send(prepared(answer));
      return (answer.body['order'] as { id: string }).id;
    };

    // A client that is never cut, to compare with.
    const uncut = await connect(sandbox.url);
    await uncut.ask(await wsAuth(agent.wallet, chain.definition), isOp('authenticated'));
    await uncut.ask({ op: 'subscribe', channel: 'orders' }, isData('orders'));

    start();
    await eventually(lines, (now) => now.length === 1);
    const ids = [await place()];
    await until('open', 1);
    for (let cut = 0; cut < 4; cut += 1) {
      proxy.cut(); // the next orders are placed while it is away, or while it comes back
      ids.push(await place());
    }
    await until('open', 5);
    await kill();
    ids.push(await place(), await place());
    start();
    proxy.cut();
    await until('open', 7);
    await kill();

    await eventually(
      () => uncut.of('orders').length,
      (count) => count >= lines().length,
    );
    const expected = uncut.of('orders').map((message) => message['cursor']);
    expect(lines().map(({ cursor }) => cursor)).toEqual(expected);
    expect(lines().filter(({ snapshot }) => snapshot)).toHaveLength(1);
    const rested = lines().flatMap(({ data }) => (data.status === 'open' ? [data.id] : []));
    expect(rested).toEqual(ids);
    await uncut.close();
  });
});
