import type { ChainDefinition, ChainSlug } from '../core/chains.js';
import type { Clock, Hex, Logger } from '../core/ports.js';
import type { NodeFees, RelayNode, SendVerdict } from '../core/relay/relayer.js';
import { isOver, type RelayJob, type RelayStore } from '../core/relay/relay-store.js';
import type { Lease } from '../core/tracking/tracking-store.js';
import { bumpedFees, firstFees, type FeeSettings, type Fees } from './fees.js';
import { refusalOf, type PolicySettings } from './policy.js';
import { settleJobs } from './settle.js';
import type { Wallet } from './wallet.js';

export interface LaneSettings extends FeeSettings, PolicySettings {
  /** Unmined for this long: sent again, or replaced with a higher fee. */
  readonly stuckMs: number;
}

export interface LaneOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly wallet: Wallet;
  readonly node: RelayNode;
  readonly store: RelayStore;
  readonly settings: LaneSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** A transaction of an order is about to be sent: it must be known before it can be mined. */
  readonly onSigned: (job: RelayJob, hash: Hex) => Promise<void>;
  /** It will never be sent: whoever counts on it has to know. */
  readonly onRefused: (job: RelayJob) => Promise<void>;
  /** Every step of a job, after it is stored. */
  readonly onStep: (job: RelayJob) => void;
}

export interface Lane {
  /** There is a new job. */
  wake(): void;
  /** There is a new block: the moment to look for receipts. */
  look(): void;
  trouble(): string | null;
  stop(): Promise<void>;
}

const PACE_MS = 1_000;
const SEND_AGAIN_MS = 1_000;
/** Older than this, fees are asked before the next signature; a new block renews them beside the work. */
const FEES_KEPT_MS = 10_000;
/** A job that no node has taken this long after its time is not worth sending any more. */
const TOO_LATE_MS = 30_000;
const NO_OP_GAS = 100_000n;
const LOOK_BACK_MS = 120_000;

/** One wallet's transactions in the order of their nonces. One lane at a time works for a wallet, on whichever replica holds the lease. */
export function createLane(options: LaneOptions): Lane {
  const { definition, wallet, node, store, settings, clock, log, onStep, onSigned, onRefused } = options;
  const { slug } = definition;
  const stopping = new AbortController();
  let wake = new AbortController();
  let lease: Lease | null = null;
  let trouble: string | null = null;
  let fees: { readonly value: NodeFees; readonly at: number } | null = null;
  let chainNonce: number | null = null;
  let blockSeen = true;
  let lookedAt = 0;
  let busyAt = 0;
  /** When a job was last handed to the node, by id. */
  const sentAt = new Map<bigint, number>();

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
      if (signed) sending.push(handOver(signed));
    }
    await Promise.all(sending);
    if (!isDue || !isWorthALook(open)) return;
    blockSeen = false;
    lookedAt = clock.now();
    fees = { value: await node.fees(), at: clock.now() };
    await lookAtChain(open);
    const left = await store.open(slug, wallet.address);
    forgetAllBut(left);
    await Promise.all(left.map(async (job) => (job.nonce === null ? undefined : push(job))));
  }

  /** For a while after its last job a lane looks on: the block that held it may be taken back. */
  function isWorthALook({ length }: readonly RelayJob[]): boolean {
    if (length > 0) busyAt = clock.now();
    return length > 0 || (clock.now() - busyAt < LOOK_BACK_MS && clock.now() - lookedAt >= PACE_MS);
  }

  function forgetAllBut(jobs: readonly RelayJob[]): void {
    const ids = new Set(jobs.map(({ id }) => id));
    for (const id of sentAt.keys()) if (!ids.has(id)) sentAt.delete(id);
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
    return numbered && sign(numbered, firstFees(await currentFees(), settings), false);
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

  /** The next step of a job that has its nonce. */
  async function push(job: RelayJob): Promise<void> {
    if (isOver(job.state)) return;
    const isNoOp = job.purpose === 'no-op' || isTooLate(job);
    if (job.state === 'numbered') return sign(job, firstFees(await currentFees(), settings), isNoOp).then(handOver);
    if (job.state !== 'accepted' && isTooLate(job) && !(await isLeftToTheNode(job))) return giveNonceAway(job);
    const sent = sentAt.get(job.id) ?? job.acceptedAt ?? 0;
    const wait = job.state === 'accepted' ? settings.stuckMs : SEND_AGAIN_MS;
    if (clock.now() - sent < wait) return;
    return job.state === 'accepted' ? unstick(job) : handOver(job);
  }

  async function currentFees(): Promise<NodeFees> {
    if (fees !== null && clock.now() - fees.at < FEES_KEPT_MS) return fees.value;
    const value = await node.fees();
    fees = { value, at: clock.now() };
    return value;
  }

  async function sign(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<RelayJob> {
    if (job.nonce === null) throw new Error(`Relay job ${job.id} has no nonce.`);
    const call = isNoOp
      ? { to: wallet.address, data: '0x' as const, gas: NO_OP_GAS }
      : { to: definition.diamond, data: job.data, gas: job.gas };
    const signed = await wallet.sign({ chainId: definition.chainId, nonce: job.nonce, ...call, ...offer });
    const attempt = { ...signed, ...offer, isNoOp, signedAt: clock.now() };
    const stored = await store.addAttempt(slug, job.id, attempt);
    if (!isNoOp) await onSigned(stored, attempt.hash);
    onStep(stored);
    return stored;
  }

  /** Sends the newest attempt. The same bytes again are the same transaction again. */
  async function handOver(job: RelayJob): Promise<void> {
    const attempt = job.attempts.at(-1);
    if (!attempt) return;
    sentAt.set(job.id, clock.now());
    const answer = await node.send(attempt.raw).catch((): SendVerdict => ({ verdict: 'unknown', note: 'the node did not answer' }));
    await heard(job, answer);
  }

  async function heard(job: RelayJob, { verdict, note }: SendVerdict): Promise<void> {
    trouble = verdict === 'accepted' || verdict === 'nonce-too-low' ? null : note;
    if (verdict === 'accepted') return onStep(await store.setState(slug, job.id, 'accepted', clock.now(), null));
    log.warn('relay.not-accepted', { job: job.id, verdict, note });
    // Too low a nonce may be our own transaction, mined already: the receipts decide, in the next turn.
    if (job.state !== 'accepted') onStep(await store.setState(slug, job.id, 'unknown', clock.now(), note));
    if (verdict === 'underpriced') await replace(await reread(job));
    if (verdict === 'invalid') await giveNonceAway(await reread(job));
    if (verdict === 'nonce-too-low') wake.abort();
  }

  const reread = async (job: RelayJob): Promise<RelayJob> => (await store.job(slug, job.id)) ?? job;

  async function unstick(job: RelayJob): Promise<void> {
    const attempt = job.attempts.at(-1);
    if (!attempt) return;
    if (await node.knows(attempt.hash)) return replace(job);
    // Forgotten by the node: what nobody waits for any more must not come back from the past.
    return isTooLate(job) && !attempt.isNoOp ? giveNonceAway(job) : handOver(job);
  }

  /** Given away already, or a node that once took it still has it. */
  async function isLeftToTheNode({ attempts, acceptedAt }: RelayJob): Promise<boolean> {
    const last = attempts.at(-1);
    return !last || last.isNoOp || (acceptedAt !== null && (await node.knows(last.hash)));
  }

  const isTooLate = ({ notAfter }: RelayJob): boolean => notAfter !== null && clock.now() > notAfter + TOO_LATE_MS;

  /** The same call with a higher fee: of one nonce, only one can be mined. */
  async function replace(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    const offer = last ? bumpedFees(await currentFees(), last, settings) : null;
    if (!last || !offer) {
      trouble = 'the fee cap leaves no room for a replacement';
      sentAt.set(job.id, clock.now());
      return;
    }
    await handOver(await sign(job, offer, last.isNoOp));
  }

  /** The call is not to be sent any more, but the nonce is taken: a no-op uses it, so that those behind it can go on. */
  async function giveNonceAway(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    if (!last || last.isNoOp) return;
    const now = await currentFees();
    // Where the cap leaves no room above the call, a no-op at today's price will do if the node does not have the call.
    const offer = bumpedFees(now, last, settings) ?? ((await node.knows(last.hash)) ? null : firstFees(now, settings));
    await handOver(offer ? await sign(job, offer, true) : job);
  }

  const done = run();
  return {
    wake: () => wake.abort(),
    look() {
      blockSeen = true;
      wake.abort();
    },
    trouble: () => trouble,
    async stop() {
      stopping.abort();
      wake.abort();
      await done;
    },
  };
}
