import type { SentTransaction } from '../core/ports/relayer.js';
import type { CommitLoss } from '../core/ports/stores/continuity.js';
import type { LaneMemory } from '../core/ports/stores/lane-recovery.js';
import type { RelayJob } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { MOST_NONCES, type Forgotten } from './forgotten-transactions.js';
import { compareWithChain, end } from './foreign-transactions.js';
import type { LaneOptions, LaneRecovery } from './lane-options.js';
import { isNoOpSent, isTradingCall, matchTransactions, type Addresses, type Match } from './match-transactions.js';
import { opensRisk } from './policy.js';
import { NO_OP_GAS } from './signer.js';

export interface ReconcileLossOptions extends Omit<LaneOptions, 'wallet' | 'recovery'>, Addresses {
  readonly wallet: Address;
  readonly recovery: LaneRecovery;
  readonly forgotten: Forgotten;
  /** Throws when it is not known again what the database has. */
  readonly requireKnown: () => void;
}

export interface LossOfLane {
  readonly loss: CommitLoss;
  /** The highest nonce of the wallet that a replica remembered; -1 if none. */
  readonly remembered: number;
  readonly lane: LaneMemory;
}

const FOUND = 'its database lost commits';

/**
 * Brings a lane to what the chain has before it signs again; returns its next nonce, or null if the chain or the index is not far enough. A
 * process that dies in between begins anew: what it stored is then known, and everything else is found again.
 */
export async function reconcileLoss(options: ReconcileLossOptions, { loss, remembered, lane }: LossOfLane): Promise<number | null> {
  const { wallet, definition, recovery, forgotten, requireKnown, log, onSigned, onStep } = options;
  const { slug } = definition;
  const { store } = recovery;
  const survivors = (await store.survivors(slug, wallet)).filter(({ chain }) => chain === slug);
  const count = await forgotten.settledCount(survivors);
  if (count === null) return null;
  const unmined = await withoutReceipt(options, survivors, count);
  const { transactions, unexplained } = await forgotten.find(await missingNonces(options, { unmined, lane, count }));
  const ours = transactions.filter((each) => isNoOpSent(each, options) || isTradingCall(each, options));
  const matches = matchTransactions(ours, unmined, options);
  const taken = takenJobs(unmined, matches, count);
  // A reorganisation could still give the nonce back.
  for (const { nonce } of taken) if (nonce !== null && !(await forgotten.isFinal(nonce))) return null;

  requireKnown();
  for (const { id } of taken) await store.release(slug, id);
  for (const match of matches) await recall(match);
  const left = leftToJudge(unmined, matches, taken);
  for (const job of left.filter(opensRisk)) await end({ ...options, slug }, job, 'this order may have been sent before', FOUND);
  await compareWithChain(
    { ...options, slug },
    left.filter((job) => !opensRisk(job)),
  );
  const nextNonce = Math.max(count, await forgotten.highestCount(), remembered + 1);
  await fillBelow(options, count, nextNonce);
  requireKnown();
  await store.finish(slug, wallet, { loss: loss.id, nextNonce });
  const recalled = matches.filter(({ job }) => job !== null).length;
  log.warn('relay.reconciled', { wallet, loss: loss.id, recalled, kept: matches.length - recalled, refused: left.length, nextNonce });
  if (unexplained.length > 0) log.error('relay.unexplained-nonces', { wallet, nonces: unexplained.length, first: unexplained[0] });
  return nextNonce;

  /** Its receipt and its cost are stored with the next check of the chain, as those of any transaction. */
  async function recall({ transaction, job }: Match): Promise<void> {
    const sent = { nonce: transaction.nonce, attempt: attemptOf(transaction) };
    // Before it is stored: a process that dies between the two does both again.
    if (job !== null && !sent.attempt.isNoOp) await onSigned([{ job, hash: transaction.hash }]);
    const recalled = job === null ? await store.keep(slug, wallet, sent) : await store.recall(slug, job.id, sent);
    if (recalled !== null) onStep(recalled);
  }

  function attemptOf(transaction: SentTransaction) {
    const { hash, raw, maxFeePerGas, maxPriorityFeePerGas } = transaction;
    const isNoOp = isNoOpSent(transaction, options);
    return { isNoOp, hash, raw: raw ?? '0x', maxFeePerGas, maxPriorityFeePerGas, signedAt: options.clock.now() } as const;
  }
}

/** Jobs of which no stored attempt is mined. */
async function withoutReceipt({ node }: ReconcileLossOptions, jobs: readonly RelayJob[], count: number): Promise<RelayJob[]> {
  const sent = jobs.filter(({ nonce, attempts }) => nonce !== null && nonce < count && attempts.length > 0);
  const receipts = await node.receipts(sent.flatMap(({ attempts }) => attempts.map(({ hash }) => hash)));
  const mined = new Set(receipts.flatMap((receipt) => receipt?.hash ?? []));
  return jobs.filter(({ attempts }) => !attempts.some(({ hash }) => mined.has(hash)));
}

/** Used nonces of which the database does not have the transaction. */
async function missingNonces(
  { recovery, wallet, definition: { slug } }: ReconcileLossOptions,
  { unmined, lane, count }: { readonly unmined: readonly RelayJob[]; readonly lane: LaneMemory; readonly count: number },
): Promise<number[]> {
  const open = unmined.flatMap(({ nonce }) => (nonce !== null && nonce < count ? [nonce] : []));
  const range = { from: (lane.highestOver ?? -1) + 1, below: count, limit: MOST_NONCES };
  const never = await recovery.store.missing(slug, wallet, range);
  return [...open, ...never].sort((a, b) => a - b);
}

/** Jobs whose nonce is used by a transaction that is none of theirs. */
function takenJobs(unmined: readonly RelayJob[], matches: readonly Match[], count: number): RelayJob[] {
  const kept = new Set(matches.flatMap(({ job, transaction }) => (job?.nonce === transaction.nonce ? [job.id] : [])));
  return unmined.filter(({ id, nonce }) => nonce !== null && nonce < count && !kept.has(id));
}

/** Jobs that no transaction explains and that have no attempt of a nonce that is still theirs. */
function leftToJudge(unmined: readonly RelayJob[], matches: readonly Match[], taken: readonly RelayJob[]): RelayJob[] {
  const sent = new Set(matches.flatMap(({ job }) => job?.id ?? []));
  return unmined
    .filter(
      ({ id, purpose, attempts }) => !sent.has(id) && purpose !== 'no-op' && (attempts.length === 0 || taken.some((job) => job.id === id)),
    )
    .map((job) => (taken.includes(job) ? { ...job, nonce: null, attempts: [], state: 'queued' } : job));
}

/** Nonces that were given out and are not used on chain: what was signed with them and forgotten must not be mined later. */
async function fillBelow({ store, wallet, definition: { slug }, clock }: ReconcileLossOptions, from: number, below: number): Promise<void> {
  let holes = await store.unusedNonces(slug, wallet, from, below);
  while (holes.length > 0) {
    for (const { nonce } of holes) await store.fillGap(slug, wallet, nonce, NO_OP_GAS, clock.now());
    holes = await store.unusedNonces(slug, wallet, (holes.at(-1)?.nonce ?? below) + 1, below);
  }
}
