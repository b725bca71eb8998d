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
  readonly doubtMs: number;
  /** Since when a job's nonce is seen used without a transaction of ours, by id. */
  readonly doubts: Map<bigint, number>;
}

/** Blocks, and nonces given up, that a reorganisation or a late receipt may still undo. */
const SETTLED_AFTER = 64;

/** Finds out which of these jobs are in a block by now, and which of those before them still are. */
export async function settleJobs(parts: Parts, numbered: readonly RelayJob[], chainNonce: number): Promise<void> {
  const { store, slug, wallet, node, doubts } = parts;
  const waiting = numbered.filter(({ attempts }) => attempts.length > 0);
  const recent = await store.settledLately(slug, wallet, { blocks: SETTLED_AFTER, nonce: chainNonce - SETTLED_AFTER });
  const hashes = [...waiting, ...recent].flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
  if (hashes.length === 0) return;
  const found = await node.receipts(hashes);
  const receipts = new Map(found.flatMap((receipt) => (receipt ? [[receipt.hash, receipt] as const] : [])));
  for (const job of waiting) await settle(parts, job, receiptOf(job, receipts), chainNonce);
  for (const job of recent) await settleAgain(parts, job, receiptOf(job, receipts));
  for (const id of doubts.keys()) if (!waiting.some((job) => job.id === id)) doubts.delete(id);
}

const receiptOf = ({ attempts }: RelayJob, receipts: ReadonlyMap<string, Receipt>): Receipt | null =>
  attempts.map(({ hash }) => receipts.get(hash)).find((receipt) => receipt !== undefined) ?? null;

async function settle(parts: Parts, job: RelayJob, receipt: Receipt | null, chainNonce: number): Promise<void> {
  const { store, slug, clock, log, onStep, doubts, doubtMs } = parts;
  if (receipt) return onStep(await store.settle(slug, job.id, outcomeOf(job, receipt), receipt));
  if (job.nonce === null || job.nonce >= chainNonce) return void doubts.delete(job.id);
  const since = doubts.get(job.id) ?? clock.now();
  doubts.set(job.id, since);
  if (clock.now() - since < doubtMs) return;
  // Not sent under another nonce: an order that comes minutes late is worse than one that is told not to have happened.
  log.error('relay.nonce-used-elsewhere', { job: job.id, wallet: job.wallet, nonce: job.nonce });
  onStep(await store.setState(slug, job.id, 'refused', clock.now(), 'its nonce was used by another transaction'));
}

function outcomeOf({ attempts }: RelayJob, { hash, succeeded }: Receipt): 'mined' | 'reverted' | 'replaced' {
  if (attempts.some((attempt) => attempt.hash === hash && attempt.isNoOp)) return 'replaced';
  return succeeded ? 'mined' : 'reverted';
}

/** The chain may put the transaction into another block, or drop it; and what was given up may be found after all. */
async function settleAgain({ store, slug, clock, log, onStep }: Parts, job: RelayJob, receipt: Receipt | null): Promise<void> {
  if (receipt && receipt.blockHash === job.mined?.blockHash) return;
  if (receipt) return onStep(await store.settle(slug, job.id, outcomeOf(job, receipt), receipt));
  if (job.mined === null) return;
  log.warn('relay.block-gone', { job: job.id });
  onStep(await store.unsettle(slug, job.id, clock.now()));
}
