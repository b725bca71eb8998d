import { BaseError, numberToHex, RpcRequestError, type PublicClient } from 'viem';
import type { Address, Hex } from '../../types.js';
import type { Receipt, RelayNode, SendVerdict } from '../../ports/relayer.js';
import { redactText } from '../../observability/redact.js';

/** Rollups with a separate data fee report it here. */
interface RollupReceipt {
  readonly l1Fee?: Hex;
}

/** Messages of the various node implementations. Matched in this order, because some messages contain two of them. */
const WORDS: readonly (readonly [RegExp, SendVerdict['verdict']])[] = [
  [/already known|already imported|known transaction|alreadyknown|already exists/i, 'accepted'],
  [/nonce too low|nonce is too low|nonce has already been used|invalid nonce.*lower/i, 'nonce-too-low'],
  [
    /underpriced|fee too low|max fee per gas less than block base fee|maxfeepergas.*base fee|fee cap.*lower than|too low.*base fee/i,
    'underpriced',
  ],
  [/insufficient funds|doesn't have enough funds|insufficient balance|not enough funds/i, 'no-funds'],
  [
    /intrinsic gas|exceeds (?:the )?block gas limit|gas limit is too (?:high|low)|invalid (?:chain|sender|signature)|oversized data/i,
    'invalid',
  ],
];

function verdictOn({ details, url }: RpcRequestError): SendVerdict {
  const verdict = WORDS.find(([words]) => words.test(details))?.[1] ?? 'unknown';
  if (verdict === 'accepted') return { verdict, note: null };
  const said = redactText(details.split('\n', 1)[0] ?? '').slice(0, 200);
  // A message that is not about the transaction is attributed to the node. Only the host of its URL may be shown.
  return { verdict, note: verdict === 'unknown' ? `${hostOf(url)}: ${said}` : said };
}

const hostOf = (url: string): string =>
  url
    .replace(/^(?:\w+:)?\/\/(?:[^/@]*@)?/, '')
    .split(/[/?#]/, 1)
    .join('');

/** The node calls the relayer uses. */
export function createRelayNode(client: PublicClient): RelayNode {
  return {
    async account(address) {
      const [nonce, pending, balance] = await Promise.all([
        client.getTransactionCount({ address, blockTag: 'latest' }),
        pendingCount(client, address),
        client.getBalance({ address, blockTag: 'latest' }),
      ]);
      // A node without the transactions that wait, or behind a balancer, may count fewer.
      return { nonce, pending: Math.max(nonce, pending), balance };
    },
    async fees() {
      const [block, priorityFee] = await Promise.all([client.getBlock({ blockTag: 'latest' }), priorityFeeOf(client)]);
      return { baseFee: block.baseFeePerGas ?? 0n, priorityFee };
    },
    async send(raw) {
      try {
        await client.request({ method: 'eth_sendRawTransaction', params: [raw] }, { retryCount: 0 });
        return { verdict: 'accepted', note: null };
      } catch (error) {
        const said = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
        if (said instanceof RpcRequestError) return verdictOn(said);
        throw error;
      }
    },
    receipts: (hashes) => Promise.all(hashes.map((hash) => receiptOf(client, hash))),
    blockHashes: (numbers) => Promise.all(numbers.map((number) => blockHashOf(client, number))),
    knows: async (hash) => (await client.request({ method: 'eth_getTransactionByHash', params: [hash] })) !== null,
  };
}

/** 0 where the node does not know this tag: what waits for a block is then seen once it is mined. */
const pendingCount = (client: PublicClient, address: Address): Promise<number> =>
  client.getTransactionCount({ address, blockTag: 'pending' }).catch(() => 0);

/** Not every node supports it; without competition for block space no priority fee is needed. */
const priorityFeeOf = async (client: PublicClient): Promise<bigint> => {
  try {
    return BigInt(await client.request({ method: 'eth_maxPriorityFeePerGas' }));
  } catch {
    return 0n;
  }
};

async function blockHashOf(client: PublicClient, number: bigint): Promise<Hex | null> {
  const block = await client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), false] });
  return block?.hash ?? null;
}

async function receiptOf(client: PublicClient, hash: Hex): Promise<Receipt | null> {
  const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
  if (receipt === null) return null;
  const gasUsed = BigInt(receipt.gasUsed);
  const dataFee = BigInt((receipt as RollupReceipt).l1Fee ?? numberToHex(0));
  return {
    hash,
    blockNumber: BigInt(receipt.blockNumber),
    blockHash: receipt.blockHash,
    gasUsed,
    costWei: gasUsed * BigInt(receipt.effectiveGasPrice) + dataFee,
    succeeded: receipt.status === '0x1',
  };
}
