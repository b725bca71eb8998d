import type { Address } from '../core/types.js';
import { createKnownByLooks, TRY_AGAIN_MS } from '../core/domain/known-by-looks.js';
import type { Refusal, RelayJob, SignedAction, LaneProblem } from '../core/ports/stores/relay.js';
import type { Lease } from '../core/ports/stores/tracking.js';
import { createDailyBudget } from './daily-budget.js';
import { createDelivery, failureOf } from './deliver.js';
import type { LaneOptions } from './lane-options.js';
import { createLaneProblems } from './lane-problems.js';
import { createChainReconciler, createInFlightJobs } from './chain-reconciler.js';
import { createLostCommits } from './lost-commits.js';
import { isUncompared } from './foreign-transactions.js';
import { createMutex } from './mutex.js';
import { createJobCheck } from './job-check.js';
import { createSigner, HeldError, requireNotHeld } from './signer.js';

export interface Lane {
  /** Called when there is a new job. */
  wake(): void;
  /** Called when the store has open jobs of the wallet, or may have some: another replica may have queued them. */
  hasJobs(): void;
  /** Called when there is a new block, to check for receipts. */
  look(): void;
  /** What the lane's owner had stored when it was read; this replica adopts it unless it owns the lane. `askedAt`: monotonic ms before that. */
  ownerStored(problem: LaneProblem | null, askedAt: number): void;
  trouble(): string | null;
  problem(): LaneProblem | null;
  stop(): Promise<void>;
}

const PACE_MS = 1_000;
/** One constant abort reason: without it each abort would create an error with a stack. */
const WOKEN = 'woken';
/** Jobs that get nonces, are signed and are sent in one batch. */
const AT_ONCE = 100;

/** Sends one wallet's transactions in nonce order. Only the replica that holds the wallet's lease runs the lane. */
export function createLane({ wallet, ...options }: LaneOptions): Lane {
  const { definition, store, settings, clock, log, onRefused, dailyBudget = 'unlimited', budgetEvents = null } = options;
  const { slug } = definition;
  const { address }: { readonly address: Address } = wallet;
  const stopping = new AbortController();
  let wake = new AbortController();
  let lease: Lease | null = null;
  /** What the replica stored that owns the lane; not known while none but this one is known to own it. */
  const owners = createKnownByLooks();
  /** Jobs were open at the last turn: then each block triggers a turn. */
  let isBusy = true;
  /** There may be queued jobs. Without a reason to expect some, the store is not asked. */
  let mayHaveQueued = true;
  /** A running chain check; sending does not wait for it. */
  let looking: Promise<void> | null = null;
  /** Transactions that are being sent to a node. */
  let sending: Promise<void> = Promise.resolve();
  const problems = createLaneProblems({ slug, wallet: address, store, settings, clock, log });
  const budget = createDailyBudget({ setting: dailyBudget, slug, wallet: address, store, events: budgetEvents, clock, log });
  const onStep = (job: RelayJob): void => {
    budget.step(job);
    options.onStep(job);
  };
  const check = createJobCheck({
    ...{ definition, wallet: address, store, onForged: options.onForged },
    settings: { ...settings, afford: async (job) => budget.refusal(job.id, await delivery.maxCost(job)) },
  });
  const lost = createLostCommits({ ...options, onStep, signer: { address }, problems });
  const { held, judgeForeign } = lost;
  const signer = createSigner({ wallet, definition, settings, check, held });
  const parts = { ...options, signer, onStep, problems, budget, held, judgeForeign };
  const delivery = createDelivery({ ...parts, onNonceTooLow: () => wake.abort(WOKEN) });
  const [nonceMutex, healthMutex, inFlight] = [createMutex(), createMutex(), createInFlightJobs()];
  const isOurs = (): boolean => lease?.isHeld() === true;
  const reconciler = createChainReconciler({ ...parts, delivery, check, nonceMutex, inFlight, isOurs, paceMs: PACE_MS });

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const restMs = await turn().catch((error: unknown) => {
        failed(error);
        return PACE_MS;
      });
      await saveHealth();
      // `stop` aborts `wake` too: a combined signal would be retained by the one that lives as long as the lane.
      if (!wake.signal.aborted) await clock.sleep(restMs, wake.signal);
      wake = new AbortController();
    }
    await Promise.all([looking, sending]);
    await lease?.release().catch(() => undefined);
  }

  /** Only the lease holder may store lane health; a stale owner would overwrite the new owner's state. */
  async function saveHealth(): Promise<void> {
    await healthMutex(async () => {
      if (isOurs()) await problems.save();
    }).catch((error: unknown) => log.warn('relay.lane-health-not-stored', { wallet: address, error }));
  }

  function failed(error: unknown): void {
    mayHaveQueued = true;
    // A replica that cannot try for the lane does not know of an owner; what was stored last must not hide the failure.
    owners.forget();
    if (error instanceof HeldError || held() !== null) return;
    problems.report('node', failureOf(error));
    log.warn('relay.lane-failed', { wallet: address, error });
  }

  async function owns(): Promise<boolean> {
    if (isOurs()) return true;
    await Promise.all([looking, sending]);
    if (lease) await lease.release().catch(() => undefined);
    lease = await store.lease(slug, address, stopping.signal);
    if (lease === null) return false;
    owners.forget();
    problems.forget();
    reconciler.forget();
    budget.forget();
    mayHaveQueued = true;
    return true;
  }

  /** The row is read when another replica turns out to be the owner; later the look at what is due brings it. */
  async function waitForOwner(): Promise<void> {
    isBusy = false;
    const askedAt = clock.monotonic();
    if (stopping.signal.aborted || !owners.beginRead(askedAt)) return;
    const { since, reason } = await store.lane(slug, address);
    ownerStored(since === null ? null : { since, reason: reason ?? 'it cannot send' }, askedAt);
  }

  function ownerStored(problem: LaneProblem | null, askedAt: number): void {
    if (owners.takeLook(askedAt)) problems.adopt(problem);
  }

  /** New jobs do not wait for a chain check: they need nothing from the node. Returns how long to rest. */
  async function turn(): Promise<number> {
    if (!(await owns())) {
      await waitForOwner();
      return TRY_AGAIN_MS;
    }
    if (!(await lost.settle())) return PACE_MS;
    if (!reconciler.hasChecked()) await reconciler.checkChain(await store.open(slug, address));
    const hasReason = mayHaveQueued || isBusy;
    mayHaveQueued = false;
    if (reconciler.isDue(hasReason)) looking ??= lookInBackground();
    for (let isMore = hasReason; isMore;) isMore = await beginSome();
    return PACE_MS;
  }

  /** Jobs that start meanwhile set `isBusy` again. */
  async function lookInBackground(): Promise<void> {
    isBusy = false;
    const isOpen = await reconciler.reconcile().catch(failed);
    if (isOpen !== false) isBusy = true;
    await saveHealth();
    looking = null;
    // Another block may have arrived, and mined jobs free quota for the trader's queued ones. After a failure the next regular turn is enough.
    if (isOpen === true || (isOpen !== undefined && reconciler.isDue(isBusy))) wakeIfBusy();
  }

  function wakeIfBusy(): void {
    if (isBusy) wake.abort(WOKEN);
  }

  function expectQueued(): void {
    mayHaveQueued = true;
    wake.abort(WOKEN);
  }

  /** Starts queued jobs in order, up to AT_ONCE in one batch; true if there may be more. */
  async function beginSome(): Promise<boolean> {
    const queued = await store.queued(slug, address, AT_ONCE);
    if (queued.length === 0) return false;
    isBusy = true;
    mayHaveQueued = true;
    await delivery.currentFees().catch(failed);
    // The result of the transactions being sent shows whether the problem persists.
    if (problems.trouble() !== null) await sending;
    const passed = await checkPolicy(queued);
    if (passed.length > 0) await begin(passed);
    // A job that did not pass would only be read again: the next turn retries it.
    return queued.length === AT_ONCE && passed.length === queued.length;
  }

  /** Resolves when these jobs are signed and the previous batch is sent; sending this batch overlaps with preparing the next. */
  async function begin(passed: readonly bigint[]): Promise<void> {
    const before = sending;
    const signed = number(passed).then((withNonce) => delivery.signFirst(withNonce));
    const send = async (): Promise<void> => {
      const ready = await signed.catch(() => []);
      await before;
      // If the lease was lost, the new owner sends the signed attempts.
      if (isOurs()) await delivery.handFirst(ready);
    };
    sending = inFlight.hold(passed, send).catch(failed);
    await signed;
    await before;
  }

  /** Releases the budget of jobs that got no nonce: either they were canceled after the check, or the database failed and they are retried. */
  async function number(passed: readonly bigint[]): Promise<RelayJob[]> {
    let withNonce: RelayJob[] = [];
    try {
      withNonce = await nonceMutex(() => {
        requireNotHeld(held);
        return store.assignNonces(slug, address, passed, reconciler.minNonce());
      });
      return withNonce;
    } finally {
      const given = new Set(withNonce.map(({ id }) => id));
      budget.release(passed.filter((id) => !given.has(id)));
    }
  }

  /** Returns the ids of jobs that pass the signing policy. Jobs of one trader are checked in order because quotas depend on earlier jobs. */
  async function checkPolicy(queued: readonly RelayJob[]): Promise<bigint[]> {
    const parents = [...new Set(queued.flatMap(({ parent }) => parent ?? []))];
    const actions = new Map((await store.actions(slug, parents)).map((action) => [action.id, action]));
    const byTrader = new Map<Address | null, RelayJob[]>();
    for (const job of queued) byTrader.set(job.trader, [...(byTrader.get(job.trader) ?? []), job]);
    const passed: bigint[] = [];
    const judgeInOrder = async (jobs: readonly RelayJob[]): Promise<void> => {
      for (const job of jobs) if (await passes(job, actions)) passed.push(job.id);
    };
    await Promise.all([...byTrader.values()].map(judgeInOrder));
    return passed;
  }

  /** A job whose check fails with an error does not block others: it is retried until it expires. */
  async function passes(job: RelayJob, actions: ReadonlyMap<bigint, SignedAction>): Promise<boolean> {
    try {
      if (job.notAfter !== null && clock.now() > job.notAfter)
        return await refuse(job, { reason: 'too-late', note: `its time was over before it could be sent${because(problems.now())}` });
      // A job that cannot be sent must not take a nonce: it would block later ones.
      if (isUncompared(job) || problems.now() !== null || problems.has('nonce') || held() !== null || settings.isUncertain?.() === true)
        return false;
      const refusal = await check.begin(job, (job.parent === null ? null : actions.get(job.parent)) ?? null);
      if (refusal !== null) {
        budget.release([job.id]);
        return await refuse(job, refusal);
      }
      // Closes and cancels too, which the budget does not refuse: they leave less for openings.
      budget.begin(job.id, await delivery.maxCost(job));
      return true;
    } catch (error) {
      budget.release([job.id]);
      log.warn('relay.not-begun', { wallet: address, job: job.id, error });
      return false;
    }
  }

  /** Refuses a job before it has a nonce, so that it leaves no trace on chain. */
  async function refuse(job: RelayJob, refusal: Refusal): Promise<false> {
    const refused = await store.refuse(slug, job.id, refusal);
    if (!refused) return false;
    log.warn('relay.refused', { job: job.id, ...refusal });
    await onRefused(refused);
    onStep(refused);
    return false;
  }

  const done = run();
  return {
    wake: expectQueued,
    hasJobs() {
      if (isOurs() && !isBusy) expectQueued();
    },
    look() {
      reconciler.blockSeen();
      wakeIfBusy();
    },
    ownerStored,
    trouble: () => problems.trouble(),
    problem: () => problems.now(),
    async stop() {
      stopping.abort();
      wake.abort();
      await done;
    },
  };
}

const because = (problem: LaneProblem | null): string => (problem === null ? '' : `: ${problem.reason}`);
