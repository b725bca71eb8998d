import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { z } from 'zod';
import { createNode, scanBlocks, type Node as ChainNode } from '../../bench/relayer-chain.js';
import { ask, leave, settingsOf, start, type StageTrader } from '../../bench/relayer-stage.js';
import type { VenueUrls } from '../../bench/relayer-venue.js';
import type { Address } from '../../core/types.js';
import { basics, startProcess, type SandboxProcess } from '../harness/process/sandbox-process.js';
import { eventually } from '../harness/time/eventually.js';
import { createBots, type Bots } from './bots.js';
import { startPostgresCluster, type ClusterSettings, type PostgresCluster } from './postgres-cluster.js';

/** A chain, a database cluster, two production gateways with one relayer wallet, and bots: each in processes of its own, but for the bots. */
export interface Stage {
  readonly cluster: PostgresCluster;
  readonly chain: ChainNode;
  readonly rpcUrl: string;
  readonly relayer: Address;
  readonly gateways: readonly GatewayUnderTest[];
  /** The bot's price of an order as the contract stores it, in dollars. */
  readonly spread: number;
  newBots(): Promise<Bots>;
  stop(): Promise<void>;
}

export interface GatewayUnderTest {
  readonly url: string;
  readonly process: SandboxProcess;
  alerts(): Promise<readonly Alert[]>;
  ready(): Promise<{ readonly status: number; readonly body: unknown }>;
}

const Alerts = z.object({ open: z.array(z.object({ kind: z.string(), message: z.string() })) });
export type Alert = z.output<typeof Alerts>['open'][number];

const TOKEN = 'the-token-of-the-operator';
const PRODUCTION = ['--max-semi-space-size=64', '--enable-source-maps', 'dist/app/cli.js', 'start'] as const;
const BOTS = 4;

export async function startStage(settings: ClusterSettings): Promise<Stage> {
  const venue = start('./relayer-venue.ts', []);
  const running: SandboxProcess[] = [];
  let cluster: PostgresCluster | null = null;
  const stop = async (): Promise<void> => {
    for (const { child, exit } of running) {
      child.kill('SIGKILL');
      await exit;
    }
    await Promise.all([leave(venue), cluster?.stop()]);
  };
  try {
    const [urls, database] = await Promise.all([
      ask(venue, { kind: 'start' }) as Promise<VenueUrls>,
      startPostgresCluster(settings).then((started) => (cluster = started)),
    ]);
    const key = generatePrivateKey();
    const relayer = privateKeyToAddress(key).toLowerCase() as Address;
    await ask(venue, { kind: 'fund', address: relayer, eth: '1000' });
    const variables = {
      ...{ ...basics(), ...settingsOf(urls), HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', LAUNCHER_PID: String(process.pid) },
      ...{ RPC_URL_ARBITRUM_SEPOLIA: urls.rpcUrl, RELAYER_KEY_ARBITRUM_SEPOLIA: key, OPERATOR_TOKEN: TOKEN },
      DATABASE_URL: database.url,
      FACADE_DAILY_TRANSACTIONS: '1000000',
    };
    const gateways: GatewayUnderTest[] = [];
    for (const _ of [0, 1]) {
      const each = startProcess(process.execPath, PRODUCTION, { env: variables });
      running.push(each);
      const [, url = ''] = await each.until(/"url":"(http:[^"]+)"/);
      const gateway = gatewayAt(url, each);
      await eventually(
        () => gateway.ready(),
        ({ status }) => status === 200,
      );
      gateways.push(gateway);
    }
    const chain = createNode(urls.rpcUrl);
    const newBots = async (): Promise<Bots> => {
      const traders = (await ask(venue, { kind: 'traders', count: BOTS, delegate: relayer })) as StageTrader[];
      return createBots(
        gateways.map(({ url }) => url),
        traders,
      );
    };
    const spread = await measureSpread(await newBots(), chain, relayer);
    return { cluster: database, chain, rpcUrl: urls.rpcUrl, relayer, gateways, spread, newBots, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function gatewayAt(url: string, process: SandboxProcess): GatewayUnderTest {
  return {
    url,
    process,
    async ready() {
      const reply = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(20_000) });
      return { status: reply.status, body: await reply.json() };
    },
    async alerts() {
      const reply = await fetch(`${url}/relayer/alerts`, { headers: { Authorization: `Bearer ${TOKEN}` } });
      return Alerts.parse(await reply.json()).open;
    },
  };
}

/** The contract stores a price without the spread of its market. */
async function measureSpread(bots: Bots, chain: ChainNode, relayer: Address): Promise<number> {
  bots.start();
  await eventually(
    () => bots.sent.length,
    (count) => count > 0,
  );
  await bots.stop();
  const [first] = bots.sent;
  const { orders } = await scanBlocks(chain, relayer, 0);
  const [found] = orders.filter(({ trader }) => trader === first?.trader).sort((a, b) => a.price - b.price);
  if (first === undefined || found === undefined) throw new Error(`the first order is not on chain: ${first?.answer}`);
  return first.price / found.price;
}

/** When the wallet's transactions reached the node, in ms of this process. */
export interface SigningWatch {
  readonly times: readonly number[];
  stop(): Promise<void>;
}

export function watchSigning({ chain, relayer }: Pick<Stage, 'chain' | 'relayer'>): SigningWatch {
  const times: number[] = [];
  const over = new AbortController();
  const watching = (async () => {
    let last: number | null = null;
    while (!over.signal.aborted) {
      const count = Number(await chain.ask<string>('eth_getTransactionCount', [relayer, 'pending']));
      if (last !== null && count > last) times.push(Date.now());
      last = count;
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  })();
  return {
    times,
    async stop() {
      over.abort();
      await watching;
    },
  };
}
