import type { SentTransaction } from '../core/ports/relayer.js';
import type { RelayJob } from '../core/ports/stores/relay.js';
import type { Address } from '../core/types.js';
import { findTransactions, type FoundTransactions } from './find-transactions.js';
import type { LaneOptions, LaneRecovery } from './lane-options.js';

/** What a wallet sent and its database does not know, read once the chain, the index and the nodes are far enough. */
export interface Forgotten {
  /** The wallet's next nonce on chain; null until the index has reached the first head seen here and what waited for a block is mined. */
  settledCount(survivors: readonly RelayJob[]): Promise<number | null>;
  /** The transactions of these nonces, all below the count. */
  find(nonces: readonly number[]): Promise<FoundTransactions>;
  /** Whether a nonce below the count is used for good. */
  isFinal(nonce: number): Promise<boolean>;
  /** The highest count of all nodes, with what waits for a block. */
  highestCount(): Promise<number>;
}

interface ForgottenOptions extends Pick<LaneOptions, 'definition' | 'node' | 'clock'> {
  readonly wallet: Address;
  readonly recovery: LaneRecovery;
}

/** A reorganisation is no deeper. */
const FINAL_AFTER = 64n;
/** Forgotten transactions that wait for a block are waited for this long: they are mined soon, or their fees do not suffice. */
const PENDING_MS = 15_000;
/** Transactions read from the index. */
const MOST_INDEXED = 5_000;
/** The newest nonces that are looked for. */
export const MOST_NONCES = 2_000;

export function createForgotten({ definition, node, clock, wallet, recovery }: ForgottenOptions): Forgotten {
  const { slug } = definition;
  const { store, history, index } = recovery;
  /** As it was when the comparison began. */
  let first: { readonly head: bigint; readonly count: number; readonly at: number } | null = null;
  let highest = 0;
  const known = new Map<number, SentTransaction>();

  async function settledCount(survivors: readonly RelayJob[]): Promise<number | null> {
    const [{ nonce: count }, counted] = await Promise.all([node.account(wallet), history.highestCount(wallet)]);
    first ??= { head: await history.head(), count, at: clock.now() };
    highest = Math.max(count, counted);
    const cursor = await index.cursor(slug);
    if (cursor === null || cursor.number < first.head) return null;
    const ours = new Set(survivors.flatMap(({ nonce, attempts }) => (attempts.length > 0 && nonce !== null ? [nonce] : [])));
    const waiting = Array.from({ length: highest - count }, (_, at) => count + at).filter((nonce) => !ours.has(nonce));
    return waiting.length > 0 && clock.now() - first.at < PENDING_MS ? null : count;
  }

  async function find(nonces: readonly number[]): Promise<FoundTransactions> {
    const wanted = nonces.filter((nonce) => !known.has(nonce)).slice(-MOST_NONCES);
    if (wanted.length > 0) {
      const lowest = Math.min(...wanted);
      const mined = await store.minedBefore(slug, wallet, lowest);
      const cursor = await index.cursor(slug);
      // Its block may hold the next one too.
      const after = (mined ?? cursor?.startBlock ?? 1n) - 1n;
      const indexed = await store.indexedAbove(slug, after, MOST_INDEXED);
      const found = await findTransactions(history, { wallet, nonces: wanted, after, head: await history.head(), indexed });
      for (const transaction of found.transactions) known.set(transaction.nonce, transaction);
    }
    return {
      transactions: nonces.flatMap((nonce) => known.get(nonce) ?? []),
      unexplained: nonces.filter((nonce) => !known.has(nonce)),
    };
  }

  async function isFinal(nonce: number): Promise<boolean> {
    const head = await history.head();
    const block = known.get(nonce)?.block;
    if (block !== undefined) return block + FINAL_AFTER <= head;
    if (first !== null && nonce < first.count && first.head + FINAL_AFTER <= head) return true;
    return head >= FINAL_AFTER && nonce < ((await history.countAt(wallet, head - FINAL_AFTER)) ?? 0);
  }

  return { settledCount, find, isFinal, highestCount: () => Promise.resolve(highest) };
}
