import type { Address, Cancel } from '../core/types.js';
import { createKnownByLooks } from '../core/domain/known-by-looks.js';
import type { QueuedJob, Relayer, RequestToSend } from '../core/ports/relayer.js';
import type { OrdersStore } from '../core/ports/stores/orders.js';
import { isOver, type RelayJob, type RelayPurpose, type RelayRequest } from '../core/ports/stores/relay.js';
import { SWITCH_MODES, type RelaySwitch, type SwitchStore, type WalletMode } from '../core/ports/stores/switches.js';
import { createLane, type Lane } from './lane.js';
import type { LaneOptions } from './lane-options.js';
import { createAssignment } from './wallet-assignment.js';
import type { Wallet } from './wallet.js';
import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';

export interface RelayerOptions extends Omit<LaneOptions, 'wallet' | 'onStep'> {
  /** At least one; the first one is published. */
  readonly wallets: readonly Wallet[];
  /** The trader's delegate on chain: a trader that has delegated to one of our wallets keeps it. */
  readonly delegateOf: (trader: Address) => Promise<Address | null>;
  /** Switches set by the operator; without them every wallet runs. */
  readonly switches?: SwitchStore | null;
  readonly areDrillsAllowed?: boolean;
}

export interface RunningRelayer extends Relayer {
  /** Before `start`, jobs are stored but not sent. */
  start(): void;
  stop(): Promise<void>;
}

/** A job that callers wait for; all of its callers share one promise. */
interface Waiting {
  readonly job: RelayJob;
  readonly over: Promise<RelayJob>;
  readonly finish: (job: RelayJob) => void;
}

const WATCH_MS = 250;
/** How often is checked whether looks at what is due still come. */
const CHECK_LOOKS_MS = 1_000;
/** One read on a connection that does not answer takes many seconds; the next goes on beside it, as with looks. */
const READS_AT_ONCE = 2;
/** Longer than any reply to a client is delayed. */
const WAIT_AT_MOST_MS = 10_000;

/** All wallets of one chain. */
export function createRelayer(options: RelayerOptions): RunningRelayer {
  const { wallets, delegateOf, switches = null, areDrillsAllowed = false, ...parts } = options;
  const { store, clock, log, definition } = parts;
  const { slug } = definition;
  const waiting = new Map<bigint, Waiting>();
  let stopWatching: Cancel = () => undefined;
  let isWatching = false;
  /** Of the switches and jobs that other replicas store. */
  const looks = createKnownByLooks();
  let stopChecking: Cancel = () => undefined;
  const reading = new Set<Promise<void>>();
  const onStep = (job: RelayJob): void => {
    if (isHandedOver(job)) waiting.get(job.id)?.finish(job);
  };
  const lanes = new Map<Address, Lane>();
  const addresses = wallets.map(({ address }) => address);

  const modes = createWalletModes({ store: switches, slug, clock, log });
  const walletMode = (wallet: Address): WalletMode => modes.of(wallet);
  const walletFor = createAssignment({ slug, addresses, store, moves: switches, walletMode, delegateOf, clock });
  /** A clause without a full stop: it becomes part of a refusal's reason. */
  const hold = (wallet: Address): string | null => {
    const { mode, reason } = walletMode(wallet);
    return mode === 'paused' ? `the relayer is paused by its operator${reason === null ? '' : `: ${reason}`}` : null;
  };
  let isStopped = false;

  function startLanes(): void {
    if (isStopped) return;
    const settings = { ...parts.settings, hold };
    for (const wallet of wallets) lanes.set(wallet.address, createLane({ ...parts, settings, wallet, onStep }));
    looks.beginRead(clock.monotonic());
    stopChecking = clock.every(CHECK_LOOKS_MS, () => {
      if (reading.size >= READS_AT_ONCE || !looks.beginRead(clock.monotonic())) return;
      const begun = readWithoutLooks().finally(() => reading.delete(begun));
      reading.add(begun);
    });
  }

  /** For as long as no look at what is due is answered. The switches come first: a job that was stored after a pause must not be sent before it. */
  async function readWithoutLooks(): Promise<void> {
    try {
      await modes.refresh();
      for (const lane of lanes.values()) lane.hasJobs();
    } catch (error) {
      log.warn('relay.switches-unknown', { error });
    }
  }

  /** Resolves when a node accepted the job or it was refused, and at the latest after WAIT_AT_MOST_MS or when the relayer stops. */
  function handedOver(job: RelayJob): Promise<RelayJob> {
    const known = waiting.get(job.id);
    if (known) return known.over;
    let resolve: (last: RelayJob) => void = () => undefined;
    const over = new Promise<RelayJob>((done) => (resolve = done));
    const finish = (last: RelayJob): void => {
      stopTimer();
      waiting.delete(job.id);
      if (waiting.size === 0) stopWatching();
      resolve(last);
    };
    const stopTimer = clock.after(WAIT_AT_MOST_MS, () => finish(job));
    waiting.set(job.id, { job, over, finish });
    if (waiting.size === 1) stopWatching = clock.every(WATCH_MS, watch);
    return over;
  }

  function follow(job: RelayJob): QueuedJob {
    const over = handedOver(job);
    lanes.get(job.wallet)?.wake();
    return { job, handedOver: over };
  }

  async function addressed(request: RequestToSend): Promise<RelayRequest> {
    if (request.trader === null) throw new Error('The facade sends for traders only.');
    return { ...request, chain: slug, wallet: request.wallet ?? (await walletFor(request.trader)) };
  }

  /** Another replica may own the lane, so stored states are polled as well, with one query for all waiting jobs. */
  function watch(): void {
    if (isWatching) return;
    isWatching = true;
    store
      .jobs(slug, [...waiting.keys()])
      .then((jobs) => jobs.forEach(onStep))
      .catch((error: unknown) => log.warn('relay.watch-failed', { error }))
      .finally(() => (isWatching = false));
  }

  return {
    start() {
      // The stored switches are read first: a relayer that was paused before a restart stays paused.
      void modes.start().then(startLanes);
    },
    wallets: () => [...addresses].sort((a, b) => Number(walletMode(a).isRetiring) - Number(walletMode(b).isRetiring)),
    walletFor,
    walletMode,
    lookAtSwitches: () => modes.refresh(),
    dailyBudget: () => parts.dailyBudget ?? 'unlimited',
    areDrillsAllowed: () => areDrillsAllowed,
    async send({ isOnce = false, ...request }) {
      const queued = await addressed(request);
      return follow(isOnce ? (await store.queueOnce(queued, clock.now())).job : await store.queue(queued, clock.now()));
    },
    async sendAmend(request, amendment) {
      const queued = await store.queueAmend(await addressed(request), amendment, clock.now());
      return queued === null || queued === 'cloid-taken' ? queued : { ...follow(queued.job), oid: queued.oid };
    },
    async place(relayed) {
      const placed = await store.placeAndQueue(relayed);
      return placed.kind === 'placed' ? { ...placed, jobs: placed.jobs.map(follow) } : placed;
    },
    trouble: (wallet) => lanes.get(wallet)?.trouble() ?? null,
    laneProblem: (wallet) => lanes.get(wallet)?.problem() ?? null,
    lanes: () => Promise.all(addresses.map((wallet) => store.lane(slug, wallet))),
    onHead: () => lanes.forEach((lane) => lane.look()),
    onDue({ askedAt, due }) {
      looks.takeLook(askedAt);
      modes.take(due.switches, askedAt);
      for (const wallet of due.busyWallets) lanes.get(wallet)?.hasJobs();
      for (const [wallet, lane] of lanes) lane.ownerStored(due.laneProblems.find((problem) => problem.wallet === wallet) ?? null, askedAt);
    },
    async stop() {
      isStopped = true;
      modes.stop();
      stopChecking();
      await Promise.all([...reading, ...[...lanes.values()].map((lane) => lane.stop())]);
      for (const { job, finish } of [...waiting.values()]) finish(job);
    },
  };
}

/** A reclaim names the order it reclaims; jobs of these purposes name an order of their own. */
const MAKES_ORDERS: ReadonlySet<RelayPurpose> = new Set(['action', 'scheduled-cancel']);

/** Stores with the orders what becomes of their jobs. */
export const followOrders = (
  orders: Pick<OrdersStore, 'giveUp' | 'recordHashes'>,
  slug: ChainSlug,
  clock: Clock,
): Pick<LaneOptions, 'onSigned' | 'onRefused'> => ({
  async onRefused({ orderId, purpose, trader }) {
    if (orderId !== null && trader !== null && MAKES_ORDERS.has(purpose)) await orders.giveUp(slug, trader, orderId, clock.now());
  },
  async onSigned(signed) {
    const sent = signed.flatMap(({ job: { orderId, purpose }, hash }) =>
      orderId !== null && MAKES_ORDERS.has(purpose) ? [{ id: orderId, hash }] : [],
    );
    await orders.recordHashes(slug, sent, clock.now());
  },
});

const isHandedOver = ({ state }: RelayJob): boolean => state === 'accepted' || isOver(state);

/** A cached copy of a chain's switches, so that reading them needs no database query. */
interface WalletModes {
  of(wallet: Address): WalletMode;
  /** Resolves when the switches are loaded: before that nothing may be signed. */
  start(): Promise<void>;
  refresh(): Promise<void>;
  /** Switches that were read for another reason. */
  take(read: readonly RelaySwitch[], askedAt: number): void;
  stop(): void;
}

/** Pause between two tries while the switches cannot be read at the start. */
const AGAIN_MS = 1_000;

interface WalletModesOptions {
  /** Null: there are no switches, and every wallet runs. */
  readonly store: SwitchStore | null;
  readonly slug: ChainSlug;
  readonly clock: Clock;
  readonly log: Logger;
}

function createWalletModes({ store, slug, clock, log }: WalletModesOptions): WalletModes {
  const stopping = new AbortController();
  let switches: readonly RelaySwitch[] = [];
  /** When the query was sent that brought the current switches. */
  let knownAsOf = Number.NEGATIVE_INFINITY;
  const isKnown = (): boolean => knownAsOf > Number.NEGATIVE_INFINITY;

  /** Replies may arrive out of order; the one to the latest query counts. */
  async function refresh(): Promise<void> {
    const askedAt = clock.monotonic();
    const read = (await store?.all(slug)) ?? [];
    if (askedAt < knownAsOf) return;
    knownAsOf = askedAt;
    switches = read;
  }

  async function start(): Promise<void> {
    while (!isKnown() && !stopping.signal.aborted) {
      await refresh().catch((error: unknown) => log.warn('relay.switches-unknown', { error }));
      if (!isKnown()) await clock.sleep(AGAIN_MS, stopping.signal);
    }
  }

  return {
    of: (wallet) => walletModeOf(switches, wallet),
    start,
    refresh,
    take(read, askedAt) {
      // A change of this replica is read by `refresh`, which may have been asked at the same moment and counts more.
      if (store === null || askedAt <= knownAsOf) return;
      knownAsOf = askedAt;
      switches = read;
    },
    stop: () => stopping.abort(),
  };
}

const RUNNING: WalletMode = { mode: 'running', reason: null, isRetiring: false, changedAt: null };

const strictness = ({ mode }: Pick<WalletMode, 'mode'>): number => SWITCH_MODES.indexOf(mode);

/** The stricter of the wallet's and its chain's switch applies. */
function walletModeOf(switches: readonly RelaySwitch[], wallet: Address): WalletMode {
  const own = switches.find((each) => each.wallet === wallet) ?? RUNNING;
  const chains = switches.find((each) => each.wallet === null) ?? RUNNING;
  const { mode, reason, changedAt } = strictness(chains) >= strictness(own) ? chains : own;
  return { mode, reason, isRetiring: own.isRetiring, changedAt };
}
