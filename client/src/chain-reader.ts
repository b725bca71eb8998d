import { decodeFunctionResult, encodeFunctionData, hexToNumber } from 'viem/utils';
import type { Hex } from './api.js';
import type { ChainFacts } from './chains.js';
import { DIAMOND_ABI } from './diamond-abi.js';
import { ChainError } from './errors.js';
import type { Rpc } from './rpc.js';
import { readSent, type SentTransaction } from './sent-transaction.js';

/** A position or resting order as the contract stores it. */
export interface StoredTrade {
  readonly index: number;
  readonly pairIndex: number;
  readonly collateralIndex: number;
  readonly long: boolean;
  /** 0 position, 1 limit, 2 stop. */
  readonly tradeType: number;
  /** 1e3. */
  readonly leverage: number;
  readonly collateralAmount: bigint;
  /** 1e10, as all prices. */
  readonly openPrice: bigint;
  readonly tp: bigint;
  readonly sl: bigint;
  /** 1e18; 0 for trades from before the contract stored it. */
  readonly positionSizeToken: bigint;
  readonly isCounterTrade: boolean;
  /** 1e3 percent; 0 = the contract's default. */
  readonly slippageP: number;
}

/** A request that waits for the oracle. */
export interface PendingRequest {
  readonly index: number;
  readonly pairIndex: number;
  readonly long: boolean;
  /** Of a market order that opens; its side is known. */
  readonly isOpening: boolean;
  /** Closes a position, whole or in part. */
  readonly isClosing: boolean;
}

export interface CollateralOnChain {
  readonly index: number;
  readonly symbol: string;
  readonly decimals: number;
  readonly isActive: boolean;
  readonly address: Hex;
}

/** What the client reads from the chain by itself, to check what the gateway says. */
export interface ChainReader {
  chainId(): Promise<number>;
  /** `BTC/USD` of a pair index. */
  marketOf(pairIndex: number): Promise<string>;
  /** Name of the pair that took over after a split; null where there is none. */
  successorOf(pairIndex: number): Promise<string | null>;
  collaterals(): Promise<readonly CollateralOnChain[]>;
  /** 1e8. */
  collateralPriceUsd(index: number): Promise<bigint>;
  /** Null where the trader has no open trade of this index. */
  trade(trader: Hex, index: number): Promise<StoredTrade | null>;
  /** All that the trader has open or resting. */
  trades(trader: Hex): Promise<readonly StoredTrade[]>;
  /** What the contract keeps of a trade, also after it was closed. */
  record(trader: Hex, index: number): Promise<Pick<StoredTrade, 'pairIndex' | 'long' | 'leverage'>>;
  pendingRequest(trader: Hex, index: number): Promise<PendingRequest | null>;
  pendingRequests(trader: Hex): Promise<readonly PendingRequest[]>;
  delegateOf(trader: Hex): Promise<Hex>;
  /** Null where the node does not have it. */
  sent(trader: Hex, hash: Hex): Promise<SentTransaction | null>;
  /** The node's newest block. */
  blockNumber(): Promise<number>;
}

/** `PendingOrderType` of the contract: of market orders that open, and that close a position or a part of it. */
const MARKET_OPEN = 0;
const CLOSING = [1, 9];

const SYMBOL_ABI = [{ type: 'function', name: 'symbol', stateMutability: 'view', inputs: [], outputs: [{ type: 'string' }] }] as const;

const asHex = (value: unknown): Hex => {
  if (typeof value === 'string' && value.startsWith('0x') && value.length > 2) return value as Hex;
  throw new ChainError('the node has no such contract');
};

export function createChainReader(rpc: Rpc, { diamond, collaterals: published }: Pick<ChainFacts, 'diamond' | 'collaterals'>): ChainReader {
  const call = async (to: Hex, data: Hex): Promise<Hex> => asHex(await rpc('eth_call', [{ to, data }, 'latest']));
  const ask = (data: Hex): Promise<Hex> => call(diamond, data);
  const abi = DIAMOND_ABI;
  const pairs = new Map<number, Promise<{ readonly from: string; readonly to: string }>>();
  let listed: Promise<readonly CollateralOnChain[]> | null = null;

  const readPair = async (pairIndex: number): Promise<{ readonly from: string; readonly to: string }> => {
    const data = await ask(encodeFunctionData({ abi, functionName: 'pairs', args: [BigInt(pairIndex)] }));
    return decodeFunctionResult({ abi, functionName: 'pairs', data });
  };
  const pairOf = (pairIndex: number): ReturnType<typeof readPair> => {
    const known = pairs.get(pairIndex) ?? readPair(pairIndex);
    pairs.set(pairIndex, known);
    known.catch(() => pairs.delete(pairIndex));
    return known;
  };

  /** The published token of a name wins over the name that a token gives itself. */
  const symbolOf = async (address: Hex): Promise<string> => {
    const known = published.find((row) => row.address.toLowerCase() === address.toLowerCase());
    if (known !== undefined) return known.symbol;
    const data = await call(address, encodeFunctionData({ abi: SYMBOL_ABI, functionName: 'symbol' }));
    return decodeFunctionResult({ abi: SYMBOL_ABI, functionName: 'symbol', data });
  };

  const readStruct = async (trader: Hex, index: number) => {
    const data = await ask(encodeFunctionData({ abi, functionName: 'getTrade', args: [trader, index] }));
    return decodeFunctionResult({ abi, functionName: 'getTrade', data });
  };

  const readCollaterals = async (): Promise<readonly CollateralOnChain[]> => {
    const data = await ask(encodeFunctionData({ abi, functionName: 'getCollaterals' }));
    const rows = decodeFunctionResult({ abi, functionName: 'getCollaterals', data });
    return Promise.all(
      rows.map(async ({ collateral, isActive, precision }, at) => ({
        index: at + 1,
        symbol: await symbolOf(collateral),
        decimals: precision.toString().length - 1,
        isActive,
        address: collateral,
      })),
    );
  };

  const readTrade = async (trader: Hex, index: number): Promise<StoredTrade | null> => {
    const [trade, infoData] = await Promise.all([
      readStruct(trader, index),
      ask(encodeFunctionData({ abi, functionName: 'getTradeInfo', args: [trader, index] })),
    ]);
    const { maxSlippageP } = decodeFunctionResult({ abi, functionName: 'getTradeInfo', data: infoData });
    return trade.isOpen ? { ...trade, slippageP: maxSlippageP } : null;
  };

  const readPending = async (trader: Hex): Promise<PendingRequest[]> => {
    const data = await ask(encodeFunctionData({ abi, functionName: 'getPendingOrders', args: [trader] }));
    return Promise.all(
      decodeFunctionResult({ abi, functionName: 'getPendingOrders', data }).map(async ({ index, trade, orderType }) => {
        const isOpening = orderType === MARKET_OPEN;
        // A request on a position names nothing of it but its index, also after it was closed.
        const { pairIndex, long } = isOpening ? trade : await readStruct(trader, trade.index);
        return { index, pairIndex, long, isOpening, isClosing: CLOSING.includes(orderType) };
      }),
    );
  };

  return {
    sent: (trader, hash) => readSent(rpc, { diamond, trader, hash }),
    blockNumber: async () => hexToNumber(asHex(await rpc('eth_blockNumber', []))),
    chainId: async () => hexToNumber(asHex(await rpc('eth_chainId', []))),
    async marketOf(pairIndex) {
      const { from, to } = await pairOf(pairIndex);
      // `TSLA_1` is TSLA after a split: the public name is the part before the underscore.
      return `${from.split('_', 1)[0] ?? from}/${to}`;
    },
    async successorOf(pairIndex) {
      const { from, to } = await pairOf(pairIndex);
      const [name = from, split = '0'] = from.split('_');
      const next = `${name}_${(Number(split) || 0) + 1}`;
      const data = await ask(encodeFunctionData({ abi, functionName: 'isPairListed', args: [next, to] }));
      return decodeFunctionResult({ abi, functionName: 'isPairListed', data }) ? `${next}/${to}` : null;
    },
    collaterals() {
      listed ??= readCollaterals();
      listed.catch(() => (listed = null));
      return listed;
    },
    async collateralPriceUsd(index) {
      const data = await ask(encodeFunctionData({ abi, functionName: 'getCollateralPriceUsd', args: [index] }));
      return decodeFunctionResult({ abi, functionName: 'getCollateralPriceUsd', data });
    },
    trade: readTrade,
    record: readStruct,
    async trades(trader) {
      const data = await ask(encodeFunctionData({ abi, functionName: 'getTrades', args: [trader] }));
      const found = decodeFunctionResult({ abi, functionName: 'getTrades', data });
      const trades = await Promise.all(found.map(({ index }) => readTrade(trader, index)));
      return trades.filter((trade) => trade !== null);
    },
    pendingRequest: async (trader, index) => (await readPending(trader)).find((pending) => pending.index === index) ?? null,
    pendingRequests: readPending,
    async delegateOf(trader) {
      const data = await ask(encodeFunctionData({ abi, functionName: 'getTradingDelegate', args: [trader] }));
      return decodeFunctionResult({ abi, functionName: 'getTradingDelegate', data });
    },
  };
}
