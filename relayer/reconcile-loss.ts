import type { CommitLoss } from '../core/ports/stores/continuity.js';
import type { LaneMemory } from '../core/ports/stores/lane-recovery.js';
import type { Address } from '../core/types.js';
import { compareLane } from './compare-lane.js';
import type { Forgotten } from './forgotten-transactions.js';
import { compareWithChain, end } from './foreign-transactions.js';
import type { LaneOptions, LaneRecovery } from './lane-options.js';
import { recalledOf, type Addresses, type Match } from './match-transactions.js';
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
  const compared = await compareLane({ ...options, slug, store }, { jobs: survivors, lane });
  if (compared === null) return null;
  const { count, matches, taken, left, unexplained } = compared;
  // A reorganisation could still give the nonce back.
  for (const { nonce } of taken) if (nonce !== null && !(await forgotten.isFinal(nonce))) return null;

  requireKnown();
  for (const { id } of taken) await store.release(slug, id);
  for (const match of matches) await recall(match);
  for (const job of left.filter(opensRisk)) await end({ ...options, slug }, job, 'this order may have been sent before', FOUND);
  await compareWithChain(
    { ...options, slug },
    left.filter((job) => !opensRisk(job)),
  );
  const nextNonce = Math.max(count, await forgotten.highestCount(), remembered + 1);
  await fillBelow(options, count, nextNonce);
  if (unexplained.length > 0) {
    log.error('relay.unexplained-nonces', { wallet, nonces: unexplained.length, first: unexplained[0] });
    await options.onUnexplained?.(wallet, unexplained);
  }
  requireKnown();
  await store.finish(slug, wallet, { loss: loss.id, nextNonce });
  const recalled = matches.filter(({ job }) => job !== null).length;
  log.warn('relay.reconciled', { wallet, loss: loss.id, recalled, kept: matches.length - recalled, refused: left.length, nextNonce });
  return nextNonce;

  /** Its receipt and its cost are stored with the next check of the chain, as those of any transaction. */
  async function recall({ transaction, job }: Match): Promise<void> {
    const sent = recalledOf(transaction, options, options.clock.now());
    // Before it is stored: a process that dies between the two does both again.
    if (job !== null && !sent.attempt.isNoOp) await onSigned([{ job, hash: transaction.hash }]);
    const recalled = job === null ? await store.keep(slug, wallet, sent) : await store.recall(slug, job.id, sent);
    if (recalled !== null) onStep(recalled);
  }
}

/** Nonces that were given out and are not used on chain: what was signed with them and forgotten must not be mined later. */
async function fillBelow({ store, wallet, definition: { slug }, clock }: ReconcileLossOptions, from: number, below: number): Promise<void> {
  let holes = await store.unusedNonces(slug, wallet, from, below);
  while (holes.length > 0) {
    for (const { nonce } of holes) await store.fillGap(slug, wallet, nonce, NO_OP_GAS, clock.now());
    holes = await store.unusedNonces(slug, wallet, (holes.at(-1)?.nonce ?? below) + 1, below);
  }
}
