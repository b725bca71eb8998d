import type { ChainSlug } from '../core/chains.js';
import type { Address, Clock, Logger } from '../core/ports.js';
import type { Receipt, RelayNode } from '../core/relay/relayer.js';
import type { RelayJob, RelayStore } from '../core/relay/relay-store.js';

interface Parts {
  readonly store: RelayStore;
  readonly node: RelayNode;
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onStep: (job: RelayJob) => void;
}

/** A nonce seen used by nobody of ours is looked at for this long before it is believed: receipts may come later than counters. */
const DOUBT_MS = 30_000;
/** Blocks that a reorganisation may still undo. */
const SETTLED_AFTER = 64n;

/** Finds out which of these jobs are in a block by now. */
export async function settleJobs(parts: Parts, numbered: readonly RelayJob[], chainNonce: number): Promise<void> {
  const waiting = numbered.filter(({ attempts }) => attempts.length > 0);
  const recent = await recentlyMined(parts);
  const hashes = [...waiting, ...recent].flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
  if (hashes.length === 0) return;
  const found = await parts.node.receipts(hashes);
  const receipts = new Map(found.flatMap((receipt) => (receipt ? [[receipt.hash, receipt] as const] : [])));
  for (const job of waiting) await settle(parts, job, receiptOf(job, receipts), chainNonce);
  for (const job of recent) await settleAgain(parts, job, receiptOf(job, receipts));
}

async function recentlyMined({ store, slug, wallet }: Parts): Promise<RelayJob[]> {
  const newest = await store.newestMinedBlock(slug, wallet);
  return newest === null ? [] : store.minedSince(slug, wallet, newest - SETTLED_AFTER);
}

const receiptOf = ({ attempts }: RelayJob, receipts: ReadonlyMap<string, Receipt>): Receipt | null =>
  attempts.map(({ hash }) => receipts.get(hash)).find((receipt) => receipt !== undefined) ?? null;

async function settle(
  { store, slug, clock, log, onStep }: Parts,
  job: RelayJob,
  receipt: Receipt | null,
  chainNonce: number,
): Promise<void> {
  if (receipt) return onStep(await store.settle(slug, job.id, outcomeOf(job, receipt), receipt));
  if (job.nonce === null || job.nonce >= chainNonce) return;
  const last = job.attempts.at(-1);
  if (!last || clock.now() - Math.max(last.signedAt, job.acceptedAt ?? 0) < DOUBT_MS) return;
  // Not sent under another nonce: an order that comes minutes late is worse than one that is told not to have happened.
  log.error('relay.nonce-used-elsewhere', { job: job.id, wallet: job.wallet, nonce: job.nonce });
  onStep(await store.setState(slug, job.id, 'refused', clock.now(), 'its nonce was used by another transaction'));
}

function outcomeOf({ attempts }: RelayJob, { hash, succeeded }: Receipt): 'mined' | 'reverted' | 'replaced' {
  if (attempts.some((attempt) => attempt.hash === hash && attempt.isNoOp)) return 'replaced';
  return succeeded ? 'mined' : 'reverted';
}

/** The chain may put the transaction into another block, or drop it. */
async function settleAgain({ store, slug, clock, log, onStep }: Parts, job: RelayJob, receipt: Receipt | null): Promise<void> {
  if (receipt?.blockHash === job.mined?.blockHash) return;
  if (receipt) return onStep(await store.settle(slug, job.id, outcomeOf(job, receipt), receipt));
  log.warn('relay.block-gone', { job: job.id });
  onStep(await store.unsettle(slug, job.id, clock.now()));
}
