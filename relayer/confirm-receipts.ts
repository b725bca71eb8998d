import type { ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Address } from '../core/types.js';
import type { Receipt, RelayNode } from '../core/ports/relayer.js';
import type { MinedBlock, RelayJob, RelayStore, Settled } from '../core/ports/stores/relay.js';

interface Parts {
  readonly store: RelayStore;
  readonly node: RelayNode;
  readonly slug: ChainSlug;
  readonly wallet: Address;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onStep: (job: RelayJob) => void;
  readonly doubtMs: number;
  readonly memory: ReceiptMemory;
  /** Stores the wallet's transaction that used the nonce of this job; null if it is not the gateway's. */
  readonly recall: (job: RelayJob) => Promise<RelayJob | null>;
}

/** State kept from one chain check to the next. */
export interface ReceiptMemory {
  /** Since when a job's nonce is used by a transaction that is not ours, by job id. */
  readonly doubts: Map<bigint, number>;
  /** All stored blocks were seen on one branch: while the newest is on the chain, so are those before it. */
  isOneBranch: boolean;
}

type Receipts = ReadonlyMap<string, Receipt>;

/** How many blocks, or nonces given up, a reorganisation or a late receipt may still undo. */
const SETTLED_AFTER = 64;
const NEWEST_ONLY = 0;

/** Finds which of these jobs are mined, and which earlier ones still are. */
export async function confirmReceipts(parts: Parts, withNonce: readonly RelayJob[], chainNonce: number): Promise<void> {
  const { store, node, slug, wallet, onStep, memory } = parts;
  const waiting = withNonce.filter(({ attempts }) => attempts.length > 0);
  const fresh = await receiptsOfWaiting(node, waiting, chainNonce);
  // Blocks are checked after the receipts: a block that is canonical now was so then, unless the branch changed twice; the next check sees that.
  const gone = await goneBlocks(parts, [...fresh.values()]);
  const recent = await store.settledIn(slug, wallet, gone, chainNonce - SETTLED_AFTER);
  const receipts: Receipts = new Map([...fresh, ...(await receiptsOf(node, recent))]);
  const settled = [...waiting, ...recent].flatMap((job) => settledBy(job, receipts));
  if (settled.length > 0) (await store.settle(slug, settled)).forEach(onStep);
  for (const job of waiting) if (!receiptOf(job, receipts)) await doubt(parts, job, chainNonce);
  for (const job of recent) if (!receiptOf(job, receipts) && job.mined !== null) await reopenJob(parts, job);
  const ids = new Set(waiting.map(({ id }) => id));
  for (const id of memory.doubts.keys()) if (!ids.has(id)) memory.doubts.delete(id);
  memory.isOneBranch = gone.length === 0;
}

/** Nonces above the chain's count have no receipt. As a node's count may lag, all receipts are fetched if the next nonce has one. */
async function receiptsOfWaiting(node: RelayNode, waiting: readonly RelayJob[], chainNonce: number): Promise<Receipts> {
  const isPast = ({ nonce }: RelayJob): boolean => nonce !== null && nonce < chainNonce;
  const [next, ...later] = waiting.filter((job) => !isPast(job));
  const found = await receiptsOf(node, [...waiting.filter(isPast), ...(next ? [next] : [])]);
  return next && receiptOf(next, found) ? new Map([...found, ...(await receiptsOf(node, later))]) : found;
}

async function receiptsOf(node: RelayNode, jobs: readonly RelayJob[]): Promise<Receipts> {
  const hashes = jobs.flatMap(({ attempts }) => attempts.map(({ hash }) => hash));
  const found = hashes.length === 0 ? [] : await node.receipts(hashes);
  return new Map(found.flatMap((receipt) => (receipt ? [[receipt.hash, receipt] as const] : [])));
}

/** Stored blocks with our jobs that are no longer on the chain. */
async function goneBlocks(parts: Parts, fresh: readonly Receipt[]): Promise<MinedBlock[]> {
  const { store, node, slug, wallet, memory } = parts;
  const blocks = await store.minedBlocks(slug, wallet, memory.isOneBranch ? NEWEST_ONLY : SETTLED_AFTER);
  if (blocks.length === 0) return [];
  const hashes = await node.blockHashes(blocks.map(({ number }) => number));
  const gone = blocks.filter(({ hash }, at) => hashes[at] !== hash);
  const [newest] = blocks;
  const isBefore = ({ blockNumber, blockHash }: Receipt): boolean =>
    newest !== undefined && blockNumber <= newest.number && blockHash !== newest.hash;
  if (!memory.isOneBranch || (gone.length === 0 && !fresh.some(isBefore))) return gone;
  memory.isOneBranch = false;
  return goneBlocks(parts, fresh);
}

const receiptOf = ({ attempts }: RelayJob, receipts: Receipts): Receipt | null =>
  attempts.map(({ hash }) => receipts.get(hash)).find((receipt) => receipt !== undefined) ?? null;

function settledBy(job: RelayJob, receipts: Receipts): Settled[] {
  const receipt = receiptOf(job, receipts);
  if (receipt === null || receipt.blockHash === job.mined?.blockHash) return [];
  return [{ id: job.id, state: outcomeOf(job, receipt), mined: receipt }];
}

const NOT_OURS = 'its nonce was used by another transaction';

/** Refuses a job without a receipt once its nonce was used by another transaction for `doubtMs`. */
async function doubt(parts: Parts, job: RelayJob, chainNonce: number): Promise<void> {
  const { store, slug, clock, log, onStep, doubtMs, memory, recall } = parts;
  if (job.nonce === null || job.nonce >= chainNonce) return void memory.doubts.delete(job.id);
  const since = memory.doubts.get(job.id) ?? clock.now();
  memory.doubts.set(job.id, since);
  if (clock.now() - since < doubtMs) return;
  const recalled = await recall(job);
  if (recalled !== null) return onStep(recalled);
  // Not sent again under another nonce: a refused order is better than one that executes minutes late.
  log.error('relay.nonce-used-elsewhere', { job: job.id, wallet: job.wallet, nonce: job.nonce });
  onStep(await store.setState(slug, job.id, 'refused', clock.now(), NOT_OURS, 'nonce-used-elsewhere'));
}

function outcomeOf({ attempts }: RelayJob, { hash, succeeded }: Receipt): 'mined' | 'reverted' | 'replaced' {
  if (attempts.some((attempt) => attempt.hash === hash && attempt.isNoOp)) return 'replaced';
  return succeeded ? 'mined' : 'reverted';
}

/** Its block was reorganised away, and no other block has it. */
async function reopenJob({ store, slug, clock, log, onStep }: Parts, job: RelayJob): Promise<void> {
  log.warn('relay.block-gone', { job: job.id });
  onStep(await store.unsettle(slug, job.id, clock.now()));
}
