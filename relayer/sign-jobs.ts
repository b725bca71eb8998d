import type { NewAttempt, RelayJob } from '../core/ports/stores/relay.js';
import type { DeliveryOptions } from './lane-options.js';
import type { Fees } from './fees.js';

export interface Signing {
  /** Signs and stores one more attempt of a job without sending it; a no-op only uses up the nonce. */
  sign(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<RelayJob>;
  /** Signs the first attempts of many jobs, in nonce order; jobs whose signature failed are left out. */
  signAll(jobs: readonly RelayJob[], offer: Fees): Promise<RelayJob[]>;
}

/** Gas of a no-op that only uses up a nonce. */
export const NO_OP_GAS = 100_000n;

type SigningParts = Pick<DeliveryOptions, 'definition' | 'wallet' | 'store' | 'clock' | 'log' | 'onStep' | 'problems'>;

/** Signs jobs and stores the signed bytes: nothing is sent before it is stored. */
export function createSigning({ definition, wallet, store, clock, log, onStep, problems }: SigningParts): Signing {
  const { slug } = definition;

  /** Signs without storing or sending. */
  async function attemptOf(job: RelayJob, offer: Fees, isNoOp: boolean): Promise<NewAttempt> {
    if (job.nonce === null) throw new Error(`Relay job ${job.id} has no nonce.`);
    const call = isNoOp
      ? { to: wallet.address, data: '0x' as const, gas: NO_OP_GAS }
      : { to: definition.diamond, data: job.data, gas: job.gas };
    const signed = await wallet.sign({ chainId: definition.chainId, nonce: job.nonce, ...call, ...offer }).catch((error: unknown) => {
      problems.report('key', 'its key cannot be used');
      throw error;
    });
    problems.clear('key');
    return { id: job.id, attempt: { ...signed, ...offer, isNoOp, signedAt: clock.now() } };
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
    if (failures.length > 0) log.warn('relay.not-signed', { wallet: wallet.address, jobs: failures.length, error: failures[0] });
    const kept = await keep(made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
    return kept.sort((a, b) => (a.nonce ?? 0) - (b.nonce ?? 0));
  }

  return { sign, signAll };
}
