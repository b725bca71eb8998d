import { BaseError, keccak256, numberToHex, RpcRequestError, serializeTransaction, type PublicClient, type RpcTransaction } from 'viem';
import { NoNodeError } from '../../ports/chain.js';
import type { Clock } from '../../ports/clock.js';
import type { SentHistory, SentTransaction } from '../../ports/relayer.js';
import type { Address, Hex } from '../../types.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { exchange } from './rpc-client.js';

interface SentHistoryParts {
  readonly client: PublicClient;
  readonly endpoints: Pick<Endpoints, 'all'>;
  readonly chainId: number;
  readonly clock: Clock;
}

const TIMEOUT_MS = 5_000;

export function createSentHistory({ client, endpoints, chainId, clock }: SentHistoryParts): SentHistory {
  /** Null if the node does not answer, or serves another chain. */
  async function countOf({ place }: Endpoint, wallet: Address): Promise<number | null> {
    const counts = ['latest', 'pending'].map((tag) => ({ method: 'eth_getTransactionCount', params: [wallet, tag] }));
    const answers = await exchange(place, [{ method: 'eth_chainId' }, ...counts], { timeoutMs: TIMEOUT_MS, clock }).catch(() => []);
    const [served, ...counted] = answers.map((answer) => ('result' in answer ? Number(answer.result) : Number.NaN));
    const known = counted.filter(Number.isSafeInteger);
    return served === chainId && known.length > 0 ? Math.max(...known) : null;
  }

  return {
    head: () => client.getBlockNumber({ cacheTime: 0 }),
    async countAt(wallet, block) {
      try {
        return Number(await client.request({ method: 'eth_getTransactionCount', params: [wallet, numberToHex(block)] }));
      } catch (error) {
        // A node that is away fails the search; one that answers does not have the state.
        if (error instanceof BaseError && error.walk((cause) => cause instanceof RpcRequestError) !== null) return null;
        throw error;
      }
    },
    async highestCount(wallet) {
      const counts = await Promise.all(endpoints.all.map((endpoint) => countOf(endpoint, wallet)));
      const known = counts.filter((count) => count !== null);
      if (known.length === 0)
        throw new NoNodeError(
          ['no node counts the transactions of the wallet'],
          endpoints.all.map(({ host }) => host),
        );
      return Math.max(...known);
    },
    async ofWallet(wallet, hashes) {
      const read = async (hash: Hex): Promise<SentTransaction[]> =>
        readSent(wallet, await client.request({ method: 'eth_getTransactionByHash', params: [hash] }));
      return (await Promise.all(hashes.map(read))).flat();
    },
    async inBlocks(wallet, blocks) {
      const read = async (number: bigint): Promise<SentTransaction[]> => {
        const block = await client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), true] });
        return (block?.transactions ?? []).flatMap((each) => (typeof each === 'string' ? [] : readSent(wallet, each)));
      };
      return (await Promise.all(blocks.map(read))).flat();
    },
  };
}

/** Empty for a transaction of another address, or one that is not mined. */
function readSent(wallet: Address, transaction: RpcTransaction | null): SentTransaction[] {
  if (transaction?.from.toLowerCase() !== wallet || transaction.blockNumber === null) return [];
  const { hash, input, nonce, to, blockNumber } = transaction;
  const price = BigInt(transaction.gasPrice ?? 0);
  return [
    {
      ...{ nonce: Number(nonce), hash, input, raw: rawOf(transaction), block: BigInt(blockNumber) },
      to: to === null ? null : (to.toLowerCase() as Address),
      maxFeePerGas: BigInt(transaction.maxFeePerGas ?? price),
      maxPriorityFeePerGas: BigInt(transaction.maxPriorityFeePerGas ?? price),
    },
  ];
}

/** Its hash proves that these are the bytes that were signed. */
function rawOf(transaction: RpcTransaction): Hex | null {
  if (transaction.type !== '0x2') return null;
  const { hash, to, input, accessList, r, s } = transaction;
  try {
    const raw = serializeTransaction(
      {
        ...{ type: 'eip1559', chainId: Number(transaction.chainId), nonce: Number(transaction.nonce), to, data: input, accessList },
        ...{ gas: BigInt(transaction.gas), value: BigInt(transaction.value) },
        maxFeePerGas: BigInt(transaction.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(transaction.maxPriorityFeePerGas),
      },
      { r, s, yParity: Number(transaction.yParity ?? transaction.v) },
    );
    return keccak256(raw) === hash ? raw : null;
  } catch {
    return null;
  }
}
