import type { Address } from '../core/ports.js';
import type { Fence } from '../core/relay/relayer.js';
import type { RelayJob } from '../core/relay/relay-store.js';
import type { Lease } from '../core/tracking/tracking-store.js';
import { createDelivery, type DeliveryOptions, type DeliverySettings } from './deliver.js';
import { createFence } from './fence.js';
import { createLookout } from './lookout.js';
import { refusalOf, type PolicySettings } from './policy.js';
import type { LaneWaits } from '../core/relay/lane-waits.js';

export interface LaneOptions extends Omit<DeliveryOptions, 'fence' | 'onNonceTooLow'> {
  readonly settings: DeliverySettings & PolicySettings & LaneWaits;
  /** It will never be sent: whoever counts on it has to know. */
  readonly onRefused: (job: RelayJob) => Promise<void>;
}

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

/** One wallet's transactions in the order of their nonces. One lane at a time works for a wallet, on whichever replica holds the lease. */
export function createLane(options: LaneOptions): Lane {
  const { definition, wallet, store, settings, clock, log, onStep, onRefused } = options;
  const { slug } = definition;
  const address: Address = wallet.address;
  const stopping = new AbortController();
  let wake = new AbortController();
  let lease: Lease | null = null;
  const fence = createFence({ slug, wallet: address, store, settings, clock, log });
  const delivery = createDelivery({ ...options, fence, onNonceTooLow: () => wake.abort() });
  const lookout = createLookout({ ...options, fence, delivery, paceMs: PACE_MS });

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await turn().catch(failed);
      if (lease) await fence.save().catch((error: unknown) => log.warn('relay.fence-not-told', { wallet: address, error }));
      // `stop` aborts it too: a signal made of two would be kept by the one that lives as long as the lane.
      if (!wake.signal.aborted) await clock.sleep(PACE_MS, wake.signal);
      wake = new AbortController();
    }
    await lease?.release().catch(() => undefined);
  }

  function failed(error: unknown): void {
    fence.meet('node', 'its node does not answer');
    log.warn('relay.lane-failed', { wallet: address, error });
  }

  async function owns(): Promise<boolean> {
    if (lease?.isHeld()) return true;
    if (lease) await lease.release().catch(() => undefined);
    lease = await store.lease(slug, address);
    if (lease === null) return false;
    fence.forget();
    lookout.forget();
    return true;
  }

  /** New jobs first: nothing they need has to be asked of the node. */
  async function turn(): Promise<void> {
    if (!(await owns())) return fence.adopt(await store.lane(slug, address));
    const isDue = lookout.isDue();
    const open = await store.open(slug, address);
    if (!lookout.hasLooked()) await lookout.lookAtChain(open);
    const sending: Promise<void>[] = [];
    for (const job of open) {
      const signed = job.nonce === null ? await beginOrSkip(job) : null;
      if (signed) sending.push(delivery.handOver(signed));
    }
    await Promise.all(sending);
    if (isDue) await lookout.look(open);
  }

  /** A job that cannot be judged or signed keeps nobody else waiting: it is tried again until its time is over. */
  async function beginOrSkip(job: RelayJob): Promise<RelayJob | null> {
    try {
      return await begin(job);
    } catch (error) {
      log.warn('relay.not-begun', { wallet: address, job: job.id, error });
      return null;
    }
  }

  /** A job without a number: the last moment at which it can still be refused without a trace on chain. Signed when it passes. */
  async function begin(job: RelayJob): Promise<RelayJob | null> {
    if (job.notAfter !== null && clock.now() > job.notAfter)
      return refuse(job, `its time was over before it could be sent${because(fence.now())}`);
    await delivery.currentFees().catch(failed);
    // A nonce taken by what cannot be sent would keep others waiting.
    if (fence.now() !== null) return null;
    const action = job.parent === null ? null : await store.action(slug, job.parent);
    const refusal = await refusalOf(job, action, settings);
    if (refusal !== null) return refuse(job, refusal);
    const numbered = await store.number(slug, job.id, lookout.chainNonce());
    return numbered && delivery.signFirst(numbered);
  }

  async function refuse(job: RelayJob, note: string): Promise<null> {
    const refused = await store.refuse(slug, job.id, note);
    if (!refused) return null;
    log.warn('relay.refused', { job: job.id, note });
    await onRefused(refused);
    onStep(refused);
    return null;
  }

  const done = run();
  return {
    wake: () => wake.abort(),
    look() {
      lookout.blockSeen();
      wake.abort();
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
