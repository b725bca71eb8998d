import { decodeFunctionData, encodeFunctionResult, keccak256, parseTransaction, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Order } from '../../client/src/api.js';
import { CHAINS } from '../../client/src/chains.js';
import { createClient, type Client, type ClientOptions } from '../../client/src/create-client.js';
import { DIAMOND_ABI as abi } from '../../client/src/diamond-abi.js';
import type { Rpc } from '../../client/src/rpc.js';
import { delegated, type AnyCall, type Json } from './lying-gateway.js';

/** A gateway and a node without a network, for faults that a real one does not have on demand. */
export const TRADER: Hex = '0x00000000000000000000000000000000000000aa';
const AGENT_KEY: Hex = `0x${'11'.repeat(32)}`;
const ZERO: Hex = '0x0000000000000000000000000000000000000000';
const chain = CHAINS['arbitrum-sepolia'];
const USDC = chain.collaterals.findIndex(({ symbol }) => symbol === 'USDC') + 1;
const TAG: Hex = `0x6467777461673031${'ab'.repeat(16)}`;

export const price = (whole: number): bigint => BigInt(whole) * 10n ** 10n;

const BLANK = {
  ...{ user: TRADER, index: 0, pairIndex: 0, leverage: 10_000, long: true, isOpen: true, collateralIndex: USDC },
  ...{ tradeType: 1, collateralAmount: 100_000_000n, openPrice: price(50_000), tp: 0n, sl: 0n },
  ...{ isCounterTrade: false, positionSizeToken: 0n, __placeholder: 0 },
};
export type Trade = typeof BLANK;

export const openCall = (change: Partial<Trade> = {}): AnyCall => ({
  functionName: 'openTrade',
  args: [{ ...BLANK, ...change }, 1_000, ZERO],
});

export const ORDER: Order = {
  ...{ id: '1', trader: TRADER, market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', price: '50000', leverage: '10' },
  ...{ collateral: 'USDC', sl: null, tp: null, reduceOnly: false, slippage: '1', clientId: null, status: 'prepared', txHash: null },
  ...{ expiresAt: 1, fill: null, reason: null, createdAt: 1, updatedAt: 1 },
};

export const transactionOf = (...calls: readonly AnyCall[]): Json => ({
  to: chain.diamond,
  data: delegated(TRADER, calls, TAG),
  value: '0',
  chainId: chain.chainId,
  gas: '600000',
  expiresAt: Date.now() + 600_000,
});

export interface FakeNode {
  readonly rpc: Rpc;
  /** Transactions that were sent. */
  readonly sent: Hex[];
  /** Positions and orders of the trader, by their index. */
  trades: Readonly<Record<number, Partial<Trade>>>;
  /** Names of the listed pairs, by their index. */
  pairs: readonly string[];
  /** Requests that wait for the oracle. */
  requests: readonly { readonly index: number; readonly orderType: number; readonly trade: Partial<Trade> }[];
  /** Asks for the newest block; each finds one more. */
  blocksSeen: number;
  /** Asks for a receipt that are answered with null. */
  unminedFor: number;
  receiptsGiven: number;
}

export function fakeNode(): FakeNode {
  const read = (data: Hex): Hex => {
    const call = decodeFunctionData({ abi, data });
    switch (call.functionName) {
      case 'pairs': {
        const feed = { feed1: ZERO, feed2: ZERO, feedCalculation: 0, maxDeviationP: 0n };
        const from = node.pairs[Number(call.args[0])] ?? '';
        const result = { from, to: 'USD', feed, spreadP: 0n, groupIndex: 0n, feeIndex: 0n };
        return encodeFunctionResult({ abi, functionName: 'pairs', result });
      }
      case 'isPairListed':
        return encodeFunctionResult({ abi, functionName: 'isPairListed', result: node.pairs.includes(call.args[0]) });
      case 'getCollaterals': {
        const result = chain.collaterals.map(({ address, symbol }) => ({
          ...{ collateral: address, isActive: true, __placeholder: 0n, precision: 10n ** (symbol === 'USDC' ? 6n : 18n) },
          precisionDelta: 1n,
        }));
        return encodeFunctionResult({ abi, functionName: 'getCollaterals', result });
      }
      case 'getCollateralPriceUsd':
        return encodeFunctionResult({ abi, functionName: 'getCollateralPriceUsd', result: 100_000_000n });
      case 'getTrade': {
        const index = call.args[1];
        return encodeFunctionResult({ abi, functionName: 'getTrade', result: { ...BLANK, index, ...node.trades[index] } });
      }
      case 'getTrades': {
        const result = Object.entries(node.trades).map(([index, change]) => ({ ...BLANK, index: Number(index), ...change }));
        return encodeFunctionResult({ abi, functionName: 'getTrades', result });
      }
      case 'getPendingOrders': {
        const blank = { user: TRADER, isOpen: true, createdBlock: 1, maxSlippageP: 1_000 };
        const result = node.requests.map(({ index, orderType, trade }) => ({ ...blank, index, orderType, trade: { ...BLANK, ...trade } }));
        return encodeFunctionResult({ abi, functionName: 'getPendingOrders', result });
      }
      case 'getTradeInfo': {
        const rest = { createdBlock: 0, tpLastUpdatedBlock: 0, slLastUpdatedBlock: 0, lastOiUpdateTs: 0, collateralPriceUsd: 0 };
        const result = { ...rest, maxSlippageP: 1_000, contractsVersion: 2, lastPosIncreaseBlock: 0, __placeholder: 0 };
        return encodeFunctionResult({ abi, functionName: 'getTradeInfo', result });
      }
      default:
        throw new Error(`the node does not know ${call.functionName}`);
    }
  };
  const answers: Readonly<Record<string, (first: unknown) => unknown>> = {
    eth_chainId: () => `0x${chain.chainId.toString(16)}`,
    eth_call: (call) => read((call as { readonly data: Hex }).data),
    eth_getTransactionCount: () => `0x${node.sent.length.toString(16)}`,
    eth_getBlockByNumber: () => ({ baseFeePerGas: '0x5f5e100' }),
    eth_maxPriorityFeePerGas: () => '0x0',
    eth_estimateGas: () => '0x7a120',
    eth_sendRawTransaction(raw) {
      node.sent.push(raw as Hex);
      return keccak256(raw as Hex);
    },
    eth_blockNumber() {
      node.blocksSeen += 1;
      return `0x${node.blocksSeen.toString(16)}`;
    },
    eth_getTransactionByHash(hash) {
      const raw = node.sent.find((each) => keccak256(each) === hash);
      if (raw === undefined) return null;
      const { to, data } = parseTransaction(raw);
      return { hash, from: privateKeyToAccount(AGENT_KEY).address, to, input: data };
    },
    eth_getTransactionReceipt(hash) {
      if (!node.sent.some((each) => keccak256(each) === hash)) return null;
      if (node.unminedFor > 0) {
        node.unminedFor -= 1;
        return null;
      }
      node.receiptsGiven += 1;
      return { status: '0x1' };
    },
  };
  const node: FakeNode = {
    sent: [],
    trades: {},
    requests: [],
    blocksSeen: 0,
    pairs: ['BTC'],
    unminedFor: 0,
    receiptsGiven: 0,
    rpc: (method, [first]) =>
      Promise.resolve().then(() => {
        const answer = answers[method];
        if (answer === undefined) throw new Error(`the node does not know ${method}`);
        return answer(first);
      }),
  };
  return node;
}

export interface FakeReply {
  readonly status: number;
  text(): Promise<string>;
}
export const reply = (body: object, status = 200): FakeReply => ({ status, text: () => Promise.resolve(JSON.stringify(body)) });

/** A reply for each request, by its method and the path behind the chain. */
export type Route = (request: {
  readonly method: string;
  readonly path: string;
  readonly signal: AbortSignal | null;
}) => FakeReply | Promise<FakeReply>;

export function fakeClient(node: FakeNode, route: Route, own: Partial<ClientOptions> = {}): Client {
  return createClient({
    url: 'http://gateway.test',
    chain: 'arbitrum-sepolia',
    agent: AGENT_KEY,
    trader: TRADER,
    rpc: node.rpc,
    serviceName: 'test',
    fetch: async (url, { method, signal }) =>
      route({ method, path: new URL(url).pathname.replace('/v1/arbitrum-sepolia', ''), signal: signal ?? null }),
    ...own,
  });
}

/** An order that is prepared by `POST /orders`, reported, and then read as `read` says. */
export const ordering =
  (read: Route, submit: Route = () => reply(ORDER), transaction: Json | null = transactionOf(openCall())): Route =>
  (request) => {
    if (request.method === 'POST' && request.path === '/orders') return reply({ order: ORDER, transaction }, 201);
    return request.path.endsWith('/submit') ? submit(request) : read(request);
  };
