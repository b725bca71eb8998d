/**
 * Counts the project files in which a function ran during one request: `npm run journeys [-- --files]`. The three journeys are those of
 * docs/architecture.md: a native order until its answer, a facade order until its answer, a block until a message on a socket. The gateway
 * is warm and has a process of its own, in which each source is a module; node, oracle and prices run in this one. Mining is paused except
 * for the journey's own block, and files that also run without requests are left out. `--files` prints the names. Exit code 1: too many.
 */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { WebSocket } from 'ws';
import { createLifecycle } from '../app/lifecycle.js';
import { approveBot, createPoster, signOrder } from '../bench/relayer-bots.js';
import { ask, CHAIN, leave, settingsOf, start } from '../bench/relayer-stage.js';
import { startEmbeddedPostgres } from '../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../core/adapters/system/clock.js';
import { createLogger } from '../core/adapters/telemetry/log.js';
import type { Address } from '../core/types.js';
import type { ChainControls } from '../sandbox/controls.js';
import { createProgress } from '../sandbox/banner.js';
import { openDataFolder } from '../sandbox/data-folder.js';
import { readSandboxSettings } from '../sandbox/settings.js';
import { startVenue } from '../sandbox/venue.js';
import { eventually } from '../test/harness/time/eventually.js';
import { done, newAgentTrader, type AgentTrader, type Json } from '../test/harness/traders/agent-trader.js';
import { signRequest } from '../test/harness/traders/signed-request.js';
import type { TestVenue } from '../test/harness/venue/own-venue.js';

const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } });

/** Files that each journey may take. */
const AT_MOST = { 'native order': 45, 'facade order to its answer': 75, 'chain event to socket': 19 } as const;
type Journey = keyof typeof AT_MOST;

const WARM_UP = 3;
/** A file counts if it ran in all of them: a timer that fires meanwhile does so once. */
const RUNS = 4;
/** Longer than any period in which the gateway looks after itself, and than the heartbeat of its sockets. */
const IDLE_MS = 20_000;
/** What a request leaves to be done after its answer is done by then. */
const QUIET_MS = 1_500;

const log = createLogger('silent');
const lifecycle = createLifecycle(log);
const folder = mkdtempSync(path.join(os.tmpdir(), 'journeys-'));
chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
const database = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), log, clock: systemClock, durable: false });
const gateway = start('./relayer-gateway.ts', []);

try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  await leave(gateway);
  await lifecycle.end();
  await database.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

async function main(): Promise<boolean> {
  const { chain, url, relayer } = await startAll();
  const agent = await newAgentTrader(apiAt(url), chain, { usdc: '1000000' });
  // Nothing listens to this one: the message of its order would be sent before or after the answer, as it happens.
  const unwatched = await newAgentTrader(apiAt(url), chain, { usdc: '1000000' });
  const trader = await chain.faucet.createTrader({ usdc: '1000000', eth: '10', approve: true, delegate: relayer });
  const bot = await approveBot(url, trader);
  const post = createPoster(`${url}/hl/${CHAIN}/exchange`);
  const messages = await subscribe(url, agent, chain);
  const order: Json = { market: 'BTC/USD', side: 'long', type: 'limit', price: '40000', size: '0.01', leverage: '10' };

  const create = async (by: AgentTrader) => done(await by.create(order));
  /** With its block, which is mined when the node has the relayer's transaction. */
  const relay = async (body: string): Promise<void> => {
    const before = await pendingOf(chain, relayer);
    const answer = post(body);
    await eventually(
      () => pendingOf(chain, relayer),
      (now) => now > before,
    );
    await chain.mine(1);
    const text = await answer;
    if (!text.includes('resting')) throw new Error(text);
  };
  const event = async (): Promise<() => Promise<void>> => {
    const { order: made, transaction } = await create(agent);
    if (transaction === null) throw new Error('the order came without a transaction');
    await agent.broadcast(transaction);
    return async () => {
      await chain.mine(1);
      await eventually(
        () => Promise.resolve(messages.has(String(made['id']))),
        (isThere) => isThere,
      );
    };
  };
  /** What happens before the counting begins, and what is counted. */
  const journeys: Readonly<Record<Journey, () => Promise<() => Promise<unknown>>>> = {
    'native order': () => Promise.resolve(() => create(unwatched)),
    'facade order to its answer': async () => {
      const body = await signOrder(bot);
      return () => relay(body);
    },
    'chain event to socket': event,
  };

  for (const each of [agent, unwatched])
    await eventually(
      () => each.create(order),
      ({ status }) => status === 201,
    );
  await chain.pauseMining(true);
  for (const prepare of Object.values(journeys)) for (let turn = 0; turn < WARM_UP; turn += 1) await (await prepare())();
  await systemClock.sleep(QUIET_MS);
  await ran();
  await systemClock.sleep(IDLE_MS);
  const idle = new Set(await ran());
  console.log(`${'without requests'.padEnd(28)} ${String(idle.size).padStart(4)} files, left out below`);
  if (values.files) for (const file of idle) console.log(`  ${file}`);
  const isMet: boolean[] = [];
  for (const journey of Object.keys(AT_MOST) as Journey[]) {
    const files = await filesOf(journeys[journey], idle);
    isMet.push(files.length <= AT_MOST[journey]);
    console.log(`${journey.padEnd(28)} ${String(files.length).padStart(4)} files, at most ${AT_MOST[journey]}`);
    if (values.files) for (const file of files) console.log(`  ${file}`);
  }
  return isMet.every(Boolean);
}

async function filesOf(prepare: () => Promise<() => Promise<unknown>>, idle: ReadonlySet<string>): Promise<string[]> {
  const runs: string[][] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const work = await prepare();
    await systemClock.sleep(QUIET_MS);
    await ran();
    await work();
    runs.push(await ran());
  }
  const [first = []] = runs;
  return first.filter((file) => !idle.has(file) && runs.every((files) => files.includes(file)));
}

/** The files that ran since the last call. */
async function ran(): Promise<string[]> {
  return (await ask(gateway, 'files')) as string[];
}

async function startAll() {
  const progress = createProgress(
    () => systemClock.now(),
    () => undefined,
  );
  const parts = { settings: readSandboxSettings({}), folder: openDataFolder(undefined), clock: systemClock, log, progress };
  const { controls, chainConfigs } = await startVenue(lifecycle, parts);
  const [[chain], [config]] = [controls.chains, chainConfigs];
  if (!chain || !config) throw new Error('the venue has no chain');
  const privateKey = generatePrivateKey();
  const relayer = privateKeyToAddress(privateKey).toLowerCase() as Address;
  await chain.faucet.fund(relayer, { eth: '100' });
  const { backendUrl, pricingUrl } = config;
  const urls = settingsOf({ rpcUrl: chain.rpcUrl, backendUrl, pricingUrl });
  const own = { DATABASE_URL: database.url, RPC_URL_ARBITRUM_SEPOLIA: chain.rpcUrl, RELAYER_KEY_ARBITRUM_SEPOLIA: privateKey };
  return { chain, relayer, url: (await ask(gateway, { ...urls, ...own })) as string };
}

/** A gateway as a client knows it: by its address. */
function apiAt(url: string): TestVenue {
  const call = async (at: string, init?: RequestInit) => {
    const response = await fetch(`${url}${at}`, init);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const type = { 'Content-Type': 'application/json' };
  const api: Pick<TestVenue, 'url' | 'call' | 'get' | 'post'> = {
    url,
    call,
    get: (at, headers = {}) => call(at, { headers }),
    post: (at, body, headers = {}) => call(at, { method: 'POST', body: JSON.stringify(body), headers: { ...type, ...headers } }),
  };
  return api as TestVenue;
}

async function pendingOf(chain: ChainControls, wallet: Address): Promise<number> {
  return Number(await chain.request('eth_getTransactionCount', [wallet, 'pending']));
}

/** The ids of the agent's orders that were published as resting. */
async function subscribe(url: string, agent: AgentTrader, { definition }: ChainControls): Promise<ReadonlySet<string>> {
  const at = `/v1/${CHAIN}/ws`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}${at}`);
  const open = new Set<string>();
  socket.on('message', (bytes: Buffer) => {
    const message = JSON.parse(bytes.toString()) as { op?: string; channel?: string; data?: Json };
    if (message.op === 'ping') socket.send('{"op":"pong"}');
    if (message.channel === 'orders' && message.data?.['status'] === 'open') open.add(String(message.data['id']));
  });
  await once(socket, 'open');
  const signed = await signRequest(agent.wallet, definition, { operationId: 'wsAuth', method: 'WS', path: at });
  const credential = (name: string): string => signed[`X-Service-${name}`] ?? '';
  const [id, timestamp, nonce, signature] = ['Agent', 'Timestamp', 'Nonce', 'Signature'].map(credential);
  socket.send(JSON.stringify({ op: 'auth', agent: id, timestamp, nonce, signature }));
  socket.send(JSON.stringify({ op: 'subscribe', channel: 'orders' }));
  return open;
}
