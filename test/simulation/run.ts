import { Wallet } from 'ethers';
import type { Address } from '../../core/types.js';
import type { Random } from '../fuzz/random.js';
import { createRandom } from '../fuzz/random.js';
import { ask } from './clients/http-client.js';
import { createFacadeBot, type FacadeBot } from './clients/facade-bot.js';
import { createNativeBot, type NativeBot } from './clients/native-bot.js';
import { followStream, type StreamFollower } from './clients/stream-follower.js';
import { createClientRecord, keyOf, type ClientRecord, type Surroundings } from './clients/surroundings.js';
import type { SimulationServer } from './database-server.js';
import { jobTransitions, watchOrderMachine } from './coverage.js';
import type { FaultKind } from './faults/fault-table.js';
import { injectFaults } from './faults/inject-faults.js';
import { checkInvariants } from './invariants/check-invariants.js';
import type { Violation } from './invariants/evidence.js';
import { watchJournal } from './invariants/journal-watch.js';
import { BOTS, STREAMS, type ClientAction, type Plan } from './plan.js';
import { createSimulatedClock } from './simulated-clock.js';
import { openWorld, type World } from './world.js';

/** The result of one run. */
export interface RunReport {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly steps: number;
  readonly simulatedMs: number;
  readonly record: ClientRecord;
  readonly faults: readonly FaultKind[];
  /** Rows of the transition tables, and fault kinds in lane states, that this run reached. */
  readonly reached: readonly string[];
  /** The last lines of the trace. */
  readonly recent: readonly string[];
}

export interface RunOptions {
  readonly server: SimulationServer;
  readonly plan: Plan;
  readonly onLine?: (line: string) => void;
  /** Called with the world before anything happens: a build that is broken on purpose. */
  readonly sabotage?: (world: World) => Promise<void>;
}

const VARIABLES = {
  RATE_LIMIT_IP: '1000000',
  SOCKETS_PER_IP: '1000000',
  RATE_LIMIT_AGENT: '1000000',
  RATE_LIMIT_AGENT_WRITES: '1000000',
  FACADE_HOLD_MS: '4000',
};
const START_PRICE = '60000';
const JOURNAL_LOOKS = 4;
const DEEPEST_REORGANISATION = 20;

export async function runPlan({ server, plan, onLine, sabotage }: RunOptions): Promise<RunReport> {
  const { seed, latency } = plan;
  const unhandled: string[] = [];
  const onUnhandled = (error: unknown): void =>
    void unhandled.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.on('unhandledRejection', onUnhandled);
  process.on('uncaughtException', onUnhandled);
  const orders = watchOrderMachine();
  const world = await openWorld({
    server,
    seed,
    replicas: plan.replicas,
    latency: (random) => () => (random.chance(latency.share) ? random.int(1, latency.mostMs) : 0),
    variables: VARIABLES,
    hasHeadSubscription: plan.hasHeadSubscription,
    ...(onLine && { onLine }),
  });
  try {
    if (sabotage) await world.scheduler.drive(sabotage(world));
    const { scheduler } = world;
    const bots = await scheduler.drive(prepareBots(world, seed));
    const from = scheduler.now();
    const faults = injectFaults(world, plan, createRandom(seed, STREAMS.faults));
    const work = actOut(world, plan.actions, bots);
    const journal = watchJournal(world);
    for (let part = 1; part <= JOURNAL_LOOKS; part += 1) {
      await scheduler.runUntil(from + (plan.busyMs * part) / JOURNAL_LOOKS);
      await scheduler.drive(journal.look());
    }
    await scheduler.drive(faults.healed(), 120_000);
    await scheduler.drive(work, 240_000);
    await scheduler.runUntil(Math.max(from + plan.runMs, scheduler.now()));
    await scheduler.drive(journal.look());
    const violations = await checkInvariants({ world, bots, plan, faults, unhandled, journal });
    return {
      plan,
      violations,
      hash: scheduler.hash(),
      steps: scheduler.steps(),
      simulatedMs: scheduler.now(),
      record: bots.record,
      faults: faults.applied(),
      reached: [...(await scheduler.drive(jobTransitions(world))), ...orders.seen(), ...faults.met()],
      recent: scheduler.recent(),
    };
  } finally {
    await world.close();
    orders.stop();
    process.off('unhandledRejection', onUnhandled);
    process.off('uncaughtException', onUnhandled);
  }
}

export interface Bots {
  readonly facade: readonly FacadeBot[];
  readonly native: readonly NativeBot[];
  readonly record: ClientRecord;
  readonly followers: readonly StreamFollower[];
  readonly traders: readonly { readonly address: string; readonly privateKey: `0x${string}` }[];
  /** Wei and block of the relayer's wallet before the first order. */
  readonly relayerWallet: { readonly wallet: string; readonly block: number; readonly balance: bigint };
}

async function prepareBots(world: World, seed: number): Promise<Bots> {
  const { scheduler, venue, network, replicas } = world;
  const clock = createSimulatedClock(scheduler, 'clients');
  const [chain] = venue.sandbox.controls.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const { accounts, prices } = venue.sandbox.controls;
  prices.jump(0, START_PRICE);
  const record = createClientRecord(() => clock.now());
  const random: Random = createRandom(seed, STREAMS.clients);
  const around: Surroundings = {
    clock,
    chain,
    nodeUrl: chain.rpcUrl.replace('127.0.0.1', network.host('clients', 'venue')),
    urls: () => [...replicas.values()].map(({ url }) => url),
    random,
    record,
  };
  const relayer = accounts.relayer.address;
  const funds = { usdc: '100000', eth: '100' } as const;
  const facadeKeys = Array.from({ length: BOTS.facade }, (_, at) => ({
    trader: keyOf(`facade trader ${at}`),
    agent: keyOf(`facade agent ${at}`),
  }));
  const nativeKeys = Array.from({ length: BOTS.native }, (_, at) => ({
    trader: keyOf(`native trader ${at}`),
    agent: keyOf(`native agent ${at}`),
  }));
  const facade = facadeKeys.map((keys, at) => createFacadeBot(around, `facade-${at}`, keys));
  const native = nativeKeys.map((keys, at) => createNativeBot(around, `native-${at}`, keys));
  await Promise.all([
    ...facadeKeys.map(({ trader }) => chain.faucet.equip(trader, { ...funds, approve: true, delegate: relayer })),
    ...nativeKeys.map(async ({ trader, agent }) => {
      await chain.faucet.equip(agent, { eth: '100', approve: false, delegate: null });
      await chain.faucet.equip(trader, { ...funds, approve: true, delegate: new Wallet(agent).address as Address });
    }),
  ]);
  await untilReady(around);
  await Promise.all([...facade.map((bot) => bot.approve()), ...native.map((bot) => bot.authorise())]);
  const block = Number(await chain.request('eth_blockNumber', []));
  // A reorganisation must not reach the deployment.
  await chain.mine(DEEPEST_REORGANISATION);
  const balance = BigInt((await chain.request('eth_getBalance', [relayer, 'latest'])) as string);
  return {
    facade,
    native,
    record,
    followers: nativeKeys.map((keys) => followStream(around, keys)),
    traders: [...facadeKeys, ...nativeKeys].map(({ trader }, at) => ({
      address: [...facade, ...native][at]?.trader ?? '',
      privateKey: trader,
    })),
    relayerWallet: { wallet: relayer.toLowerCase(), block, balance },
  };
}

const READY_POLL_MS = 100;

async function untilReady({ clock, urls }: Surroundings): Promise<void> {
  for (const url of urls())
    while ((await ask(clock, { url: `${url}/ready`, method: 'GET' }))?.status !== 200) await clock.sleep(READY_POLL_MS);
}

/** Every bot does one thing after the other, as soon as the plan allows. */
async function actOut({ scheduler }: World, actions: readonly ClientAction[], bots: Bots): Promise<void> {
  const clock = createSimulatedClock(scheduler, 'clients');
  const from = scheduler.now();
  const turns = new Map<string, Promise<void>>();
  for (const action of actions) {
    const who = `${action.api} ${action.bot}`;
    const begin = async (before: Promise<void> | undefined): Promise<void> => {
      await clock.sleep(from + action.at - scheduler.now());
      await before;
      await act(action, bots);
    };
    turns.set(who, begin(turns.get(who)));
  }
  await Promise.all(turns.values());
}

const COPIES = 3;
/** Far enough from the price to rest. */
const RESTING = { buy: '50000', sell: '70000' };

async function act({ api, bot, kind, isBuy, size, choice }: ClientAction, bots: Bots): Promise<void> {
  const choose = (count: number): number => Math.floor(choice * count);
  const price = isBuy ? RESTING.buy : RESTING.sell;
  const copies = kind === 'open-copies' ? COPIES : 1;
  if (api === 'native') {
    const native = bots.native[bot];
    if (kind === 'rest') return native?.rest({ isLong: isBuy, size, price });
    if (kind === 'cancel') return native?.cancel(choose);
    if (kind === 'close') return native?.close(choose);
    return native?.open({ isLong: isBuy, size, copies, isAbandoned: kind === 'abandon' });
  }
  const facade = bots.facade[bot];
  if (kind === 'rest') return facade?.rest({ isBuy, size, price });
  if (kind === 'cancel') return facade?.cancel(choose);
  if (kind === 'close') return facade?.close({ isBuy, size });
  if (kind === 'leverage') return facade?.setLeverage(2 + Math.floor(choice * 18));
  if (kind === 'schedule') return facade?.scheduleCancel(6_000 + Math.floor(choice * 10_000));
  return facade?.open({ isBuy, size, copies });
}
