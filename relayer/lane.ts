import type { Fence } from '../core/relay/relayer.js';
import type { RelayJob } from '../core/relay/relay-store.js';
import type { Lease } from '../core/tracking/tracking-store.js';
import { createDelivery, NO_OP_GAS, type DeliveryOptions, type DeliverySettings } from './deliver.js';
import { refusalOf, type PolicySettings } from './policy.js';
import { settleJobs } from './settle.js';

export interface LaneOptions extends Omit<DeliveryOptions, 'onTrouble' | 'onNonceTooLow'> {
  readonly settings: DeliverySettings & PolicySettings;
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
/** For so long after its last job a lane looks on: the block that held it may be taken back. */
const LOOK_BACK_MS = 120_000;

/** One wallet's transactions in the order of their nonces. One lane at a time works for a wallet, on whichever replica holds the lease. */
export function createLane(options: LaneOptions): Lane {
  const { definition, wallet, node, store, settings, clock, log, onStep, onRefused } = options;
  const { slug } = definition;
  const stopping = new AbortController();
  let wake = new AbortController();
  let lease: Lease | null = null;
  let trouble: string | null = null;
  let chainNonce: number | null = null;
  let blockSeen = true;
  let lookedAt = 0;
  let busyAt = 0;
  const delivery = createDelivery({
    ...options,
    onTrouble: (said) => void (trouble = said),
    onNonceTooLow: () => wake.abort(),
  });

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await turn().catch(failed);
      // `stop` aborts it too: a signal made of two would be kept by the one that lives as long as the lane.
      if (!wake.signal.aborted) await clock.sleep(PACE_MS, wake.signal);
      wake = new AbortController();
    }
    await lease?.release().catch(() => undefined);
  }

  function failed(error: unknown): void {
    trouble = error instanceof Error ? (error.message.split('\n', 1)[0] ?? 'the node does not answer') : 'the node does not answer';
    log.warn('relay.lane-failed', { wallet: wallet.address, error });
  }

  async function owns(): Promise<boolean> {
    if (lease && !lease.isHeld()) {
      await lease.release().catch(() => undefined);
      lease = null;
      chainNonce = null;
    }
    lease ??= await store.lease(slug, wallet.address);
    return lease !== null;
  }

  /** New jobs first: nothing they need has to be asked of the node. */
  async function turn(): Promise<void> {
    if (!(await owns())) return;
    const isDue = chainNonce === null || blockSeen || clock.now() - lookedAt >= PACE_MS;
    const open = await store.open(slug, wallet.address);
    if (chainNonce === null) await lookAtChain(open);
    const sending: Promise<void>[] = [];
    for (const job of open) {
      const signed = job.nonce === null ? await beginOrSkip(job) : null;
      if (signed) sending.push(delivery.handOver(signed));
    }
    await Promise.all(sending);
    if (!isDue || !isWorthALook(open)) return;
    blockSeen = false;
    lookedAt = clock.now();
    await delivery.renewFees();
    await lookAtChain(open);
    const left = await store.open(slug, wallet.address);
    delivery.forgetAllBut(left);
    await Promise.all(left.map(async (job) => (job.nonce === null ? undefined : delivery.push(job))));
  }

  function isWorthALook({ length }: readonly RelayJob[]): boolean {
    if (length > 0) busyAt = clock.now();
    return length > 0 || (clock.now() - busyAt < LOOK_BACK_MS && clock.now() - lookedAt >= PACE_MS);
  }

  /** A job that cannot be judged keeps nobody else waiting: it is tried again until its time is over. */
  async function beginOrSkip(job: RelayJob): Promise<RelayJob | null> {
    try {
      return await begin(job);
    } catch (error) {
      failed(error);
      return null;
    }
  }

  /** Receipts first: what is mined needs nothing more. Then holes that would keep everything above them waiting. */
  async function lookAtChain(open: readonly RelayJob[]): Promise<void> {
    const numbered = open.filter(({ nonce }) => nonce !== null);
    const { nonce } = await node.account(wallet.address);
    chainNonce = nonce;
    await settleJobs({ store, node, slug, wallet: wallet.address, clock, log, onStep }, numbered, nonce);
    const lowest = numbered[0]?.nonce ?? null;
    if (lowest === null) await store.resetLane(slug, wallet.address, nonce);
    for (let gap = nonce; lowest !== null && gap < lowest; gap += 1) {
      const filler = await store.fillGap(slug, wallet.address, gap, NO_OP_GAS, clock.now());
      if (filler) log.warn('relay.gap-filled', { wallet: wallet.address, nonce: gap });
    }
  }

  /** A job without a number: the last moment at which it can still be refused without a trace on chain. Signed when it passes. */
  async function begin(job: RelayJob): Promise<RelayJob | null> {
    const refusal = await refusalNow(job);
    if (refusal !== null) return refuse(job, refusal);
    const numbered = await store.number(slug, job.id, chainNonce ?? 0);
    return numbered && delivery.signFirst(numbered);
  }

  async function refusalNow(job: RelayJob): Promise<string | null> {
    if (job.notAfter !== null && clock.now() > job.notAfter) return 'its time was over before it could be sent';
    const action = job.parent === null ? null : await store.action(slug, job.parent);
    return refusalOf(job, action, settings);
  }

  async function refuse(job: RelayJob, note: string): Promise<null> {
    log.warn('relay.refused', { job: job.id, note });
    const refused = await store.setState(slug, job.id, 'refused', clock.now(), note);
    await onRefused(refused);
    onStep(refused);
    return null;
  }

  const done = run();
  return {
    wake: () => wake.abort(),
    look() {
      blockSeen = true;
      wake.abort();
    },
    trouble: () => trouble,
    fence: () => null,
    async stop() {
      stopping.abort();
      wake.abort();
      await done;
    },
  };
}
