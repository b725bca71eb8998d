import { decodeFunctionData, parseAbi } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { chainBySlug } from '../core/chains/chains.js';
import { appendTag, tagsIn } from '../core/trading/encode-intent.js';
import type { Address, Hex } from '../core/types.js';
import { diamondCall, trade } from '../test/harness/diamond/diamond-calls.js';
import { eventually } from '../test/harness/time/eventually.js';
import { createPoster, type Post } from './relayer-bots.js';
import { CHAIN, type Stage, type StageTrader } from './relayer-stage.js';

const { diamond, chainId } = chainBySlug(CHAIN);
const USDC = 3;
const NOBODY: Address = '0x0000000000000000000000000000000000000000';
const PRICE_UNIT = 10n ** 10n;
/** Dollars. However many there are, their orders rest well below the market. */
const RAW_PRICES = { lowest: 30_000, count: 20_000 } as const;

/** The node as anybody may ask it. */
export function createNode(rpcUrl: string) {
  const post: Post = createPoster(rpcUrl);
  const ask = async <Result>(method: string, params: readonly unknown[]): Promise<Result> => {
    const answer = JSON.parse(await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))) as {
      result: Result;
      error?: { message: string };
    };
    if (answer.error) throw new Error(answer.error.message);
    return answer.result;
  };
  const nonceOf = async (address: Address): Promise<number> => Number(await ask<Hex>('eth_getTransactionCount', [address, 'latest']));
  return {
    ask,
    nonceOf,
    blockNumber: async (): Promise<number> => Number(await ask<Hex>('eth_blockNumber', [])),
    /** Until so many transactions of the address are in blocks. */
    async mined(address: Address, count: number): Promise<void> {
      await eventually(
        () => nonceOf(address),
        (nonce) => nonce >= count,
      );
    },
  };
}

export type Node = ReturnType<typeof createNode>;

/** A sender whose transactions are signed already: what the node accepts without a gateway in front. */
export async function createRawSender(stage: Stage, node: Node) {
  const account = privateKeyToAccount(generatePrivateKey());
  await stage.venue({ kind: 'fund', address: account.address, eth: '10000' });
  const traders = await stage.traders(20, account.address);
  let next = 0;
  const data = (trader: StageTrader, at: number): Hex => {
    const terms = trade({
      user: trader.address,
      collateralIndex: USDC,
      tradeType: 1,
      leverage: 5_000,
      collateralAmount: 60_000_000n,
      openPrice: BigInt(RAW_PRICES.lowest + (at % RAW_PRICES.count)) * PRICE_UNIT,
    });
    const inner = diamondCall('openTrade', [terms, 1_000, NOBODY]);
    return appendTag(diamondCall('delegatedTradingAction', [trader.address, inner]), `0x${at.toString(16).padStart(32, '0')}`);
  };
  return {
    address: account.address.toLowerCase() as Address,
    /** The same call for the same number of traders, with the gas the gateway would give it. */
    async sign(count: number): Promise<Hex[]> {
      const [first] = traders;
      if (!first) throw new Error('no trader');
      const call = { from: account.address, to: diamond, data: data(first, 0) };
      const gas = (BigInt(await node.ask<Hex>('eth_estimateGas', [call])) * 12n) / 10n;
      const fees = { maxFeePerGas: 2n * 10n ** 9n, maxPriorityFeePerGas: 10n ** 8n };
      const from = next;
      next += count;
      return Promise.all(
        Array.from({ length: count }, (_, at) => {
          const nonce = from + at;
          const trader = traders[nonce % traders.length] ?? first;
          return account.signTransaction({ type: 'eip1559', chainId, nonce, to: diamond, data: data(trader, nonce), gas, ...fees });
        }),
      );
    },
  };
}

interface Transaction {
  readonly from: Hex;
  readonly input: Hex;
  readonly hash: Hex;
}

const CALLS = parseAbi([
  'function delegatedTradingAction(address trader, bytes callData) returns (bytes)',
  'struct Trade { address user; uint32 index; uint16 pairIndex; uint24 leverage; bool long; bool isOpen; uint8 collateralIndex; uint8 tradeType; uint120 collateralAmount; uint64 openPrice; uint64 tp; uint64 sl; bool isCounterTrade; uint160 positionSizeToken; uint24 __placeholder }',
  'function openTrade(Trade trade, uint16 maxSlippageP, address referrer)',
]);

export interface SeenOrder {
  readonly trader: string;
  /** Dollars; the contract's own, which is the bot's without the spread. */
  readonly price: number;
}

export interface SeenOnChain {
  readonly transactions: number;
  readonly reverted: number;
  readonly tags: ReadonlySet<Hex>;
  readonly orders: readonly SeenOrder[];
}

/** Reads every block since: what the relayer sent, and whose orders at which prices came of it. */
export async function scanBlocks(node: Node, relayer: Address, from: number): Promise<SeenOnChain> {
  const tags = new Set<Hex>();
  const orders: SeenOrder[] = [];
  let [transactions, reverted] = [0, 0];
  const head = await node.blockNumber();
  for (let number = from; number <= head; number += 1) {
    const block = await node.ask<{ transactions: Transaction[] }>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]);
    const own = block.transactions.filter((each) => each.from.toLowerCase() === relayer);
    const receipts = await Promise.all(own.map(({ hash }) => node.ask<{ status: Hex }>('eth_getTransactionReceipt', [hash])));
    transactions += own.length;
    reverted += receipts.filter(({ status }) => status !== '0x1').length;
    for (const { input } of own) {
      tagsIn(input).forEach((tag) => tags.add(tag));
      orders.push(orderIn(input));
    }
  }
  return { transactions, reverted, tags, orders };
}

const NO_ORDER: SeenOrder = { trader: '', price: 0 };

function orderIn(input: Hex): SeenOrder {
  if (input === '0x') return NO_ORDER; // a nonce that was given up
  const outer = decodeFunctionData({ abi: CALLS, data: input });
  if (outer.functionName !== 'delegatedTradingAction') return NO_ORDER;
  const inner = decodeFunctionData({ abi: CALLS, data: outer.args[1] });
  if (inner.functionName !== 'openTrade') return NO_ORDER;
  return { trader: outer.args[0].toLowerCase(), price: Number(inner.args[0].openPrice) / Number(PRICE_UNIT) };
}
