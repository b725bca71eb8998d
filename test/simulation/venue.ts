import type { Config } from '../../core/config/config.js';
import type { DailyBudgetSetting } from '../../core/config/relayer.js';
import type { Hex } from '../../core/types.js';
import { DEFAULT_LIMITS } from '../../core/config/database.js';
import { createLifecycle } from '../../app/lifecycle.js';
import { createChainEvents, RpcFailure } from '../../sandbox/chain/chain-node.js';
import type { RpcAnswer } from '../../sandbox/chain/engine.js';
import { createRpcServer } from '../../sandbox/chain/rpc-server.js';
import { SANDBOX_MARKETS } from '../../sandbox/markets.js';
import { readSandboxSettings } from '../../sandbox/settings.js';
import { sandboxConfig, sandboxOperator } from '../../sandbox/assemble.js';
import { startVenue, type SandboxVenue } from '../../sandbox/venue.js';
import { createRecordedLog, type RecordedLog } from '../harness/checks/recorded-log.js';
import type { Network } from './network.js';
import type { ReplicaName } from './replica.js';
import type { Scheduler } from './scheduler.js';
import { createSimulatedClock } from './simulated-clock.js';

/** Answers a call of a replica in place of the node, or passes it on. */
export type NodeFault = (
  replica: ReplicaName,
  method: string,
  params: readonly unknown[],
  ask: () => Promise<RpcAnswer>,
) => Promise<RpcAnswer>;

/** Chain, oracle, keeper and backends of the sandbox, on the simulation's clock and network. */
export interface SimulatedVenue {
  readonly sandbox: SandboxVenue;
  readonly log: RecordedLog;
  setNodeFault(fault: NodeFault | null): void;
  configFor(name: ReplicaName): Config;
  readonly operatorToken: string;
}

export interface VenueOptions {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly replicas: readonly ReplicaName[];
  readonly database: { readonly name: string; readonly role: string };
  /** Variables of the gateway that differ from the defaults. */
  readonly variables: Readonly<Record<string, string>>;
  /** Without heads by WebSocket a replica polls. */
  readonly hasHeadSubscription: boolean;
  /** Keys of the relayer's wallets besides the first. */
  readonly moreKeys: readonly Hex[];
  readonly dailyBudget: DailyBudgetSetting;
  /** The replicas begin to follow the chain at its newest block; what was opened before is in no log that they read. */
  readonly startsLate: boolean;
}

export const DATABASE_PORT = 5432;
const NODE_PATIENCE_MS = 3_000;
/** A spike of the base fee can be above it. */
const MAX_FEE = 50n * 10n ** 9n;

/** Bots trade the first. Every market more makes each read of the contracts dearer. */
const MARKETS = SANDBOX_MARKETS.slice(0, 2);

/** Prices move by faults; ticks of markets without trades would be most of a run's events. */
const PACE = { SANDBOX_BLOCK_MS: '1000', SANDBOX_IDLE_BLOCK_MS: '1000', SANDBOX_PRICE_MS: '10000', SANDBOX_ORACLE_MS: '500' };

export async function startSimulatedVenue(options: VenueOptions): Promise<SimulatedVenue> {
  const { scheduler, network, replicas, database, variables, hasHeadSubscription, moreKeys, dailyBudget, startsLate } = options;
  const clock = createSimulatedClock(scheduler, 'venue');
  const log = createRecordedLog();
  const settings = readSandboxSettings({ ...PACE, ...variables });
  const folder = { root: '', database: '', chain: () => null, prices: null, remove: () => undefined };
  const sandbox = await startVenue(createLifecycle(log), {
    settings,
    folder,
    clock,
    log,
    progress: { step: () => undefined },
    markets: MARKETS,
  });
  const [chain] = sandbox.chains;
  const [chainConfig] = sandbox.chainConfigs;
  if (chain === undefined || chainConfig === undefined) throw new Error('the sandbox has no chain');
  const { relayer } = chainConfig;
  const startBlock = startsLate ? (await chain.node.head()).number : chainConfig.startBlock;
  let fault: NodeFault | null = null;

  const askNode = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
    try {
      return { result: (await chain.node.request(method, params)) ?? null };
    } catch (error) {
      if (error instanceof RpcFailure) return { error: { code: error.code, message: error.message, data: error.data } };
      throw error;
    }
  };
  const fronts = new Map<ReplicaName, number>();
  for (const replica of replicas) {
    const events = createChainEvents();
    chain.node.onBlock(({ hash }) => {
      void chain.node.request('eth_getBlockByHash', [hash, false]).then((block) => block !== null && events.block(block as never, []));
    });
    const rpc = (
      method: string,
      params: readonly unknown[],
      subscriptions: { subscribe(p: readonly unknown[]): RpcAnswer; unsubscribe(p: readonly unknown[]): RpcAnswer } | null,
    ): Promise<RpcAnswer> => {
      if (subscriptions !== null && method === 'eth_subscribe') return Promise.resolve(subscriptions.subscribe(params));
      if (subscriptions !== null && method === 'eth_unsubscribe') return Promise.resolve(subscriptions.unsubscribe(params));
      const ask = (): Promise<RpcAnswer> => askNode(method, params);
      return fault === null ? ask() : fault(replica, method, params, ask);
    };
    const { port } = await createRpcServer({ host: '127.0.0.1', port: 0, rpc, events });
    fronts.set(replica, port);
  }

  const { operator } = sandboxOperator(settings);
  return {
    sandbox,
    log,
    operatorToken: operator.token(),
    setNodeFault: (next) => void (fault = next),
    configFor(name) {
      const toVenue = (url: string): string => url.replace('127.0.0.1', network.host(name, 'venue'));
      const node = `http://${network.host(name, 'venue')}:${fronts.get(name)}`;
      const parts = {
        database: {
          kind: 'server',
          url: `postgres://${database.role}@${network.host(name, 'database')}:${DATABASE_PORT}/${database.name}`,
          poolSize: 4,
          limits: DEFAULT_LIMITS,
        },
        chains: [
          {
            ...chainConfig,
            startBlock,
            nodePatienceMs: NODE_PATIENCE_MS,
            relayer: relayer && { ...relayer, keys: () => [...relayer.keys(), ...moreKeys], maxFeePerGas: MAX_FEE, dailyBudget },
            rpcUrls: [node],
            wsUrls: hasHeadSubscription ? [node.replace(/^http/, 'ws')] : [],
            backendUrl: toVenue(chainConfig.backendUrl),
            pricingUrl: toVenue(chainConfig.pricingUrl),
            globalUrl: toVenue(chainConfig.globalUrl),
          },
        ],
        operator,
      } as const;
      return { ...sandboxConfig(settings, parts), host: network.host('world', name), port: 0, logLevel: 'info', pages: [], traces: null };
    },
  };
}
