import { Wallet } from 'ethers';
import { createPublicClient, http, type PublicClient } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { systemClock, systemRandom } from '../../../core/adapters/system/clock.js';
import type { Clock } from '../../../core/ports/clock.js';
import type { Gateway } from '../../../core/gateway.js';
import type { Address, Hex } from '../../../core/types.js';
import { LANE_DEFAULTS, type LaneConfig, type LaneWaits } from '../../../core/config/relayer.js';
import { startGateway, startStore } from '../../../app/compose/gateway.js';
import { createLifecycle } from '../../../app/lifecycle.js';
import { listen } from '../../../http/listen.js';
import { createWallet } from '../../../relayer/wallet.js';
import { createFaultProxy, type FaultProxy } from '../../../sandbox/fault-proxy.js';
import { newTrader, type ChainTrader } from '../traders/chain-trader.js';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { eventually } from '../time/eventually.js';
import { approveAgent, postExchange, signL1, type L1Options } from '../hyperliquid/exchange.js';
import { createRecordedLog, type RecordedLog } from '../checks/recorded-log.js';
import type { TestVenue } from './own-venue.js';

/** A whole gateway on the sandbox's chain with its own database, relayer wallet and faulty proxy to the node. */
export interface RelayerGateway {
  readonly url: string;
  readonly gateway: Gateway;
  readonly log: RecordedLog;
  readonly proxy: FaultProxy;
  readonly wallet: Address;
  /** Asks the node itself. */
  readonly client: PublicClient;
  newBot(): Promise<RelayedBot>;
  readonly database: TestDatabase;
  /** Its wallet's, for another gateway of the same wallet. */
  readonly key: Hex;
  /** With `isHeld` nothing is sent until then, as if another replica owned the lane and slept. */
  releaseLane(): Promise<void>;
  stop(): Promise<void>;
}

export interface RelayedBot {
  readonly trader: ChainTrader;
  send(action: Record<string, unknown>): Promise<unknown>;
  /** To another gateway that knows its agent. */
  sendTo(other: Pick<RelayerGateway, 'url'>, action: Record<string, unknown>, options?: L1Options): Promise<unknown>;
}

export interface RelayerGatewayOptions {
  readonly waits?: Partial<LaneWaits>;
  readonly lane?: Partial<LaneConfig>;
  readonly maxFeePerGas?: bigint;
  readonly holdMs?: number;
  readonly isHeld?: boolean;
  readonly clock?: Clock;
  /** Those of a gateway that was stopped: its wallet, on a database that the caller drops. */
  readonly goesOn?: Pick<RelayerGateway, 'database' | 'key'>;
}

const GWEI = 1_000_000_000n;

export async function startRelayerGateway(sandbox: TestVenue, options: RelayerGatewayOptions = {}): Promise<RelayerGateway> {
  const { waits, lane, maxFeePerGas = 50n * GWEI, holdMs = 2_000, isHeld = false, clock = systemClock, goesOn } = options;
  const [controls] = sandbox.controls.chains;
  const [chain] = sandbox.config.chains;
  if (!controls || !chain) throw new Error('the sandbox has no chain');
  const { slug } = chain.chain;
  const key = goesOn?.key ?? generatePrivateKey();
  const { address: wallet } = createWallet(key);
  if (!goesOn) await controls.faucet.fund(wallet, { eth: '10' });
  const database = goesOn?.database ?? (await createTestDatabase());
  const proxy = await createFaultProxy({ target: controls.rpcUrl, clock: systemClock });
  const log = createRecordedLog();
  const lifecycle = createLifecycle(log);
  const listening = await lifecycle.start(
    'http',
    () => listen('127.0.0.1', 0, { randomBytes: systemRandom }),
    (made) => made.close(),
  );
  const settings: LaneConfig = { ...LANE_DEFAULTS, ...lane, waits: { ...LANE_DEFAULTS.waits, ...waits } };
  const relayer = { keys: () => [key], maxFeePerGas, lane: settings };
  const config = {
    ...sandbox.config,
    database: { kind: 'server', url: database.url } as const,
    facade: { ...sandbox.config.facade, holdMs },
    chains: [{ ...chain, rpcUrls: [proxy.url], wsUrls: [proxy.wsUrl], relayer }],
  };
  const store = await startStore({ lifecycle, clock, log }, config.database);
  const held = isHeld ? await store.relay.lease(slug, wallet) : null;
  const gateway = await startGateway({ config, store, lifecycle, clock, log, http: listening });
  const { url } = listening;
  await eventually(
    async () => (await fetch(`${url}/ready`)).status,
    (status) => status === 200,
  );
  return {
    url,
    gateway,
    log,
    proxy,
    wallet,
    database,
    key,
    client: createPublicClient({ transport: http(controls.rpcUrl, { retryCount: 0, timeout: 60_000, batch: true }), cacheTime: 0 }),
    async newBot() {
      const trader = await newTrader(controls, { delegate: wallet, usdc: '100000' });
      const agent = new Wallet(generatePrivateKey());
      const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
      expect(await postExchange(url, slug, approval)).toMatchObject({ body: { status: 'ok' } });
      const sendTo: RelayedBot['sendTo'] = async (other, action, options) =>
        (await postExchange(other.url, slug, await signL1(agent, action, options))).body;
      return { trader, send: (action) => sendTo({ url }, action), sendTo };
    },
    releaseLane: async () => held?.release(),
    async stop() {
      await lifecycle.end();
      await proxy.close();
      if (!goesOn) await database.drop();
    },
  };
}
