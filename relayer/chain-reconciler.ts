import type { RelayJob } from '../core/ports/stores/relay.js';
import { allDone, type Delivery } from './deliver.js';
import type { DailyBudget } from './daily-budget.js';
import type { LaneProblems } from './lane-problems.js';
import { createChainCount, type Counted } from './chain-count.js';
import { firstFees } from './fees.js';
import type { JobCheck } from './job-check.js';
import type { LaneOptions } from './lane-options.js';
import { compareWithChain, isUncompared, stopForForeign } from './foreign-transactions.js';
import type { Mutex } from './mutex.js';
import { confirmReceipts, type ReceiptMemory } from './confirm-receipts.js';
import { recallUsed } from './recall-used.js';
import { CheckError, NO_OP_GAS, requireNotHeld, type Signer } from './signer.js';

export interface ChainReconcilerOptions extends Omit<LaneOptions, 'wallet'> {
  readonly signer: Pick<Signer, 'address'>;
  readonly check: Pick<JobCheck, 'forgetAllBut'>;
  readonly problems: LaneProblems;
  readonly delivery: Delivery;
  /** Mutex: nonces are assigned and reset by one task at a time. */
  readonly nonceMutex: Mutex;
  readonly inFlight: InFlightJobs;
  readonly budget: Pick<DailyBudget, 'refresh'>;
  readonly held: () => string | null;
  /** At the first check. Throws where transactions that are not stored prove that commits were lost. */
  readonly judgeForeign: (pending: number) => Promise<void>;
  readonly isOurs: () => boolean;
  readonly paceMs: number;
}

/** Reconciles a lane with the chain: receipts, nonce gaps, fees, funds, and the next step of each open job. */
export interface ChainReconciler {
  /** `mayHaveJobs`: without jobs the chain is checked less often. */
  isDue(mayHaveJobs: boolean): boolean;
  hasChecked(): boolean;
  /** No nonce below this is free, by the last accepted count. */
  minNonce(): number;
  blockSeen(): void;
  /** Runs beside the lane and skips jobs that are being started. True if jobs of the wallet are open. */
  reconcile(): Promise<boolean>;
  checkChain(open: readonly RelayJob[], begun?: ReadonlySet<bigint>): Promise<void>;
  /** Another replica owned the lane in the meantime. */
  forget(): void;
}

/** For this long after its last job a lane still checks with every block: a reorganisation may remove the job's block. */
const LOOK_BACK_MS = 120_000;
/** How often an idle lane checks whether it could send. */
const IDLE_MS = 15_000;
/** Roughly the gas of one order: a wallet that cannot pay for it counts as empty. */
const USUAL_GAS = 500_000n;
/** At most this many unassigned nonces are filled. A larger gap is no normal chain event, and the cost of no-ops must be bounded. */
const MOST_GAPS = 20;

export function createChainReconciler(options: ChainReconcilerOptions): ChainReconciler {
  const {
    definition,
    signer: wallet,
    node,
    store,
    settings,
    clock,
    log,
    onStep,
    problems,
    delivery,
    check,
    nonceMutex,
    inFlight,
    budget,
    isOurs,
    held,
    judgeForeign,
    paceMs,
  } = options;
  const { slug } = definition;
  const memory: ReceiptMemory = { doubts: new Map(), isOneBranch: false };
  const nextOfOurs = async (): Promise<number> => (await store.lane(slug, wallet.address)).nextNonce ?? 0;
  const count = createChainCount({ clock, doubtMs: settings.doubtMs, nextOfOurs });
  const startedAt = clock.now();
  /** The lane has its row: the wallet's earlier transactions are no gap. */
  let hasBegun = false;
  /** The node's last count, accepted or not. */
  let chainNonce: number | null = null;
  /** True after one complete check: before it the free nonces are not known. */
  let hasChecked = false;
  let isBlockSeen = true;
  let lookedAt = 0;
  let busyAt = 0;
  /** Since when the transaction with the next nonce on chain is open. */
  let waiting: { readonly nonce: number; readonly since: number } | null = null;

  async function reconcile(): Promise<boolean> {
    const begun = inFlight.fromNow();
    const open = await store.open(slug, wallet.address);
    if (open.length > 0) busyAt = clock.now();
    if (!isWorthIt(open.length > 0)) return false;
    isBlockSeen = false;
    lookedAt = clock.now();
    await delivery.renewFees();
    await checkChain(open, begun);
    const left = await store.open(slug, wallet.address);
    const kept = [...left.map(({ id }) => id), ...begun];
    delivery.forgetAllBut(kept);
    check.forgetAllBut(kept);
    judgeWait(left);
    if (!isOurs() || held() !== null) return false;
    await allDone(left.filter(({ id, nonce }) => nonce !== null && !begun.has(id)).map(push));
    return open.length > 0;
  }

  /** A job that cannot be checked now waits: nothing is wrong with the node, and the others go on. */
  async function push(job: RelayJob): Promise<void> {
    await delivery.push(job).catch((error: unknown) => {
      if (!(error instanceof CheckError)) throw error;
      log.warn('relay.not-checked', { wallet: wallet.address, job: job.id, error });
    });
  }

  function isWorthIt(hasJobs: boolean): boolean {
    if (hasJobs || problems.trouble() !== null) return true;
    const age = clock.now() - lookedAt;
    return age >= IDLE_MS || (age >= paceMs && clock.now() - busyAt < LOOK_BACK_MS);
  }

  function isDue(mayHaveJobs: boolean): boolean {
    // After the clock was set back, the last check lies in the future and does not count.
    if (chainNonce === null || clock.now() < lookedAt) return true;
    return (isBlockSeen || clock.now() - lookedAt >= paceMs) && isWorthIt(mayHaveJobs);
  }

  /** Receipts come first, because mined jobs need nothing more; then nonce gaps, which block all later nonces. */
  async function checkChain(open: readonly RelayJob[], begun: ReadonlySet<bigint> = new Set()): Promise<void> {
    const withNonce = open.filter(({ nonce }) => nonce !== null);
    const { nonce, pending, balance } = await node.account(wallet.address);
    chainNonce = nonce;
    const { doubtMs } = settings;
    const recall = (job: RelayJob): Promise<RelayJob | null> => recallUsed({ ...options, wallet: wallet.address }, job);
    await confirmReceipts({ store, node, slug, wallet: wallet.address, clock, log, onStep, memory, doubtMs, recall }, withNonce, nonce);
    await budget.refresh(balance, withNonce);
    const oddity = await alignNonces({ nonce, pending }, withNonce, begun);
    await compareWaiting({ nonce, pending }, open.filter(isUncompared));
    hasChecked = true;
    if (oddity === null) problems.clear('nonce');
    else problems.report('nonce', oddity);
    // Jobs started meanwhile may have recorded problems that this check cannot see; an accepted transaction clears them as well.
    const isQuiet = begun.size === 0 && !withNonce.some(isUnsent);
    if (isQuiet) problems.clear('node');
    await judgeFunds(isQuiet, balance);
  }

  /** Aligns the lane's nonces with the chain; returns what prevents it, as a clause for people. */
  async function alignNonces(counted: Counted, withNonce: readonly RelayJob[], begun: ReadonlySet<bigint>): Promise<string | null> {
    const { nonce } = counted;
    const { strangers, isDoubted } = await count.hear(counted, withNonce.at(-1)?.nonce ?? -1);
    if (strangers > 0 && !hasBegun) await judgeForeign(counted.pending);
    // An older database would take what was sent from here for foreign transactions.
    requireNotHeld(held);
    if (isDoubted) return `its node counts ${strangers} transactions of its wallet that were not sent from here`;
    // Before the count is believed: if this fails, the next check does it again.
    if (strangers > 0) {
      const found = { count: strangers, begun, arePending: counted.pending > nonce, ...(await firstJobs()) };
      await stopForForeign({ ...options, slug, wallet: wallet.address }, found);
    }
    if (!hasBegun) await store.beginLane(slug, wallet.address, nonce);
    hasBegun = true;
    count.believe(counted, strangers);
    if (withNonce.length > 0) return fillHoles(withNonce, nonce);
    await nonceMutex(() => store.resetLane(slug, wallet.address, nonce));
    return null;
  }

  /** Not before foreign transactions are mined or gone: until then the chain shows what they change as it was. */
  async function compareWaiting(counted: Counted, jobs: readonly RelayJob[]): Promise<void> {
    if (jobs.length > 0 && count.areOver(counted)) await compareWithChain({ ...options, slug, wallet: wallet.address }, jobs);
  }

  /** A database that does not know the wallet may be a new one, or a copy: what was in it before the start may have been sent. */
  async function firstJobs(): Promise<{ readonly queuedBefore?: number }> {
    const isNew = !hasBegun && (await store.lane(slug, wallet.address)).nextNonce === null;
    return isNew ? { queuedBefore: startedAt } : {};
  }

  async function fillHoles(withNonce: readonly RelayJob[], from: number): Promise<string | null> {
    const taken = new Set(withNonce.map((job) => job.nonce));
    const below = withNonce.at(-1)?.nonce ?? from;
    let isDense = true;
    for (let nonce = from; nonce < below && isDense; nonce += 1) isDense = taken.has(nonce);
    if (isDense) return null;
    const holes = await store.unusedNonces(slug, wallet.address, from, below);
    if (holes.filter(({ isGivenUp }) => !isGivenUp).length > MOST_GAPS)
      return `more than ${MOST_GAPS} nonces are missing between the chain's ${from} and its own ${below}`;
    for (const { nonce } of holes) {
      const filler = await store.fillGap(slug, wallet.address, nonce, NO_OP_GAS, clock.now());
      if (filler) log.warn('relay.gap-filled', { wallet: wallet.address, nonce, job: filler.id });
    }
    return null;
  }

  /** A lack of funds ends when the node accepts a transaction; if none is open, when the balance suffices. */
  async function judgeFunds(isQuiet: boolean, balance: bigint): Promise<void> {
    const usual = USUAL_GAS * firstFees(await delivery.currentFees(), settings).maxFeePerGas;
    if (balance < usual) problems.report('funds', `its wallet ${wallet.address} has too little to pay for gas`);
    else if (isQuiet && balance >= delivery.wanting()) problems.clear('funds');
  }

  /** Reports the lane as stuck if the next transaction on chain is ours and is not mined in time. */
  function judgeWait(open: readonly RelayJob[]): void {
    const next = open.find((job) => job.nonce !== null && job.nonce === chainNonce);
    if (!next || chainNonce === null) waiting = null;
    else if (waiting?.nonce !== chainNonce) waiting = { nonce: chainNonce, since: clock.now() };
    if (waiting === null || clock.now() - waiting.since < settings.jammedMs) return problems.clear('stuck');
    problems.report('stuck', `its transaction ${waiting.nonce} waits for a block`, waiting.since);
  }

  return {
    isDue,
    hasChecked: () => hasChecked,
    minNonce: () => count.believed(),
    blockSeen: () => void (isBlockSeen = true),
    reconcile,
    checkChain,
    forget() {
      [chainNonce, hasChecked] = [null, false];
      count.forget();
      waiting = null;
      memory.doubts.clear();
      memory.isOneBranch = false;
    },
  };
}

const isUnsent = ({ state }: RelayJob): boolean => state === 'assigned' || state === 'signed' || state === 'unknown';

/** Jobs that are being started; the chain reconciler skips them. */
interface InFlightJobs {
  hold<Result>(ids: readonly bigint[], work: () => Promise<Result>): Promise<Result>;
  /** A live set of the jobs held now or later, until the next call. Released jobs stay in it, because what was read of them may be stale. */
  fromNow(): ReadonlySet<bigint>;
}

export function createInFlightJobs(): InFlightJobs {
  const held = new Set<bigint>();
  let seen = new Set<bigint>();
  return {
    async hold(ids, work) {
      for (const id of ids) [held, seen].forEach((kept) => kept.add(id));
      try {
        return await work();
      } finally {
        for (const id of ids) held.delete(id);
      }
    },
    fromNow: () => (seen = new Set(held)),
  };
}
