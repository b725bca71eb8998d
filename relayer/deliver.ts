import type { Hex } from '../core/types.js';
import type { NodeFees, SendVerdict } from '../core/ports/relayer.js';
import { isOver, type RelayJob, type NewAttempt } from '../core/ports/stores/relay.js';
import { bumpedFees, firstFees, gwei, type Fees } from './fees.js';
import { isPaidAlways } from './policy.js';
import type { DeliveryOptions } from './lane-options.js';
import { CheckError, NO_OP_GAS } from './signer.js';
import { GatewayError } from '../core/errors.js';
import { NoNodeError } from '../core/ports/chain.js';

/** Signs and sends jobs that have a nonce. A job may have several attempts under its nonce, of which at most one can be mined. */
export interface Delivery {
  /** Signs and stores the first attempts without sending them. Jobs that cannot be signed now are left out and retried by `push`. */
  signFirst(jobs: readonly RelayJob[]): Promise<RelayJob[]>;
  /** Sends first attempts in parallel; jobs that expired meanwhile are replaced by no-ops. */
  handFirst(jobs: readonly RelayJob[]): Promise<void>;
  /** Sends the newest attempt. Sending the same bytes twice is harmless: it is the same transaction. */
  handOver(job: RelayJob): Promise<void>;
  /** Takes the next step of a job that has its nonce. */
  push(job: RelayJob): Promise<void>;
  /** Refreshes the fees in the background, so that signing does not wait for the node. */
  renewFees(): Promise<NodeFees>;
  /** The cached fees, or fresh ones if they are too old. */
  currentFees(): Promise<NodeFees>;
  /** The maximum cost of a job's first attempt, in wei. */
  maxCost(job: RelayJob): Promise<bigint>;
  /** The maximum cost, in wei, of the last transaction that the wallet could not afford; 0 if there was none. */
  wanting(): bigint;
  forgetAllBut(ids: readonly bigint[]): void;
}

const SEND_AGAIN_MS = 1_000;
/** Fees older than this are refreshed before the next signature. */
const FEES_KEPT_MS = 10_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  const {
    definition,
    signer,
    node,
    store,
    settings,
    clock,
    log,
    onSigned,
    onStep,
    problems,
    budget,
    onNonceTooLow,
    held = () => null,
  } = options;
  const { slug } = definition;
  const signing = createSigning(options);
  let fees: { readonly value: NodeFees; readonly at: number } | null = null;
  /** When a job was last sent to the node, by id. */
  const sentAt = new Map<bigint, number>();
  /** The newest hash of a job that was published, by id. */
  const publishedHashes = new Map<bigint, Hex>();
  let wanting = 0n;

  /** Takes the next step of a job that has its nonce. */
  async function push(job: RelayJob): Promise<void> {
    if (isOver(job.state)) return;
    const isNoOp = job.purpose === 'no-op' || isTooLate(job);
    // Whatever state is stored: without an attempt nothing was sent under the nonce.
    if (job.attempts.length === 0) {
      // It keeps its nonce for the moment that the checks of the contract take.
      if (!isNoOp && isUncertain()) return;
      return signing.sign(job, firstFees(await currentFees(), settings), isNoOp).then(handOver);
    }
    if (job.state !== 'accepted' && isTooLate(job) && !(await isLeftToTheNode(job))) return giveNonceAway(job);
    const sent = sentAt.get(job.id) ?? job.acceptedAt ?? 0;
    const wait = job.state === 'accepted' ? settings.stuckMs : SEND_AGAIN_MS;
    const age = clock.now() - sent;
    // After the clock was set back, the age is negative and says nothing about the wait.
    if (age >= 0 && age < wait) return;
    return job.state === 'accepted' ? unstick(job) : handOver(job);
  }

  async function renewFees(): Promise<NodeFees> {
    const value = await node.fees();
    fees = { value, at: clock.now() };
    const { maxFeePerGas } = settings;
    if (value.baseFee <= maxFeePerGas) problems.clear('fees');
    else problems.report('fees', `gas costs ${gwei(value.baseFee)} gwei, and the most it may pay is ${gwei(maxFeePerGas)}`);
    return value;
  }

  const currentFees = async (): Promise<NodeFees> => (fees !== null && clock.now() - fees.at < FEES_KEPT_MS ? fees.value : renewFees());

  const handOver = (job: RelayJob): Promise<void> => handAll([job]);

  /** Sends the newest attempts. Sending the same bytes twice is harmless: it is the same transaction. */
  async function handAll(jobs: readonly RelayJob[]): Promise<void> {
    await publishHashes(jobs);
    const answers = await Promise.all(jobs.map(async (job) => ({ job, answer: await sendNewest(job) })));
    const accepted = answers.filter(({ answer }) => answer?.verdict === 'accepted').map(({ job }) => job);
    if (accepted.length > 0) {
      problems.clear('funds');
      problems.clear('node');
      const ids = accepted.map(({ id }) => id);
      (await store.accept(slug, ids, clock.now())).forEach(onStep);
    }
    await allDone(answers.flatMap(({ job, answer }) => (answer && answer.verdict !== 'accepted' ? [handleVerdict(job, answer)] : [])));
  }

  /** Publishes hashes here rather than when signing: the process that signed may have died before it published them. */
  async function publishHashes(jobs: readonly RelayJob[]): Promise<void> {
    const signed = jobs.flatMap((job) => {
      const last = job.attempts.at(-1);
      return last && !last.isNoOp && publishedHashes.get(job.id) !== last.hash ? [{ job, hash: last.hash }] : [];
    });
    if (signed.length > 0) await onSigned(signed);
    for (const { job, hash } of signed) publishedHashes.set(job.id, hash);
  }

  async function sendNewest(job: RelayJob): Promise<SendVerdict | null> {
    const attempt = job.attempts.at(-1);
    // Its row may be gone: what is sent now could not be found again.
    if (!attempt || held() !== null) return null;
    sentAt.set(job.id, clock.now());
    const silence = (error: unknown): SendVerdict => ({ verdict: 'unknown', note: `the node did not answer${hostsIn(error)}` });
    return node.send(attempt.raw).catch(silence);
  }

  async function handleVerdict(job: RelayJob, { verdict, note }: SendVerdict): Promise<void> {
    updateLaneHealth(job, { verdict, note });
    log.warn('relay.not-accepted', { job: job.id, verdict, note });
    // The nonce may have been used by our own transaction: the receipts decide in the next turn.
    if (job.state !== 'accepted') onStep(await store.setState(slug, job.id, 'unknown', clock.now(), note));
    if (verdict === 'underpriced') await replace(await reread(job));
    if (verdict === 'invalid') await giveNonceAway(await reread(job));
    if (verdict === 'nonce-too-low') onNonceTooLow();
  }

  /** Updates the lane's health from a node's answer. */
  function updateLaneHealth(job: RelayJob, { verdict, note }: SendVerdict): void {
    if (verdict === 'nonce-too-low') problems.clear('node');
    if (verdict === 'unknown' || verdict === 'underpriced')
      problems.report('node', `its node does not take transactions (${note ?? verdict})`);
    if (verdict !== 'no-funds') return;
    const last = job.attempts.at(-1);
    wanting = last ? (last.isNoOp ? NO_OP_GAS : job.gas) * last.maxFeePerGas : 0n;
    problems.report('funds', `its wallet ${signer.address} has too little to pay for gas`);
  }

  const isUncertain = (): boolean => settings.isUncertain?.() === true;

  const reread = async (job: RelayJob): Promise<RelayJob> => (await store.job(slug, job.id)) ?? job;

  async function unstick(job: RelayJob): Promise<void> {
    const attempt = job.attempts.at(-1);
    if (!attempt) return;
    // An expired call must not be mined late.
    if (isTooLate(job) && !attempt.isNoOp) return giveNonceAway(job);
    return (await node.knows(attempt.hash)) ? replace(job) : handOver(job);
  }

  /** True if the nonce is already used by a no-op, or the node that accepted the attempt still has it. */
  async function isLeftToTheNode({ attempts, acceptedAt }: RelayJob): Promise<boolean> {
    const last = attempts.at(-1);
    return !last || last.isNoOp || (acceptedAt !== null && (await node.knows(last.hash)));
  }

  const isTooLate = ({ notAfter }: RelayJob): boolean => notAfter !== null && clock.now() > notAfter + settings.tooLateMs;

  /** Signs the same call with a higher fee: only one attempt of a nonce can be mined. A call beyond the budget stays at its fee until it is too late. */
  async function replace(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    if (last?.isNoOp === false && isUncertain()) return;
    const offer = last ? bumpedFees(await currentFees(), last, settings) : null;
    const isCovered = offer === null || last?.isNoOp === true || isPaidAlways(job) || budget.raise(job.id, job.gas * offer.maxFeePerGas);
    if (!last || !offer || !isCovered) {
      log.warn(isCovered ? 'relay.fee-cap-reached' : 'relay.fee-beyond-budget', { job: job.id });
      sentAt.set(job.id, clock.now());
      return;
    }
    await handOver(await signing.sign(job, offer, last.isNoOp || job.purpose === 'no-op'));
  }

  /** The call must not be sent any more, but its nonce is taken: a no-op uses the nonce, so that later jobs can be mined. */
  async function giveNonceAway(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    if (!last || last.isNoOp) return;
    const now = await currentFees();
    // If the fee cap allows no bump above the call, a no-op at the current price works as long as the node does not have the call.
    const offer = bumpedFees(now, last, settings) ?? ((await node.knows(last.hash)) ? null : firstFees(now, settings));
    await handOver(offer ? await signing.sign(job, offer, true) : job);
  }

  function forgetAllBut(ids: readonly bigint[]): void {
    const kept = new Set(ids);
    for (const known of [sentAt, publishedHashes]) for (const id of known.keys()) if (!kept.has(id)) known.delete(id);
  }

  return {
    signFirst: async (jobs) => signing.signAll(jobs, firstFees(await currentFees(), settings)),
    async handFirst(jobs) {
      const late = jobs.filter(({ notAfter }) => notAfter !== null && clock.now() > notAfter);
      await handAll(jobs.filter((job) => !late.includes(job)));
      await allDone(late.map(giveNonceAway));
    },
    handOver,
    push,
    renewFees,
    currentFees,
    maxCost: async ({ gas }) => gas * firstFees(await currentFees(), settings).maxFeePerGas,
    wanting: () => wanting,
    forgetAllBut,
  };
}

/** The hosts that failed, in brackets; empty if they are not known. */
const hostsIn = (error: unknown): string => (error instanceof NoNodeError && error.hosts.length > 0 ? ` (${error.hosts.join(', ')})` : '');

/** Why a lane failed, as a clause that traders read. */
export const failureOf = (error: unknown): string =>
  error instanceof GatewayError && error.code === 'NOT_READY'
    ? 'its database does not answer'
    : `its node does not answer${hostsIn(error)}`;

/** Resolves when every promise has settled, so that none keeps running unawaited; then rejects with the first failure. */
export async function allDone(works: readonly Promise<unknown>[]): Promise<void> {
  const failure = (await Promise.allSettled(works)).find((each) => each.status === 'rejected');
  if (failure) throw failure.reason;
}

export interface Signing {
  /** Signs and stores one more attempt of a job without sending it; a no-op only uses up the nonce. */
  sign(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<RelayJob>;
  /** Signs the first attempts of many jobs, in nonce order; jobs whose signature failed are left out. */
  signAll(jobs: readonly RelayJob[], offer: Fees): Promise<RelayJob[]>;
}

type SigningParts = Pick<DeliveryOptions, 'definition' | 'signer' | 'store' | 'clock' | 'log' | 'onStep' | 'onRefused' | 'problems'>;

/** Has jobs signed and stores the signed bytes: nothing is sent before it is stored. */
export function createSigning({ definition, signer, store, clock, log, onStep, onRefused, problems }: SigningParts): Signing {
  const { slug } = definition;

  /** Signs without storing or sending. A call that may not be signed is given up, and a no-op uses its nonce. */
  async function attemptOf(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<NewAttempt> {
    if (job.nonce === null) throw new Error(`Relay job ${job.id} has no nonce.`);
    const answer = isNoOp ? await withKey(() => signer.signNoOp(job.nonce ?? 0, offer)) : await withKey(() => signer.sign(job, offer));
    if (!('reason' in answer)) return { id: job.id, attempt: { ...answer, ...offer, isNoOp, signedAt: clock.now() } };
    log.warn('relay.refused', { job: job.id, nonce: job.nonce, ...answer });
    // Before the no-op: a process that dies between both finds the job given up.
    const givenUp = await store.giveUpCall(slug, job.id, answer);
    if (givenUp !== null) await onRefused(givenUp);
    return attemptOf(job, offer, true);
  }

  /** Failures of the check are the database's; only the wallet's own are the key's. */
  async function withKey<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const answer = await work().catch((error: unknown) => {
      if (!(error instanceof CheckError)) problems.report('key', 'its key cannot be used');
      throw error;
    });
    problems.clear('key');
    return answer;
  }

  /** Stores attempts with their hashes before they are published. */
  async function keep(attempts: readonly NewAttempt[]): Promise<RelayJob[]> {
    if (attempts.length === 0) return [];
    const stored = await store.addAttempt(slug, attempts);
    stored.forEach(onStep);
    return stored;
  }

  async function sign(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<RelayJob> {
    const [stored] = await keep([await attemptOf(job, offer, isNoOp)]);
    if (!stored) throw new Error(`Relay job ${job.id} is not stored.`);
    return stored;
  }

  async function signAll(jobs: readonly RelayJob[], offer: Fees): Promise<RelayJob[]> {
    const made = await Promise.allSettled(jobs.map((job) => attemptOf(job, offer, false)));
    const failures = made.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    if (failures.length > 0) log.warn('relay.not-signed', { wallet: signer.address, jobs: failures.length, error: failures[0] });
    const kept = await keep(made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
    return kept.sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0));
  }

  return { sign, signAll };
}
