import type { RelayJob } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { createForgotten } from './forgotten-transactions.js';
import type { LaneOptions } from './lane-options.js';
import { isNoOpSent, isTradingCall, matchTransactions, recalledOf } from './match-transactions.js';

interface RecallUsedOptions extends Pick<LaneOptions, 'definition' | 'node' | 'clock' | 'log' | 'onSigned' | 'recovery'> {
  readonly wallet: Address;
}

/**
 * The nonce of a job was used by a transaction that is not stored. One that waited for a block when commits were lost may be mined long after
 * the lane went on: it is stored with the job, so that its outcome and its cost are. Null if no gateway sent it, or for another job.
 */
export async function recallUsed(options: RecallUsedOptions, job: RelayJob): Promise<RelayJob | null> {
  const { definition, wallet, recovery, clock, log, onSigned } = options;
  if (recovery === undefined || job.nonce === null) return null;
  const { slug, diamond } = definition;
  const addresses = { wallet, diamond };
  const { transactions } = await createForgotten({ ...options, recovery }).find([job.nonce]);
  const [sent] = transactions.filter((each) => isNoOpSent(each, addresses) || isTradingCall(each, addresses));
  if (sent === undefined) return null;
  const isOfJob = matchTransactions([sent], [job], addresses)[0]?.job === job;
  // What fills a gap serves no trader: any transaction may be in its place.
  if (!isOfJob && job.purpose !== 'no-op') return null;
  const recalled = recalledOf(sent, addresses, clock.now());
  if (isOfJob && !recalled.attempt.isNoOp) await onSigned([{ job, hash: sent.hash }]);
  const stored = await recovery.store.recall(slug, job.id, recalled);
  if (stored !== null) log.warn('relay.recalled', { job: job.id, wallet, nonce: job.nonce });
  return stored;
}
