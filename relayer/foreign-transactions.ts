import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Standing } from '../core/ports/relayer.js';
import { FOREIGN_FOUND, UNCOMPARED, type RelayJob, type RelayStore } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { opensRisk } from './policy.js';

export interface ForeignTransactionsOptions {
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly store: Pick<RelayStore, 'open' | 'refuse' | 'giveUpCall' | 'noteQueued'>;
  readonly log: Logger;
  readonly onRefused: (job: RelayJob) => Promise<void>;
  readonly onStep: (job: RelayJob) => void;
  /** Whether the chain still has what these jobs close, cancel or change; absent: it has all. */
  readonly standing?: ((jobs: readonly RelayJob[]) => Promise<ReadonlyMap<bigint, Standing>>) | undefined;
  /** Raises the alert. */
  readonly onForeign?: ((wallet: Address, transactions: number) => Promise<void>) | undefined;
}

export interface ForeignTransactions {
  readonly count: number;
  /** Jobs that are being started. */
  readonly begun: ReadonlySet<bigint>;
  /** Some wait for a block: what they change is not to be seen on the chain yet. */
  readonly arePending: boolean;
  /** Only jobs queued before this are in doubt: for a wallet that this database did not know, those from before the start; absent: all. */
  readonly queuedBefore?: number | undefined;
}

/**
 * The wallet sent transactions that are not stored, as after a backup was put back or commits were lost. What waits may be among them: an
 * opening would then be sent twice, so none is; a close or a cancel is left only if the chain shows what it is about. Jobs with an attempt
 * keep their nonce, under which they are mined at most once.
 */
export async function stopForForeign(
  options: ForeignTransactionsOptions,
  { count, begun, arePending, queuedBefore }: ForeignTransactions,
): Promise<void> {
  const { slug, wallet, store, log, onForeign } = options;
  const waiting = (await store.open(slug, wallet)).filter(
    (job) => job.attempts.length === 0 && job.purpose !== 'no-op' && !begun.has(job.id) && job.createdAt < (queuedBefore ?? Infinity),
  );
  // A wallet that was used before it was ours, and never here.
  if (waiting.length === 0 && queuedBefore !== undefined) return;
  log.error('relay.foreign-transactions', { wallet, transactions: count });
  await onForeign?.(wallet, count);
  // Without asking the chain, which may not answer.
  for (const job of waiting.filter(opensRisk)) await end(options, job, 'this order may be one of them');
  const others = waiting.filter((job) => !opensRisk(job));
  await (arePending ? judge(options, others, new Map()) : compareWithChain(options, others));
}

/** Closes and cancels that could not be compared with the chain wait until they are: none is sent unseen. */
export async function compareWithChain(options: ForeignTransactionsOptions, jobs: readonly RelayJob[]): Promise<void> {
  if (jobs.length > 0) await judge(options, jobs, await standingOf(options, jobs));
}

async function judge(options: ForeignTransactionsOptions, jobs: readonly RelayJob[], known: ReadonlyMap<bigint, Standing>): Promise<void> {
  const { slug, store } = options;
  for (const job of jobs) {
    const standing = known.get(job.id) ?? 'unknown';
    if (standing === 'gone') await end(options, job, 'what this was to change is not on chain as it was');
    else if (standing === 'outpriced') await end(options, job, 'the market is beyond the price of this close by now');
    else if (standing === 'stands') await (isUncompared(job) && store.noteQueued(slug, job.id, null));
    // One that has its nonce would keep the later ones waiting.
    else if ((await store.noteQueued(slug, job.id, UNCOMPARED)) === null) await end(options, job, 'what this is to change cannot be read');
  }
}

/** Kept with the job, so that the next owner of the lane does not send it either. */
export const isUncompared = ({ state, note }: Pick<RelayJob, 'state' | 'note'>): boolean => state === 'queued' && note === UNCOMPARED;

async function standingOf({ wallet, log, standing }: ForeignTransactionsOptions, jobs: readonly RelayJob[]) {
  if (standing === undefined) return new Map(jobs.map(({ id }) => [id, 'stands'] as const));
  return standing(jobs).catch((error: unknown) => {
    log.warn('relay.not-compared', { wallet, jobs: jobs.length, error });
    return new Map<bigint, Standing>();
  });
}

/** Ends a job that must not be sent; `found` is half a sentence that says what was noticed. */
export async function end(
  { slug, store, log, onRefused, onStep }: ForeignTransactionsOptions,
  job: RelayJob,
  why: string,
  found = FOREIGN_FOUND,
): Promise<void> {
  const refusal = { reason: 'foreign-transactions', note: `${found}, and ${why}` } as const;
  const ended = (await store.refuse(slug, job.id, refusal)) ?? (await store.giveUpCall(slug, job.id, refusal));
  if (ended === null) return;
  log.warn('relay.refused', { job: job.id, ...refusal });
  await onRefused(ended);
  onStep(ended);
}
