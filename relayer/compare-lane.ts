import type { ChainSlug } from '../core/chains/chains.js';
import type { RelayNode } from '../core/ports/relayer.js';
import type { LaneMemory, LaneRecoveryStore } from '../core/ports/stores/lane-recovery.js';
import type { RelayJob } from '../core/ports/stores/relay.js';
import { MOST_NONCES, type Forgotten } from './forgotten-transactions.js';
import { isNoOpSent, isTradingCall, matchTransactions, type Addresses, type Match } from './match-transactions.js';

export interface CompareLaneOptions extends Addresses {
  readonly slug: ChainSlug;
  readonly node: Pick<RelayNode, 'receipts'>;
  readonly store: Pick<LaneRecoveryStore, 'missing'>;
  readonly forgotten: Forgotten;
}

/** A lane beside what its wallet sent. */
export interface LaneComparison {
  /** The wallet's next nonce on chain. */
  readonly count: number;
  /** Transactions of the gateway that the database does not have, with the jobs that they were sent for. */
  readonly matches: readonly Match[];
  /** Jobs whose nonce is used by a transaction that is none of theirs. */
  readonly taken: readonly RelayJob[];
  /** Jobs that no transaction explains and that have no attempt of a nonce that is still theirs. */
  readonly left: readonly RelayJob[];
  /** Used nonces of which neither the database nor the search has the transaction. */
  readonly unexplained: readonly number[];
}

/** `jobs`: those that are open. Changes nothing; null if the chain or the index is not far enough. */
export async function compareLane(
  options: CompareLaneOptions,
  { jobs, lane }: { readonly jobs: readonly RelayJob[]; readonly lane: LaneMemory },
): Promise<LaneComparison | null> {
  const { forgotten } = options;
  const count = await forgotten.settledCount(jobs);
  if (count === null) return null;
  const unmined = await withoutReceipt(options, jobs, count);
  const { transactions, unexplained } = await forgotten.find(await missingNonces(options, { unmined, lane, count }));
  const ours = transactions.filter((each) => isNoOpSent(each, options) || isTradingCall(each, options));
  const matches = matchTransactions(ours, unmined, options);
  const taken = takenJobs(unmined, matches, count);
  return { count, matches, taken, left: leftToJudge(unmined, matches, taken), unexplained };
}

/** Jobs of which no stored attempt is mined. */
async function withoutReceipt({ node }: CompareLaneOptions, jobs: readonly RelayJob[], count: number): Promise<RelayJob[]> {
  const sent = jobs.filter(({ nonce, attempts }) => nonce !== null && nonce < count && attempts.length > 0);
  const receipts = await node.receipts(sent.flatMap(({ attempts }) => attempts.map(({ hash }) => hash)));
  const mined = new Set(receipts.flatMap((receipt) => receipt?.hash ?? []));
  return jobs.filter(({ attempts }) => !attempts.some(({ hash }) => mined.has(hash)));
}

/** Used nonces of which the database does not have the transaction. */
async function missingNonces(
  { store, slug, wallet }: CompareLaneOptions,
  { unmined, lane, count }: { readonly unmined: readonly RelayJob[]; readonly lane: LaneMemory; readonly count: number },
): Promise<number[]> {
  const open = unmined.flatMap(({ nonce }) => (nonce !== null && nonce < count ? [nonce] : []));
  const range = { from: (lane.highestOver ?? -1) + 1, below: count, limit: MOST_NONCES };
  const never = await store.missing(slug, wallet, range);
  return [...open, ...never].sort((a, b) => a - b);
}

function takenJobs(unmined: readonly RelayJob[], matches: readonly Match[], count: number): RelayJob[] {
  const kept = new Set(matches.flatMap(({ job, transaction }) => (job?.nonce === transaction.nonce ? [job.id] : [])));
  return unmined.filter(({ id, nonce }) => nonce !== null && nonce < count && !kept.has(id));
}

function leftToJudge(unmined: readonly RelayJob[], matches: readonly Match[], taken: readonly RelayJob[]): RelayJob[] {
  const sent = new Set(matches.flatMap(({ job }) => job?.id ?? []));
  return unmined
    .filter(
      ({ id, purpose, attempts }) => !sent.has(id) && purpose !== 'no-op' && (attempts.length === 0 || taken.some((job) => job.id === id)),
    )
    .map((job) => (taken.includes(job) ? { ...job, nonce: null, attempts: [], state: 'queued' } : job));
}
