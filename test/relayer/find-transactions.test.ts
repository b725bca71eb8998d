import { findTransactions, type SearchLimits, type TransactionSearch } from '../../relayer/find-transactions.js';
import type { SentTransaction } from '../../core/ports/relayer.js';
import type { Hex } from '../../core/types.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { relayBench } from '../harness/relayer/relayer-bench.js';
import { createViemChain } from '../../core/adapters/evm/viem-chain.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';

const WALLET = `0x${'ab'.repeat(20)}` as const;
const HEAD = 1_000_000n;
const LIMITS: SearchLimits = { together: 10, counts: 500, blocks: 50 };

const sentAt = (nonce: number, block: bigint): SentTransaction => ({
  ...{ nonce, block, hash: hashOf(nonce), to: WALLET, input: '0x', raw: '0x02', maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
});
const hashOf = (nonce: number): Hex => `0x${nonce.toString(16).padStart(64, '0')}`;

/** A chain on which nonce `n` of the wallet is in the nth of these blocks; `servedFrom`: the node has no state of earlier ones. */
function chainWith(blocks: readonly bigint[], servedFrom = 0n) {
  const all = blocks.map((block, nonce) => sentAt(nonce, block));
  const asked = { counts: 0, blocks: 0, hashes: 0 };
  return {
    asked,
    countAt(_wallet: string, block: bigint) {
      asked.counts += 1;
      return Promise.resolve(block < servedFrom ? null : all.filter((each) => each.block <= block).length);
    },
    inBlocks(_wallet: string, wanted: readonly bigint[]) {
      asked.blocks += wanted.length;
      return Promise.resolve(all.filter(({ block }) => wanted.includes(block)));
    },
    ofWallet(_wallet: string, hashes: readonly Hex[]) {
      asked.hashes += hashes.length;
      return Promise.resolve(all.filter(({ hash }) => hashes.includes(hash)));
    },
  };
}

const search = (changes: Partial<TransactionSearch>): TransactionSearch => ({
  ...{ wallet: WALLET, nonces: [], after: 0n, head: HEAD, indexed: [] },
  ...changes,
});

describe('the search for transactions', () => {
  it('needs no more than what the index has, where that explains all', async () => {
    const chain = chainWith([5n, 6n, 7n]);
    const found = await findTransactions(chain, search({ nonces: [1, 2], indexed: [1, 2, 9].map(hashOf) }), LIMITS);
    expect(found).toEqual({ transactions: [sentAt(1, 6n), sentAt(2, 7n)], unexplained: [] });
    expect(chain.asked).toEqual({ counts: 0, blocks: 0, hashes: 3 });
  });

  it('halves the blocks by the counts of earlier ones for the rest, and reads only blocks with one that is missing', async () => {
    const chain = chainWith([5n, 700_001n, 700_002n, 700_002n, 999_999n, HEAD]);
    const found = await findTransactions(chain, search({ nonces: [1, 3, 4, 5], indexed: [hashOf(4)] }), LIMITS);
    expect(found.transactions.map(({ nonce }) => nonce)).toEqual([1, 3, 4, 5]);
    expect(chain.asked.blocks).toBe(3);
    expect(chain.asked.counts).toBeLessThan(100);
  });

  it('reads block by block, from the newest down to a bound, what the node has no counts of', async () => {
    const chain = chainWith([HEAD - 300n, HEAD - 120n, HEAD - 3n], HEAD - 100n);
    const found = await findTransactions(chain, search({ nonces: [0, 1, 2] }), LIMITS);
    expect(found).toEqual({ transactions: [sentAt(1, HEAD - 120n), sentAt(2, HEAD - 3n)], unexplained: [0] });
    expect(chain.asked.blocks).toBeLessThanOrEqual(LIMITS.blocks + LIMITS.together);
  });

  it('ends at its bounds, whatever is missing', async () => {
    const chain = chainWith(Array.from({ length: 400 }, (_, nonce) => BigInt(nonce) * 2_000n));
    const { transactions, unexplained } = await findTransactions(chain, search({ nonces: chainOf(400) }), { ...LIMITS, counts: 300 });
    expect(transactions.length + unexplained.length).toBe(400);
    expect(unexplained.length).toBeGreaterThan(0);
    expect(chain.asked.counts).toBe(300);
  });
});

const chainOf = (length: number): number[] => Array.from({ length }, (_, at) => at);

describe("a node's history", () => {
  it('gives the transactions of a wallet as they were signed, those too that left no log, and the highest count of all nodes', async () => {
    const sandbox = await sharedVenue();
    try {
      const controls = firstChain(sandbox);
      const bench = await relayBench(controls, sandbox.gateway);
      const after = await bench.client.getBlockNumber();
      const hashes: Hex[] = [];
      for (const nonce of [0, 1, 2]) {
        hashes.push(await bench.outside(nonce));
        await controls.mine(3);
      }
      const rpcUrls = [controls.rpcUrl, 'http://127.0.0.1:9'];
      const { sent } = createViemChain({ definition: controls.definition, rpcUrls, clock: systemClock, log: createRecordedLog() });
      const wallet = bench.wallet;
      const found = await findTransactions(sent, { wallet, nonces: [0, 1, 2], after, head: await sent.head(), indexed: [] });
      expect(found.unexplained).toEqual([]);
      expect(found.transactions.map(({ hash }) => hash)).toEqual(hashes);
      expect(found.transactions[0]).toMatchObject({ to: wallet, input: '0x', maxFeePerGas: 100_000_000_000n });
      // The same bytes: a node has them already.
      expect(await bench.node.send(found.transactions[0]?.raw ?? '0x')).toMatchObject({ verdict: 'nonce-too-low' });
      expect(await sent.ofWallet(wallet, hashes)).toEqual(found.transactions);
      expect([await sent.highestCount(wallet), await sent.countAt(wallet, after)]).toEqual([3, 0]);
    } finally {
      await sandbox.stop();
    }
  });
});
