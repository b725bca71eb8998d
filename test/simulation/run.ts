import { localSigner } from '../../sandbox/accounts.js';
import { nextDay } from '../../core/domain/relay/guardrails.js';
import type { Address } from '../../core/types.js';
import type { Random } from '../fuzz/random.js';
import { createRandom } from '../fuzz/random.js';
import { ask } from './clients/http-client.js';
import { createFacadeBot, type FacadeBot } from './clients/facade-bot.js';
import { createNativeBot, type NativeBot } from './clients/native-bot.js';
import { followStream, type StreamFollower } from './clients/stream-follower.js';
import { createClientRecord, START_PRICE, type ClientRecord, type Surroundings } from './clients/surroundings.js';
import type { BrokenBuild, Undo } from './broken-builds.js';
import type { SimulationServer } from './database-server.js';
import { BOT_KEYS, prepareChain, SECOND_WALLET } from './equipped-chain.js';
import { jobTransitions, watchOrderMachine } from './coverage.js';
import { placeLaterFacets } from './faults/contract-faults.js';
import { changesContract, type FaultKind } from './faults/fault-table.js';
import { injectFaults } from './faults/inject-faults.js';
import { checkInvariants } from './invariants/check-invariants.js';
import type { Violation } from './invariants/evidence.js';
import { watchJournal } from './invariants/journal-watch.js';
import type { LevelTerms } from './level-plan.js';
import { PREPARED_MS, STREAMS, type ClientAction, type Plan } from './plan.js';
import { createSimulatedClock, EPOCH } from './simulated-clock.js';
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
  readonly sabotage?: BrokenBuild['begin'];
}

const VARIABLES = {
  RATE_LIMIT_IP: '1000000',
  SOCKETS_PER_IP: '1000000',
  RATE_LIMIT_AGENT: '1000000',
  RATE_LIMIT_AGENT_WRITES: '1000000',
  FACADE_HOLD_MS: '4000',
  PREPARED_SECONDS: String(PREPARED_MS / 1_000),
};
const JOURNAL_LOOKS = 4;
const DEEPEST_REORGANISATION = 20;

export async function runPlan(options: RunOptions): Promise<RunReport> {
  const unhandled: string[] = [];
  const onUnhandled = (error: unknown): void =>
    void unhandled.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.on('unhandledRejection', onUnhandled);
  process.on('uncaughtException', onUnhandled);
  try {
    return await runWatched(options, unhandled);
  } finally {
    process.off('unhandledRejection', onUnhandled);
    process.off('uncaughtException', onUnhandled);
  }
}

async function runWatched({ server, plan, onLine, sabotage }: RunOptions, unhandled: readonly string[]): Promise<RunReport> {
  const { seed, latency } = plan;
  await prepareChain(server);
  const world = await openWorld({
    server,
    seed,
    replicas: plan.replicas,
    latency: (random) => () => (random.chance(latency.share) ? random.int(1, latency.mostMs) : 0),
    variables: { ...VARIABLES, FACADE_DAILY_TRANSACTIONS: String(plan.dailyTransactions) },
    hasHeadSubscription: plan.hasHeadSubscription,
    moreKeys: plan.wallets === 2 ? [SECOND_WALLET] : [],
    dailyBudget: plan.dailyBudget,
    startsLate: plan.startsLate,
    epoch: epochOf(plan),
    ...(onLine && { onLine }),
  });
  const orders = watchOrderMachine();
  let mend: Undo | null = null;
  try {
    if (sabotage) mend = await world.scheduler.drive(sabotage(world));
    const { scheduler } = world;
    const bots = await scheduler.drive(prepareBots(world, plan));
    const from = scheduler.now();
    const faults = injectFaults(world, plan, {
      random: createRandom(seed, STREAMS.faults),
      wallets: bots.relayerWallets.map(({ wallet }) => wallet),
    });
    const work = actOut(world, plan.actions, bots);
    faults.losses()?.onLoss(() => bots.record.replays.begin(createRandom(seed, STREAMS.replays)));
    const journal = watchJournal(world, faults.losses());
    for (let part = 1; part <= JOURNAL_LOOKS; part += 1) {
      await scheduler.runUntil(from + (plan.busyMs * part) / JOURNAL_LOOKS);
      await scheduler.drive(journal.look());
    }
    const notePhase = (over: string): void => scheduler.note(`phase ${over} ${scheduler.now() - from}`);
    await scheduler.drive(faults.healed(), 120_000);
    notePhase('healed');
    await scheduler.drive(work, 240_000);
    notePhase('acted');
    await scheduler.drive(journal.look());
    const violations = await checkInvariants({ world, bots, plan, faults, unhandled, journal });
    notePhase('judged');
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
    mend?.();
    orders.stop();
  }
}

/** A chain that has seen the days before goes on at any later date. */
const epochOf = ({ msToMidnight }: Plan): number => (msToMidnight === null ? EPOCH : nextDay(EPOCH) - msToMidnight);

/** A wallet of the relayer, with its wei and the block before the first order. */
export interface RelayerWallet {
  readonly wallet: Address;
  readonly block: number;
  readonly balance: bigint;
}

export interface Bots {
  readonly facade: readonly FacadeBot[];
  /** Those with an agent, then the wallets of the facade's traders. */
  readonly native: readonly NativeBot[];
  readonly record: ClientRecord;
  readonly followers: readonly StreamFollower[];
  readonly traders: readonly { readonly address: string; readonly privateKey: `0x${string}` }[];
  readonly relayerWallets: readonly RelayerWallet[];
}

/** In lower case, the one that traders delegate to first. */
function walletsOf({ venue }: World, plan: Plan): Address[] {
  const addresses = [venue.sandbox.controls.accounts.relayer.address, localSigner(SECOND_WALLET).address];
  return addresses.slice(0, plan.wallets).map((address) => address.toLowerCase() as Address);
}

async function prepareBots(world: World, plan: Plan): Promise<Bots> {
  const { scheduler, venue, network, replicas } = world;
  const clock = createSimulatedClock(scheduler, 'clients');
  const [chain] = venue.sandbox.controls.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const { prices } = venue.sandbox.controls;
  prices.jump(0, String(START_PRICE));
  const record = createClientRecord(clock);
  const random: Random = createRandom(plan.seed, STREAMS.clients);
  const around: Surroundings = {
    clock,
    chain,
    nodeUrl: chain.rpcUrl.replace('127.0.0.1', network.host('clients', 'venue')),
    urls: () => [...replicas.values()].map(({ url }) => url),
    random,
    record,
    arePatient: plan.arePatient === true,
  };
  const facade = BOT_KEYS.facade.map((keys, at) => createFacadeBot(around, `facade-${at}`, keys));
  const native = BOT_KEYS.native.map((keys, at) => createNativeBot(around, `native-${at}`, keys));
  // A wallet is its own agent.
  const wallets = BOT_KEYS.facade.map(({ trader }, at) => createNativeBot(around, `wallet-${at}`, { trader, agent: trader }));
  const usesWallet = (at: number): boolean => plan.actions.some(({ api, bot }) => api === 'native' && bot === native.length + at);
  const [, second] = walletsOf(world, plan);
  const [another] = BOT_KEYS.facade;
  if (second !== undefined && another !== undefined) await chain.faucet.equip(another.trader, { approve: false, delegate: second });
  await untilReady(around);
  await Promise.all([...facade.map((bot) => bot.approve()), ...native.map((bot) => bot.authorise())]);
  for (const wallet of wallets.filter((_, at) => usesWallet(at))) await wallet.authorise();
  const [own] = venue.sandbox.chains;
  if (own !== undefined && changesContract(plan.faults)) await placeLaterFacets(own.node);
  const block = Number(await chain.request('eth_blockNumber', []));
  // A reorganisation must not reach the deployment.
  await chain.mine(DEEPEST_REORGANISATION);
  const relayerWallets: RelayerWallet[] = [];
  for (const wallet of walletsOf(world, plan))
    relayerWallets.push({ wallet, block, balance: BigInt((await chain.request('eth_getBalance', [wallet, 'latest'])) as string) });
  return {
    facade,
    native: [...native, ...wallets],
    record,
    followers: BOT_KEYS.native.map((keys) => followStream(around, keys)),
    traders: [...BOT_KEYS.facade, ...BOT_KEYS.native].map(({ trader }, at) => ({
      address: [...facade, ...native][at]?.trader ?? '',
      privateKey: trader,
    })),
    relayerWallets,
  };
}

const READY_POLL_MS = 100;

async function untilReady({ clock, urls }: Surroundings): Promise<void> {
  for (const url of urls())
    while ((await ask(clock, { url: `${url}/ready`, method: 'GET' }))?.status !== 200) await clock.sleep(READY_POLL_MS);
}

/** Every bot does one thing after the other, as soon as the plan allows, except what it does without waiting. */
async function actOut({ scheduler }: World, actions: readonly ClientAction[], bots: Bots): Promise<void> {
  const clock = createSimulatedClock(scheduler, 'clients');
  const from = scheduler.now();
  const turns = new Map<string, Promise<void>>();
  for (const action of actions) {
    const who = `${action.api} ${action.bot}`;
    const begin = async (before: Promise<void> | undefined): Promise<void> => {
      await clock.sleep(from + action.at - scheduler.now());
      if (action.level?.isAtOnce !== true) await before;
      await act(action, bots);
      await before;
    };
    turns.set(who, begin(turns.get(who)));
  }
  await Promise.all(turns.values());
}

const COPIES = 3;
/** Far enough from the price to rest. */
const RESTING = { buy: 50_000, sell: 70_000 };
/** Shares of the price at which a take profit or a stop loss lies. */
const NEAREST_GUARD = 0.03;
const FARTHEST_GUARD = 0.06;

async function act({ api, bot, kind, isBuy, size, choice, level }: ClientAction, bots: Bots): Promise<void> {
  const choose = (count: number): number => Math.floor(choice * count);
  const price = String(isBuy ? RESTING.buy : RESTING.sell);
  const anotherPrice = (buys: boolean): string => String((buys ? RESTING.buy : RESTING.sell) + choose(20) * 100 - 1_000);
  const guard =
    level === undefined
      ? { isProfit: isBuy, distance: NEAREST_GUARD + choice * (FARTHEST_GUARD - NEAREST_GUARD) }
      : { isProfit: level.tpsl === 'tp', distance: level.distance };
  const times = kind === 'close-twice' ? 2 : 1;
  const copies = kind === 'open-copies' ? COPIES : 1;
  if (api === 'native') {
    const native = bots.native[bot];
    if (kind === 'rest') return native?.rest({ isLong: isBuy, size, price, ...(level && { levels: level.distance }) });
    if (kind === 'cancel') return native?.cancel(choose);
    if (kind === 'close' || kind === 'close-twice') return native?.close(choose, times);
    if (kind === 'guard') return native?.guard(choose, guard);
    if (kind === 'amend') return native?.amend(choose, anotherPrice, level?.distance);
    if (kind === 'protect') return native?.protect();
    if (kind === 'resume') return native?.resume(choose, isBuy);
    if (kind === 'abandon' && choose(2) === 1) return native?.rest({ isLong: isBuy, size, price, fate: 'left' });
    const fate = kind === 'abandon' ? 'left' : kind === 'starve' ? 'starved' : 'sent';
    return native?.open({ isLong: isBuy, size, copies, fate });
  }
  const facade = bots.facade[bot];
  if (level !== undefined && facade !== undefined) return actOnLevels(facade, { kind, isBuy, size, level, choose });
  if (kind === 'rest') return facade?.rest({ isBuy, size, price });
  if (kind === 'cancel') return facade?.cancel(choose);
  if (kind === 'close' || kind === 'close-twice') return facade?.close({ isBuy, size, times });
  if (kind === 'guard') return facade?.guard(guard);
  if (kind === 'modify') return facade?.modify(choose, { price: anotherPrice, size: isBuy ? null : size });
  if (kind === 'leverage') return facade?.setLeverage(2 + Math.floor(choice * 18));
  if (kind === 'schedule') return facade?.scheduleCancel(6_000 + Math.floor(choice * 10_000));
  return facade?.open({ isBuy, size, copies });
}

type LevelAction = Pick<ClientAction, 'kind' | 'isBuy' | 'size'> & {
  readonly level: LevelTerms;
  readonly choose: (count: number) => number;
};

async function actOnLevels(bot: FacadeBot, { kind, isBuy, size, level, choose }: LevelAction): Promise<void> {
  if (kind === 'open-same-side') return bot.openSameSide({ isBuy, size });
  if (kind === 'open-with-levels') return bot.openWithLevels({ isBuy, size, distance: level.distance });
  if (kind === 'rest-with-levels') return bot.restWithLevels({ isBuy, size, terms: level });
  if (kind === 'change-rest') return bot.changeRest(level, choose);
  if (kind === 'cancel-rest') return bot.cancelRest(level, choose);
  if (kind === 'set-level') return bot.setLevel(level, choose);
  if (kind === 'change-level') return bot.changeLevel(level, choose);
  if (kind === 'cancel-level') return bot.cancelLevel(level, choose);
  if (kind === 'list-levels') return bot.listLevels(level, choose);
  if (kind === 'close-oldest') return bot.closeOldest();
  return bot.takeMargin();
}
