import type { Address } from '../core/types.js';
import type { Refusal, RelayJob, SignedAction, Fence } from '../core/ports/stores/relay.js';
import type { Lease } from '../core/ports/stores/tracking.js';
import { createDailyBudget } from './daily-budget.js';
import { createDelivery } from './deliver.js';
import type { LaneOptions } from './lane-options.js';
import { failureOf } from './failure.js';
import { createFence } from './fence.js';
import { createInHand } from './in-hand.js';
import { createLookout } from './lookout.js';
import { createOneAtATime } from './one-at-a-time.js';
import { refusalOf, type PolicySettings } from './policy.js';

export interface Lane {
  /** There is a new job. */
  wake(): void;
  /** There is a new block: the moment to look for receipts. */
  look(): void;
  trouble(): string | null;
  fence(): Fence | null;
  stop(): Promise<void>;
}

const PACE_MS = 1_000;
/** Said beforehand: left alone, each signal would make up an error with a stack of its own. */
const WOKEN = 'woken';
/** Jobs that are numbered, signed and sent together. */
const AT_ONCE = 100;

/** One wallet's transactions in the order of their nonces. One lane at a time works for a wallet, on whichever replica holds the lease. */
export function createLane(options: LaneOptions): Lane {
  const { definition, wallet, store, settings, clock, log, onRefused, dailyBudget = 'unlimited', budgetEvents = null } = options;
  const { slug } = definition;
  const address: Address = wallet.address;
  const stopping = new AbortController();
  let wake = new AbortController();
  let lease: Lease | null = null;
  /** Something of the wallet's was under way at the last turn: then a block is worth a turn of its own. */
  let isBusy = true;
  /** A look that is under way; sending does not wait for it. */
  let looking: Promise<void> | null = null;
  /** The transactions that are on their way to a node. */
  let handing: Promise<void> = Promise.resolve();
  const fence = createFence({ slug, wallet: address, store, settings, clock, log });
  const budget = createDailyBudget({ setting: dailyBudget, slug, wallet: address, store, events: budgetEvents, clock, log });
  const onStep = (job: RelayJob): void => {
    budget.step(job);
    options.onStep(job);
  };
  const delivery = createDelivery({ ...options, onStep, fence, onNonceTooLow: () => wake.abort(WOKEN) });
  const [numbers, tellings, inHand] = [createOneAtATime(), createOneAtATime(), createInHand()];
  const isOurs = (): boolean => lease?.isHeld() === true;
  const lookout = createLookout({ ...options, onStep, fence, delivery, numbers, inHand, budget, isOurs, paceMs: PACE_MS });
  const policy: PolicySettings = { ...settings, afford: async (job) => budget.refusal(await delivery.maxCost(job)) };

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await turn().catch(failed);
      await tellFence();
      // `stop` aborts it too: a signal made of two would be kept by the one that lives as long as the lane.
      if (!wake.signal.aborted) await clock.sleep(PACE_MS, wake.signal);
      wake = new AbortController();
    }
    await Promise.all([looking, handing]);
    await lease?.release().catch(() => undefined);
  }

  /** Who lost the lane meanwhile has nothing to say about it. */
  async function tellFence(): Promise<void> {
    await tellings(async () => {
      if (isOurs()) await fence.save();
    }).catch((error: unknown) => log.warn('relay.fence-not-told', { wallet: address, error }));
  }

  function failed(error: unknown): void {
    fence.meet('node', failureOf(error));
    log.warn('relay.lane-failed', { wallet: address, error });
  }

  async function owns(): Promise<boolean> {
    if (isOurs()) return true;
    await Promise.all([looking, handing]);
    if (lease) await lease.release().catch(() => undefined);
    lease = await store.lease(slug, address);
    if (lease === null) return false;
    fence.forget();
    lookout.forget();
    budget.forget();
    return true;
  }

  /** New jobs wait for no look: nothing they need has to be asked of the node. */
  async function turn(): Promise<void> {
    if (!(await owns())) {
      isBusy = false;
      return fence.adopt(await store.lane(slug, address));
    }
    if (!lookout.hasLooked()) await lookout.lookAtChain(await store.open(slug, address));
    if (lookout.isDue()) looking ??= lookBeside();
    for (let isMore = true; isMore;) isMore = await beginSome();
  }

  /** What begins meanwhile makes the lane busy again. */
  async function lookBeside(): Promise<void> {
    isBusy = false;
    const isOpen = await lookout.look().catch(failed);
    if (isOpen !== false) isBusy = true;
    await tellFence();
    looking = null;
    // A block may have come meanwhile, and what is mined makes room for what its trader has in the queue. After a failure the next turn is soon enough.
    if (isOpen === true || (isOpen !== undefined && lookout.isDue())) wakeIfBusy();
  }

  function wakeIfBusy(): void {
    if (isBusy) wake.abort(WOKEN);
  }

  /** Jobs without a number, in the order they came, many of them in one go; true when there may be more. */
  async function beginSome(): Promise<boolean> {
    const queued = await store.queued(slug, address, AT_ONCE);
    if (queued.length === 0) return false;
    isBusy = true;
    await delivery.currentFees().catch(failed);
    // Whether those on their way get through is worth knowing then.
    if (fence.trouble() !== null) await handing;
    const passed = await judge(queued);
    if (passed.length > 0) await begin(passed);
    // Where one stays behind it would only be found again: the next turn tries it once more.
    return queued.length === AT_ONCE && passed.length === queued.length;
  }

  /** Until they are signed, and those before them are in the hands of a node: while these go there, the next are made ready. */
  async function begin(passed: readonly bigint[]): Promise<void> {
    const before = handing;
    const signed = giveNumbers(passed).then((numbered) => delivery.signFirst(numbered));
    const send = async (): Promise<void> => {
      const ready = await signed.catch(() => []);
      await before;
      // Whoever holds the lane now finds them signed.
      if (isOurs()) await delivery.handFirst(ready);
    };
    handing = inHand.hold(passed, send).catch(failed);
    await signed;
    await before;
  }

  /** What got none is not paid for: its trader canceled it after it was judged, or the database failed and it is judged again. */
  async function giveNumbers(passed: readonly bigint[]): Promise<RelayJob[]> {
    let numbered: RelayJob[] = [];
    try {
      numbered = await numbers(() => store.number(slug, address, passed, lookout.leastNonce()));
      return numbered;
    } finally {
      const given = new Set(numbered.map(({ id }) => id));
      budget.release(passed.filter((id) => !given.has(id)));
    }
  }

  /** Those that may be signed. A trader's are judged one after the other: what one is allowed depends on those before it. */
  async function judge(queued: readonly RelayJob[]): Promise<bigint[]> {
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

  /** A job that cannot be judged keeps nobody else waiting: it is tried again until its time is over. */
  async function passes(job: RelayJob, actions: ReadonlyMap<bigint, SignedAction>): Promise<boolean> {
    try {
      if (job.notAfter !== null && clock.now() > job.notAfter)
        return await refuse(job, { reason: 'too-late', note: `its time was over before it could be sent${because(fence.now())}` });
      // A nonce taken by what cannot be sent would keep others waiting.
      if (fence.now() !== null || fence.has('nonce')) return false;
      const refusal = await refusalOf(job, (job.parent === null ? null : actions.get(job.parent)) ?? null, policy);
      if (refusal !== null) return await refuse(job, refusal);
      budget.begin(job.id, await delivery.maxCost(job));
      return true;
    } catch (error) {
      log.warn('relay.not-begun', { wallet: address, job: job.id, error });
      return false;
    }
  }

  /** The last moment at which it leaves no trace on chain. */
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
    wake: () => wake.abort(WOKEN),
    look() {
      lookout.blockSeen();
      wakeIfBusy();
    },
    trouble: () => fence.trouble(),
    fence: () => fence.now(),
    async stop() {
      stopping.abort();
      wake.abort();
      await done;
    },
  };
}

const because = (fence: Fence | null): string => (fence === null ? '' : `: ${fence.reason}`);
