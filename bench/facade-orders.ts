import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Wallet } from 'ethers';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { createLogger } from '../core/adapters/log.js';
import { startEmbeddedPostgres } from '../core/adapters/store/embedded/start-embedded-postgres.js';
import { systemClock } from '../core/adapters/system-clock.js';
import { createLifecycle } from '../lifecycle.js';
import { createFaultProxy } from '../sandbox/fault-proxy.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startSandbox } from '../sandbox/start-sandbox.js';
import { newTrader } from '../test/harness/chain-trader.js';
import { eventually } from '../test/harness/eventually.js';
import { approveAgent, order, postExchange, signL1 } from '../test/harness/hl-exchange.js';
import { median } from './median.js';

/** What a bot's order costs the gateway that relays it: questions to the node before it is sent, and processor time until it is answered. */
const unlimited = '1000000000';
const ORDERS = 100;
const CHAIN = 'arbitrum-sepolia';

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-facade-'));
chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
const database = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), log, clock: systemClock, durable: false });
const settings = readSandboxSettings({
  PORT: '0',
  DATABASE_URL: database.url,
  RATE_LIMIT_IP: unlimited,
  RATE_LIMIT_AGENT: unlimited,
  RATE_LIMIT_AGENT_WRITES: unlimited,
});
const sandbox = await startSandbox({ settings, lifecycle, clock: systemClock, log, write: () => undefined });
const [chain] = sandbox.controls.chains;
if (!chain) throw new Error('the sandbox has no chain');
const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
const child = fork(new URL('./orders-gateway.ts', import.meta.url), { execArgv: ['--import', 'tsx'], serialization: 'advanced' });

try {
  await measure();
} finally {
  if (child.connected) child.disconnect();
  await proxy.close();
  await lifecycle.end();
  await database.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

async function cpuOf(of: ChildProcess): Promise<number> {
  of.send('cpu');
  const [{ user, system }] = (await once(of, 'message')) as [NodeJS.CpuUsage];
  return user + system;
}

async function measure(): Promise<void> {
  if (!chain) return;
  const relayerKey = generatePrivateKey();
  const relayer = privateKeyToAddress(relayerKey);
  await chain.faucet.fund(relayer, { eth: '100' });
  const chains = sandbox.config.chains.map((one) => ({ ...one, rpcUrls: [proxy.url], relayer: null }));
  child.send({ config: { ...sandbox.config, chains }, relayerKey });
  const [url] = (await once(child, 'message')) as [string];
  const trader = await newTrader(chain, { delegate: relayer, usdc: '10000000' });
  const agent = new Wallet(Wallet.createRandom().privateKey);
  await eventually(
    async () =>
      (await postExchange(url, CHAIN, await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' }))).body,
    (body) => (body as { status?: string }).status === 'ok',
  );
  let at = 0;
  const send = async (): Promise<unknown> => {
    const wire = order({ a: 0, b: true, p: String(30_000 + (at += 1)), s: '0.01', r: false, t: { limit: { tif: 'Gtc' } } });
    return (await postExchange(url, CHAIN, await signL1(agent, { type: 'order', orders: [wire], grouping: 'na' }))).body;
  };
  await eventually(send, (body) => JSON.stringify(body).includes('resting'));
  for (let turn = 0; turn < 20; turn += 1) await send();
  const asked = await countQuestions(trader.account.address, send);
  const idle = await idleness();
  const used: number[] = [];
  for (let turn = 0; turn < ORDERS; turn += 1) {
    const [since, before] = [performance.now(), await cpuOf(child)];
    await send();
    used.push((await cpuOf(child)) - before - ((performance.now() - since) / 1000) * idle);
  }
  row('round trips to the node about the trader before the order is sent', asked, 1, '');
  row('processor time from the signed order to its answer (median)', median(used) / 1000, 4, 'ms');
}

/** Per order: what the node is asked about the trader until it is handed the transaction. */
async function countQuestions(trader: string, send: () => Promise<unknown>): Promise<number> {
  const about = trader.slice(2).toLowerCase();
  let [asked, isSent] = [0, false];
  proxy.onRequest((body) => {
    const text = JSON.stringify(body).toLowerCase();
    if (text.includes('eth_sendrawtransaction')) isSent = true;
    else if (!isSent && text.includes(about)) asked += 1;
    return undefined;
  });
  const turns = 20;
  for (let turn = 0; turn < turns; turn += 1) {
    isSent = false;
    await send();
  }
  proxy.onRequest(() => undefined);
  return asked / turns;
}

async function idleness(): Promise<number> {
  const before = await cpuOf(child);
  await systemClock.sleep(5_000);
  return ((await cpuOf(child)) - before) / 5;
}

function row(name: string, value: number, atMost: number, unit: string): void {
  console.log(
    `${name.padEnd(66)} ${value.toFixed(2).padStart(8)} ${unit.padEnd(4)} at most ${atMost}  ${value <= atMost ? 'met' : 'MISSED'}`,
  );
}
