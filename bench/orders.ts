import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createLogger } from '../core/adapters/telemetry/log.js';
import { startEmbeddedPostgres } from '../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../core/adapters/system/clock.js';
import type { Address } from '../core/types.js';
import { createLifecycle } from '../app/lifecycle.js';
import { createFaultProxy } from '../sandbox/fault-proxy.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startSandbox } from '../sandbox/start.js';
import { agentTrader, done, newAgentTrader, type AgentTrader, type Json } from '../test/harness/traders/agent-trader.js';
import { eventually } from '../test/harness/time/eventually.js';
import { measurePreparing, type Cost } from './orders-preparing.js';
import { measureStored } from './orders-stored.js';
import { measureStream } from './orders-stream.js';

/** What an order costs: round trips and processor time to prepare it, the way from its block to a subscriber, and a full database. */
const unlimited = '1000000000';
const MANY = Number(process.env['BENCH_ORDERS'] ?? 1_000_000);
const COUNTED = 20;
/** `--preparing`: what preparing costs and nothing else; `--stored`: what a full database costs. */
const isShort = process.argv.includes('--preparing');
const isOnlyStored = process.argv.includes('--stored');

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-orders-'));
chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
const database = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), log, clock: systemClock, durable: false });
const settings = readSandboxSettings({
  PORT: '0',
  DATABASE_URL: database.url,
  SANDBOX_BLOCK_MS: '1000',
  MAX_UNSENT_ORDERS: '10000',
  RATE_LIMIT_IP: unlimited,
  RATE_LIMIT_AGENT: unlimited,
  RATE_LIMIT_AGENT_WRITES: unlimited,
});
const sandbox = await startSandbox({ settings, lifecycle, clock: systemClock, log, write: () => undefined });
const chain = onlyOf(sandbox.controls.chains);
const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
const child = fork(new URL('./orders-gateway.ts', import.meta.url), { execArgv: ['--import', 'tsx'], serialization: 'advanced' });

const lost = once(child, 'exit').then(() => Promise.reject(new Error('the gateway under measurement is gone')));

try {
  process.exitCode = await Promise.race([measure(), lost]);
} finally {
  if (child.connected) child.disconnect();
  await proxy.close();
  await lifecycle.end();
  await database.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

function onlyOf<Item>([only]: readonly Item[]): Item {
  if (only === undefined) throw new Error('the sandbox has no chain');
  return only;
}

type Row = readonly [name: string, value: number, atMost: number, unit: string];

async function measure(): Promise<number> {
  const agent = await newAgent();
  const gateway = isOnlyStored ? [] : await measureGateway(agent);
  const rows: Row[] = [...gateway, ...(isShort ? [] : isOnlyStored ? await measureDatabase() : await measureRest(agent))];
  for (const [name, value, atMost, unit] of rows)
    console.log(
      `${name.padEnd(58)} ${value.toFixed(2).padStart(8)} ${unit.padEnd(4)} at most ${atMost}  ${value <= atMost ? 'met' : 'MISSED'}`,
    );
  return process.argv.includes('--strict') && rows.some(([, value, atMost]) => value > atMost) ? 1 : 0;
}

function newAgent(): Promise<AgentTrader> {
  return newAgentTrader(gatewayAt(sandbox.url), chain, { usdc: '1000000' });
}

async function measureRest(agent: AgentTrader): Promise<Row[]> {
  const ms = await measureStream({ agent, chain, url: sandbox.url, nodeUrl: proxy.url, order });
  return [['from a block to the subscriber, less one round trip (median)', ms, 50, 'ms'], ...(await measureDatabase())];
}

function order(changes: Json = {}): Json {
  return { market: 'BTC/USD', side: 'long', type: 'limit', price: '40000', size: '0.01', leverage: '10', ...changes };
}

/** A gateway as a client knows it: by its address. */
function gatewayAt(url: string): Parameters<typeof newAgentTrader>[0] {
  const call = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const type = { 'Content-Type': 'application/json' };
  return {
    ...sandbox,
    call,
    get: (path: string, headers = {}) => call(path, { headers }),
    post: (path: string, body: unknown, headers = {}) =>
      call(path, { method: 'POST', body: JSON.stringify(body), headers: { ...type, ...headers } }),
    log: { ...log, lines: [] },
    stop: () => Promise.resolve(),
  } as unknown as Parameters<typeof newAgentTrader>[0];
}

async function measureGateway({ trader, wallet }: AgentTrader): Promise<Row[]> {
  const chains = sandbox.config.chains.map((one) => ({ ...one, rpcUrls: [proxy.url], relayer: null }));
  const operator = { ...sandbox.config.operator, token: null };
  child.send({ config: { ...sandbox.config, chains, operator }, relayerKey: null });
  const [url] = (await once(child, 'message')) as [string];
  const agent = agentTrader(gatewayAt(url), chain, trader, wallet);
  await eventually(
    () => agent.create(order()),
    ({ status }) => status === 201,
  );
  const roundTrips = await countRoundTrips(agent);
  const { first, apart, together, idle } = await measurePreparing({ gateway: child, agent, order, profile: process.env['BENCH_PROFILE'] });
  const show = (ms: number): string => ms.toFixed(2);
  const range = ({ low, high }: Cost): string => `${show(low)} to ${show(high)} ms in eight of ten blocks`;
  console.log(`one order of a busy gateway: ${range(together)}`);
  console.log(`one order after the other: ${show(apart.median)} ms, ${range(apart)}; ${show(first)} ms each for the first hundred`);
  console.log(`no requests: ${show(idle)} ms a second, taken off\n`);
  return [
    ['round trips to the node while an order is prepared', roundTrips, 1, ''],
    ['processor time of one order, all of the gateway (median)', together.median, 3, 'ms'],
  ];
}

async function countRoundTrips(agent: AgentTrader): Promise<number> {
  const about = agent.trader.account.address.slice(2).toLowerCase();
  let asked = 0;
  proxy.onRequest((body) => {
    if (JSON.stringify(body).toLowerCase().includes(about)) asked += 1;
    return undefined;
  });
  for (let turn = 0; turn < COUNTED; turn += 1) done(await agent.create(order()));
  proxy.onRequest(() => undefined);
  return asked / COUNTED;
}

/** Of a trader of its own: a trader who prepared thousands of orders before has a list that expires meanwhile. */
async function measureDatabase(): Promise<Row[]> {
  const agent = await newAgent();
  const placed = await agent.place(order(), 'open');
  const trader = agent.trader.account.address.toLowerCase() as Address;
  const [few, many] = await measureStored({ gateway: sandbox.gateway, url: database.url, trader, id: String(placed['id']) }, [1_000, MANY]);
  if (!few || !many) throw new Error('nothing was measured');
  return (['getOrder', 'listOpenOrders', 'event'] as const).map((name): Row => [
    `${name === 'event' ? "an event's application" : name} with ${MANY} orders / with 1000`,
    many[name] / few[name],
    1.3,
    '',
  ]);
}
