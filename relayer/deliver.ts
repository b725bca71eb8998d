import type { Hex } from '../core/types.js';
import type { NodeFees, SendVerdict } from '../core/ports/relayer.js';
import { isOver, type RelayJob } from '../core/ports/stores/relay.js';
import { allDone } from './all-done.js';
import { hostsIn } from './failure.js';
import { bumpedFees, firstFees, gwei } from './fees.js';
import { createSigning, NO_OP_GAS } from './sign-jobs.js';
import type { DeliveryOptions } from './lane-options.js';

/** From a numbered job to a transaction in the hands of a node: attempts of one nonce, of which one at most can be mined. */
export interface Delivery {
  /** The first attempts of these, stored and not yet sent. What cannot be signed now is left out, and tried again by `push`. */
  signFirst(jobs: readonly RelayJob[]): Promise<RelayJob[]>;
  /** Hands over first attempts, all at once; those whose time ran out meanwhile give their nonces away. */
  handFirst(jobs: readonly RelayJob[]): Promise<void>;
  /** Sends the newest attempt. The same bytes again are the same transaction again. */
  handOver(job: RelayJob): Promise<void>;
  /** The next step of a job that has its nonce. */
  push(job: RelayJob): Promise<void>;
  /** Beside the work, so that no signature has to wait for it. */
  renewFees(): Promise<NodeFees>;
  /** As they were asked for a moment ago, or are asked for now. */
  currentFees(): Promise<NodeFees>;
  /** What a job costs at most with its first attempt, in wei. */
  maxCost(job: RelayJob): Promise<bigint>;
  /** What the last transaction that was too dear for the wallet would have cost at most, in wei; 0 = none was. */
  wanting(): bigint;
  forgetAllBut(ids: readonly bigint[]): void;
}

const SEND_AGAIN_MS = 1_000;
/** Older than this, fees are asked before the next signature. */
const FEES_KEPT_MS = 10_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { definition, wallet, node, store, settings, clock, log, onSigned, onStep, fence, onNonceTooLow } = options;
  const { slug } = definition;
  const signing = createSigning(options);
  let fees: { readonly value: NodeFees; readonly at: number } | null = null;
  /** When a job was last handed to the node, by id. */
  const sentAt = new Map<bigint, number>();
  /** The newest hash of a job that those who wait for it know, by id. */
  const made = new Map<bigint, Hex>();
  let wanting = 0n;

  /** The next step of a job that has its nonce. */
  async function push(job: RelayJob): Promise<void> {
    if (isOver(job.state)) return;
    const isNoOp = job.purpose === 'no-op' || isTooLate(job);
    if (job.state === 'numbered')
      return signing.sign(job, firstFees(await currentFees(), settings), isNoOp || (await hasExpired(job))).then(handOver);
    if (job.state !== 'accepted' && isTooLate(job) && !(await isLeftToTheNode(job))) return giveNonceAway(job);
    const sent = sentAt.get(job.id) ?? job.acceptedAt ?? 0;
    const wait = job.state === 'accepted' ? settings.stuckMs : SEND_AGAIN_MS;
    const age = clock.now() - sent;
    // A clock that was set back says nothing of how long it waits.
    if (age >= 0 && age < wait) return;
    return job.state === 'accepted' ? unstick(job) : handOver(job);
  }

  /** Asked before the first signature: a process may have died after the nonce was taken. What is signed once is sent whatever the time. */
  async function hasExpired({ purpose, parent }: RelayJob): Promise<boolean> {
    if (purpose !== 'action' || parent === null || settings.isExpired === undefined) return false;
    const action = await store.action(slug, parent);
    return action !== null && settings.isExpired(action);
  }

  async function renewFees(): Promise<NodeFees> {
    const value = await node.fees();
    fees = { value, at: clock.now() };
    const { maxFeePerGas } = settings;
    if (value.baseFee <= maxFeePerGas) fence.clear('fees');
    else fence.meet('fees', `gas costs ${gwei(value.baseFee)} gwei, and the most it may pay is ${gwei(maxFeePerGas)}`);
    return value;
  }

  const currentFees = async (): Promise<NodeFees> => (fees !== null && clock.now() - fees.at < FEES_KEPT_MS ? fees.value : renewFees());

  const handOver = (job: RelayJob): Promise<void> => handAll([job]);

  /** Sends the newest attempts. The same bytes again are the same transaction again. */
  async function handAll(jobs: readonly RelayJob[]): Promise<void> {
    await makeKnown(jobs);
    const answers = await Promise.all(jobs.map(async (job) => ({ job, answer: await sendNewest(job) })));
    const accepted = answers.filter(({ answer }) => answer?.verdict === 'accepted').map(({ job }) => job);
    if (accepted.length > 0) {
      fence.clear('funds');
      fence.clear('node');
      const ids = accepted.map(({ id }) => id);
      (await store.accept(slug, ids, clock.now())).forEach(onStep);
    }
    await allDone(answers.flatMap(({ job, answer }) => (answer && answer.verdict !== 'accepted' ? [heard(job, answer)] : [])));
  }

  /** Here and not where they are signed: who signed them may have died since, or failed to tell. */
  async function makeKnown(jobs: readonly RelayJob[]): Promise<void> {
    const signed = jobs.flatMap((job) => {
      const last = job.attempts.at(-1);
      return last && !last.isNoOp && made.get(job.id) !== last.hash ? [{ job, hash: last.hash }] : [];
    });
    if (signed.length > 0) await onSigned(signed);
    for (const { job, hash } of signed) made.set(job.id, hash);
  }

  async function sendNewest(job: RelayJob): Promise<SendVerdict | null> {
    const attempt = job.attempts.at(-1);
    if (!attempt) return null;
    sentAt.set(job.id, clock.now());
    const silence = (error: unknown): SendVerdict => ({ verdict: 'unknown', note: `the node did not answer${hostsIn(error)}` });
    return node.send(attempt.raw).catch(silence);
  }

  async function heard(job: RelayJob, { verdict, note }: SendVerdict): Promise<void> {
    told(job, { verdict, note });
    log.warn('relay.not-accepted', { job: job.id, verdict, note });
    // Too low a nonce may be our own transaction, mined already: the receipts decide, in the next turn.
    if (job.state !== 'accepted') onStep(await store.setState(slug, job.id, 'unknown', clock.now(), note));
    if (verdict === 'underpriced') await replace(await reread(job));
    if (verdict === 'invalid') await giveNonceAway(await reread(job));
    if (verdict === 'nonce-too-low') onNonceTooLow();
  }

  /** What an answer says of the lane, beside the job. */
  function told(job: RelayJob, { verdict, note }: SendVerdict): void {
    if (verdict === 'nonce-too-low') fence.clear('node');
    if (verdict === 'unknown' || verdict === 'underpriced') fence.meet('node', `its node does not take transactions (${note ?? verdict})`);
    if (verdict !== 'no-funds') return;
    const last = job.attempts.at(-1);
    wanting = last ? (last.isNoOp ? NO_OP_GAS : job.gas) * last.maxFeePerGas : 0n;
    fence.meet('funds', `its wallet ${wallet.address} has too little to pay for gas`);
  }

  const reread = async (job: RelayJob): Promise<RelayJob> => (await store.job(slug, job.id)) ?? job;

  async function unstick(job: RelayJob): Promise<void> {
    const attempt = job.attempts.at(-1);
    if (!attempt) return;
    // What nobody waits for any more must not come back from the past.
    if (isTooLate(job) && !attempt.isNoOp) return giveNonceAway(job);
    return (await node.knows(attempt.hash)) ? replace(job) : handOver(job);
  }

  /** Given away already, or a node that once took it still has it. */
  async function isLeftToTheNode({ attempts, acceptedAt }: RelayJob): Promise<boolean> {
    const last = attempts.at(-1);
    return !last || last.isNoOp || (acceptedAt !== null && (await node.knows(last.hash)));
  }

  const isTooLate = ({ notAfter }: RelayJob): boolean => notAfter !== null && clock.now() > notAfter + settings.tooLateMs;

  /** The same call with a higher fee: of one nonce, only one can be mined. */
  async function replace(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    const offer = last ? bumpedFees(await currentFees(), last, settings) : null;
    if (!last || !offer) {
      log.warn('relay.fee-cap-reached', { job: job.id });
      sentAt.set(job.id, clock.now());
      return;
    }
    await handOver(await signing.sign(job, offer, last.isNoOp));
  }

  /** The call is not to be sent any more, but the nonce is taken: a no-op uses it, so that those behind it can go on. */
  async function giveNonceAway(job: RelayJob): Promise<void> {
    const last = job.attempts.at(-1);
    if (!last || last.isNoOp) return;
    const now = await currentFees();
    // Where the cap leaves no room above the call, a no-op at today's price will do if the node does not have the call.
    const offer = bumpedFees(now, last, settings) ?? ((await node.knows(last.hash)) ? null : firstFees(now, settings));
    await handOver(offer ? await signing.sign(job, offer, true) : job);
  }

  function forgetAllBut(ids: readonly bigint[]): void {
    const kept = new Set(ids);
    for (const known of [sentAt, made]) for (const id of known.keys()) if (!kept.has(id)) known.delete(id);
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
