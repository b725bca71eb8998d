import type { SentHistory, SentTransaction } from '../core/ports/relayer.js';
import type { Address, Hex } from '../core/types.js';

/** Of which nonces of a wallet the transactions are looked for, and where. */
export interface TransactionSearch {
  readonly wallet: Address;
  /** All of them below the wallet's next nonce at `head`. */
  readonly nonces: readonly number[];
  /** The transactions were mined after this block. */
  readonly after: bigint;
  readonly head: bigint;
  /** Transactions since then that changed something on the Diamond, as the index has them. */
  readonly indexed: readonly Hex[];
}

export interface FoundTransactions {
  /** By nonce, at most one for each. */
  readonly transactions: readonly SentTransaction[];
  /** These nonces are used, and it is not known by what. */
  readonly unexplained: readonly number[];
}

export interface SearchLimits {
  /** Questions asked together. */
  readonly together: number;
  /** How often the count of an earlier block is asked for. */
  readonly counts: number;
  /** Blocks that are read where the node does not have the counts. */
  readonly blocks: number;
}

/** A search takes some seconds at most on a node that answers 100 questions at once. */
export const SEARCH_LIMITS: SearchLimits = { together: 100, counts: 4_000, blocks: 4_000 };

/** Blocks above `low` up to `high`, and the wallet's next nonces after the two. */
interface Range {
  readonly low: bigint;
  readonly first: number;
  readonly high: bigint;
  readonly end: number;
}

/** From what the index has; then by the counts of earlier blocks; then block by block from the newest, where the node has no counts. */
export async function findTransactions(
  history: Pick<SentHistory, 'ofWallet' | 'countAt' | 'inBlocks'>,
  search: TransactionSearch,
  limits: SearchLimits = SEARCH_LIMITS,
): Promise<FoundTransactions> {
  const { wallet, after, head, indexed } = search;
  const missing = new Set(search.nonces);
  const found = new Map<number, SentTransaction>();
  const take = (transactions: readonly SentTransaction[]): void => {
    for (const transaction of transactions) if (missing.delete(transaction.nonce)) found.set(transaction.nonce, transaction);
  };

  async function readBlocks(blocks: readonly bigint[]): Promise<void> {
    for (const part of partsOf(blocks, limits.together)) if (missing.size > 0) take(await history.inBlocks(wallet, part));
  }

  /** Halves ranges until each is the one block with a missing transaction; returns the ranges in which the node does not count. */
  async function bisect(): Promise<Range[]> {
    const uncounted: Range[] = [];
    const blocks: bigint[] = [];
    let open: Range[] = [{ low: after, first: Math.min(...missing), high: head, end: Math.max(...missing) + 1 }];
    let left = limits.counts;
    while (open.length > 0 && left > 0) {
      const asked = open.filter(({ low, high }) => high - low > 1n).slice(0, Math.min(limits.together, left));
      blocks.push(...open.flatMap(({ low, high }) => (high - low === 1n ? [high] : [])));
      const later = open.filter((range) => range.high - range.low > 1n && !asked.includes(range));
      const counts = await Promise.all(asked.map((range) => history.countAt(wallet, middleOf(range))));
      left -= asked.length;
      const halves = asked.flatMap((range, at) => halve(range, counts[at] ?? null));
      uncounted.push(...halves.filter(({ isCounted }) => !isCounted));
      open = [...later, ...halves.filter(({ isCounted }) => isCounted)].filter((range) => holds(range, missing));
    }
    await readBlocks(blocks);
    return [...uncounted, ...open];
  }

  for (const part of partsOf(indexed, limits.together)) if (missing.size > 0) take(await history.ofWallet(wallet, part));
  const rest = missing.size > 0 && head > after ? await bisect() : [];
  if (missing.size > 0) await readBlocks(newestOf(rest, limits.blocks));
  return {
    transactions: [...found.values()].sort((a, b) => a.nonce - b.nonce),
    unexplained: [...missing].sort((a, b) => a - b),
  };
}

const middleOf = ({ low, high }: Range): bigint => (low + high) / 2n;

/** A node without the count of the middle has none of earlier blocks either; of later ones it may. */
function halve(range: Range, count: number | null): (Range & { readonly isCounted: boolean })[] {
  const middle = middleOf(range);
  return [
    { ...range, high: middle, end: count ?? range.end, isCounted: count !== null },
    { ...range, low: middle, first: count ?? range.first, isCounted: true },
  ];
}

const holds = ({ first, end }: Range, nonces: ReadonlySet<number>): boolean => {
  for (const nonce of nonces) if (nonce >= first && nonce < end) return true;
  return false;
};

function newestOf(ranges: readonly Range[], limit: number): bigint[] {
  const blocks: bigint[] = [];
  for (const { low, high } of [...ranges].sort((a, b) => Number(b.high - a.high)))
    for (let block = high; block > low && blocks.length < limit; block -= 1n) blocks.push(block);
  return blocks;
}

const partsOf = <Item>(items: readonly Item[], size: number): (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
