import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { createLogger } from '../core/adapters/telemetry/log.js';
import { startEmbeddedPostgres } from '../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { systemClock } from '../core/adapters/system/clock.js';
import type { Address, Hex } from '../core/types.js';
import type { Usage, UsageQuestion } from './relayer-gateway.js';
import type { VenueOrder, VenueUrls } from './relayer-venue.js';

export interface StageTrader {
  readonly address: Address;
  readonly privateKey: Hex;
}

/** Database, node and gateway, each in a process of its own; this one only asks. */
export interface Stage {
  readonly rpcUrl: string;
  readonly relayer: Address;
  /** Starts the gateway; `rpcUrl` puts a proxy between it and its node. */
  startGateway(rpcUrl?: string): Promise<string>;
  venue(order: VenueOrder): Promise<unknown>;
  traders(count: number, delegate: Address): Promise<StageTrader[]>;
  usage(question?: UsageQuestion): Promise<Usage>;
  end(): Promise<void>;
}

export const CHAIN = 'arbitrum-sepolia';
const UNLIMITED = '1000000000';

export async function openStage(variables: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'bench-relayer-'));
  chmodSync(folder, 0o711); // the database of root runs as another user and has to walk through
  const log = createLogger('silent');
  const database = await startEmbeddedPostgres({ folder: path.join(folder, 'postgres'), log, clock: systemClock, durable: false });
  const venue = start('./relayer-venue.ts', []);
  const gateway = start('./relayer-gateway.ts', ['--expose-gc', '--max-semi-space-size=64']);
  const order = (asked: VenueOrder): Promise<unknown> => ask(venue, asked);
  const urls = (await order({ kind: 'start' })) as VenueUrls;
  const privateKey = generatePrivateKey();
  const relayer = privateKeyToAddress(privateKey).toLowerCase() as Address;
  await order({ kind: 'fund', address: relayer, eth: '10000' });
  const settings = { ...settingsOf(urls), DATABASE_URL: database.url, RELAYER_KEY_ARBITRUM_SEPOLIA: privateKey, ...variables };
  return {
    rpcUrl: urls.rpcUrl,
    relayer,
    startGateway: async (rpcUrl = urls.rpcUrl) => (await ask(gateway, { ...settings, RPC_URL_ARBITRUM_SEPOLIA: rpcUrl })) as string,
    venue: order,
    traders: async (count, delegate) => (await order({ kind: 'traders', count, delegate })) as StageTrader[],
    usage: async (question = 'cpu') => (await ask(gateway, question)) as Usage,
    async end() {
      await Promise.all([gateway, venue].map(leave));
      await database.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const settingsOf = ({ rpcUrl, backendUrl, pricingUrl }: VenueUrls): Record<string, string> => ({
  RPC_WS_URL_ARBITRUM_SEPOLIA: rpcUrl.replace(/^http/, 'ws'),
  BACKEND_URL_ARBITRUM_SEPOLIA: backendUrl,
  START_BLOCK_ARBITRUM_SEPOLIA: '0',
  PRICING_URL: pricingUrl,
  GLOBAL_URL: pricingUrl,
  RATE_LIMIT_IP: UNLIMITED,
  RATE_LIMIT_AGENT: UNLIMITED,
  RATE_LIMIT_AGENT_WRITES: UNLIMITED,
});

export const start = (file: string, flags: readonly string[]): ChildProcess =>
  fork(new URL(file, import.meta.url), { execArgv: ['--import', 'tsx', ...flags], serialization: 'advanced' });

/** One question at a time; a process that is gone answers with an error. */
export async function ask(child: ChildProcess, question: object | string): Promise<unknown> {
  const gone = new AbortController();
  const answer = once(child, 'message', { signal: gone.signal }) as Promise<[unknown]>;
  const lost = (): void => gone.abort(new Error('a process of the benchmark is gone'));
  child.once('exit', lost);
  child.send(question);
  const [given] = await answer.finally(() => child.off('exit', lost));
  return given;
}

export async function leave(child: ChildProcess): Promise<void> {
  if (!child.connected) return;
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}
