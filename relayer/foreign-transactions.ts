import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Refusal, RelayJob, RelayStore } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { opensRisk } from './policy.js';

export interface ForeignTransactionsOptions {
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly store: Pick<RelayStore, 'open' | 'refuse' | 'giveUpCall' | 'lane'>;
  readonly log: Logger;
  readonly onRefused: (job: RelayJob) => Promise<void>;
  readonly onStep: (job: RelayJob) => void;
  /** Those of these jobs whose order or trade is on chain as they expect it; absent: all. */
  readonly standing?: ((jobs: readonly RelayJob[]) => Promise<readonly RelayJob[]>) | undefined;
  /** Raises the alert. */
  readonly onForeign?: ((wallet: Address, transactions: number) => Promise<void>) | undefined;
}

/**
 * The wallet has transactions on chain that are not stored, as after a backup was put back or commits were lost. What waits may be among
 * them: an opening would then be sent twice, so none is; a close or a cancel is left only if the chain shows what it is about. Jobs with an
 * attempt keep their nonce, under which they are mined at most once.
 */
export async function stopForForeign(options: ForeignTransactionsOptions, strangers: number, begun: ReadonlySet<bigint>): Promise<void> {
  const { slug, wallet, store, log, onRefused, onStep, standing, onForeign } = options;
  const waiting = (await store.open(slug, wallet)).filter(
    (job) => job.attempts.length === 0 && job.purpose !== 'no-op' && !begun.has(job.id),
  );
  // A wallet that was used before it was ours, and never here.
  if (waiting.length === 0 && (await store.lane(slug, wallet)).nextNonce === null) return;
  log.error('relay.foreign-transactions', { wallet, transactions: strangers });
  await onForeign?.(wallet, strangers);
  const others = waiting.filter((job) => !opensRisk(job));
  const left = new Set((standing && others.length > 0 ? await standing(others) : others).map(({ id }) => id));
  for (const job of waiting) {
    if (left.has(job.id)) continue;
    const refusal = refusalFor(job, strangers);
    const ended = (await store.refuse(slug, job.id, refusal)) ?? (await store.giveUpCall(slug, job.id, refusal));
    if (ended === null) continue;
    log.warn('relay.refused', { job: job.id, ...refusal });
    await onRefused(ended);
    onStep(ended);
  }
}

function refusalFor(job: RelayJob, strangers: number): Refusal {
  const found = `the relayer's wallet has ${strangers} transactions on chain that its database does not know`;
  const why = opensRisk(job) ? 'and this order may be one of them' : 'and what this was to change is not on chain as it was';
  return { reason: 'foreign-transactions', note: `${found}, ${why}` };
}
