import { WRITE_FUNCTIONS } from '../core/chains/diamond-functions.js';
import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Clock } from '../core/ports/clock.js';
import type { Receipt, RelayNode, SentHistory } from '../core/ports/relayer.js';
import type { LaneRecoveryStore } from '../core/ports/stores/lane-recovery.js';
import type { RelayJob, RelayStore } from '../core/ports/stores/relay.js';
import type { ChainCursor } from '../core/ports/stores/tracking.js';
import type { Address, Hex } from '../core/types.js';
import { compareLane, type LaneComparison } from './compare-lane.js';
import { createForgotten, MOST_NONCES } from './forgotten-transactions.js';
import { isNoOpSent, type Match } from './match-transactions.js';
import { opensRisk, readDelegated } from './policy.js';

export interface CompareRestoredOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly wallet: Address;
  readonly relay: Pick<RelayStore, 'open'>;
  readonly recovery: LaneRecoveryStore;
  readonly node: RelayNode;
  readonly history: SentHistory;
  /** Where the index stands. */
  readonly cursor: ChainCursor | null;
  /** Transactions since then that changed something on the Diamond, newest first. Asked only where counts of earlier blocks do not suffice. */
  readonly sinceCursor: () => Promise<readonly Hex[]>;
  readonly clock: Clock;
}

/** What the chain has of a wallet and its database has not. */
export interface WalletDifference {
  readonly wallet: Address;
  /** The next nonce, as the database, the newest block, and what waits for a block have it. */
  readonly nonces: { readonly database: number | null; readonly chain: number; readonly pending: number };
  readonly transactions: readonly UnknownTransaction[];
  /** Used nonces of which no transaction was found. */
  readonly unexplained: readonly number[];
  /** Older unknown nonces, which are not looked for. */
  readonly notLookedFor: number;
  readonly orders: readonly AffectedOrder[];
  /** Wei that the chain took and the ledger does not have. */
  readonly gasWei: bigint;
}

export interface UnknownTransaction {
  readonly nonce: number;
  readonly hash: Hex;
  readonly block: bigint;
  readonly isReverted: boolean;
  readonly costWei: bigint;
  /** Names of the contract's functions; `no-op` for one that only uses its nonce. */
  readonly calls: readonly string[];
  readonly trader: Address | null;
  /** The job that it was sent for; null if that is forgotten too. */
  readonly job: bigint | null;
}

/** sent: it is on chain · refused: it may be on chain, so it is not sent again · compared: it is sent if the chain still has what it is about. */
export type Fate = 'sent' | 'refused' | 'compared';

export interface AffectedOrder {
  readonly job: bigint;
  readonly order: bigint | null;
  readonly trader: Address | null;
  readonly fate: Fate;
}

const LOOK_AGAIN_MS = 1_000;

/** The same comparison as that of a lane after lost commits, without anything that follows from it. */
export async function compareRestored(options: CompareRestoredOptions): Promise<WalletDifference> {
  const { definition, wallet, relay, recovery, node, history } = options;
  const { slug, diamond } = definition;
  const [jobs, lane] = [await relay.open(slug, wallet), await recovery.lane(slug, wallet)];

  async function compare(hashes: readonly Hex[]): Promise<LaneComparison> {
    const forgotten = createForgotten({ ...options, recovery: { store: withHashes(recovery, hashes), history, index: allRead(options) } });
    for (;;) {
      const found = await compareLane({ slug, wallet, diamond, node, store: recovery, forgotten }, { jobs, lane });
      if (found !== null) return found;
      // Some of its transactions wait for a block.
      await options.clock.sleep(LOOK_AGAIN_MS);
    }
  }

  const first = await compare([]);
  const found = first.unexplained.length === 0 ? first : await compare(await options.sinceCursor());
  const pending = Math.max(found.count, await history.highestCount(wallet));
  const known = await receiptsOf(node, hashesOf(jobs, found.count));
  const receipts = await receiptsOf(
    node,
    found.matches.map(({ transaction }) => transaction.hash),
  );
  return {
    wallet,
    nonces: { database: lane.nextNonce, chain: found.count, pending },
    transactions: found.matches.map((match) => describe(match, receipts.get(match.transaction.hash) ?? null, { wallet, diamond })),
    unexplained: found.unexplained,
    notLookedFor: Math.max(0, found.count - (lane.highestOver ?? -1) - 1 - MOST_NONCES),
    orders: [
      ...found.matches.flatMap(({ job }) => (job === null ? [] : [affected(job, 'sent')])),
      ...found.left.map((job) => affected(job, opensRisk(job) ? 'refused' : 'compared')),
    ],
    gasWei: [...known.values(), ...receipts.values()].reduce((sum, { costWei }) => sum + costWei, 0n),
  };
}

/** No gateway runs, so the index does not move: everything is asked from the node. */
const allRead = ({ cursor }: CompareRestoredOptions) => ({
  cursor: (): Promise<ChainCursor> => Promise.resolve({ startBlock: cursor?.startBlock ?? 1n, number: 2n ** 62n, hash: null }),
});

const withHashes = (store: LaneRecoveryStore, hashes: readonly Hex[]): LaneRecoveryStore => ({
  ...store,
  indexedAbove: async (chain, block, limit) =>
    [...new Set([...(await store.indexedAbove(chain, block, limit)), ...hashes])].slice(0, limit),
});

const hashesOf = (jobs: readonly RelayJob[], count: number): Hex[] =>
  jobs.flatMap(({ nonce, attempts }) => (nonce !== null && nonce < count ? attempts.map(({ hash }) => hash) : []));

async function receiptsOf(node: Pick<RelayNode, 'receipts'>, hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, Receipt>> {
  const receipts = hashes.length === 0 ? [] : await node.receipts(hashes);
  return new Map(receipts.flatMap((receipt) => (receipt === null ? [] : [[receipt.hash, receipt] as const])));
}

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(WRITE_FUNCTIONS).map(([name, { selector }]) => [selector, name]));

function describe(
  { transaction, job }: Match,
  receipt: Receipt | null,
  addresses: { readonly wallet: Address; readonly diamond: Address },
): UnknownTransaction {
  const { nonce, hash, block, input } = transaction;
  const delegated = readDelegated(input);
  const calls = isNoOpSent(transaction, addresses)
    ? ['no-op']
    : (delegated?.selectors ?? [input.slice(0, 10)]).map((selector) => NAMES.get(selector) ?? selector);
  return {
    ...{ nonce, hash, block, calls },
    isReverted: receipt?.succeeded === false,
    costWei: receipt?.costWei ?? 0n,
    trader: delegated?.trader ?? null,
    job: job?.id ?? null,
  };
}

const affected = ({ id, orderId, trader }: RelayJob, fate: Fate): AffectedOrder => ({ job: id, order: orderId, trader, fate });
