import type { Hex } from '../../core/types.js';
import type { Engine, RpcAnswer } from './engine.js';
import type { Gate } from './gate.js';
import { gethError, methodNotFound } from './geth-errors.js';
import { blockNumber, type Filters, type Subscriptions } from './watches.js';
import type { Pool } from './pool.js';

/** Methods for every client: geth's eth, net and web3, but none that manipulates the chain. Subscriptions exist on WebSockets only. */
export type PublicRpc = (method: string, params: readonly unknown[], subscriptions: Subscriptions | null) => Promise<RpcAnswer>;

export interface PublicRpcOptions {
  engine: Engine;
  gate: Gate;
  pool: Pool;
  filters: Filters;
  /** Set once the chain is inconsistent; every reply is then this error. */
  failure: () => string | null;
}

const OPEN = /^(eth|net|web3)_/;
/** For these the node has no keys, or the engine keeps state that a reorg would invalidate. */
const CLOSED = new Set(['eth_sendTransaction', 'eth_sign', 'eth_signTypedData_v4', 'eth_pendingTransactions', 'eth_mining']);

/** The parameter index of the block tag. An L2 has no pending state, and the engine would execute the whole pool for each such request. */
const BLOCK_TAG: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getStorageAt: 2,
};

export function createPublicRpc({ engine, gate, pool, filters, failure }: PublicRpcOptions): PublicRpc {
  async function passOn(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const refusal = method === 'eth_getLogs' ? logRangeError(params) : await transferError(engine, method, params);
    if (refusal !== null) return refusal;
    const answer = await engine.request(method, withoutPending(method, params));
    return 'error' in answer ? { error: gethError(answer.error) } : answer;
  }

  async function handle(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    if (method === 'eth_sendRawTransaction') return pool.send(params[0]);
    if (method === 'eth_getBlockReceipts') return blockReceipts(engine, params);
    const filtered = filters.handle(method, params, (criteria) => passOn('eth_getLogs', [criteria]));
    return filtered ?? passOn(method, params);
  }

  return async (method, params, subscriptions) => {
    const broken = failure();
    if (broken !== null) return { error: { code: -32603, message: broken } };
    if (method === 'eth_subscribe' || method === 'eth_unsubscribe') {
      if (subscriptions === null) return { error: { code: -32601, message: 'notifications not supported' } };
      return method === 'eth_subscribe' ? subscriptions.subscribe(params) : subscriptions.unsubscribe(params);
    }
    if (!OPEN.test(method) || CLOSED.has(method)) return { error: methodNotFound(method) };
    return gate.shared(() => handle(method, params));
  };
}

function withoutPending(method: string, params: readonly unknown[]): readonly unknown[] {
  const index = BLOCK_TAG[method];
  if (index === undefined || params.length < index) return params;
  const tag = params[index];
  return tag === undefined || tag === null || tag === 'pending' ? params.toSpliced(index, 1, 'latest') : params;
}

function logRangeError([criteria]: readonly unknown[]): RpcAnswer | null {
  if (typeof criteria !== 'object' || criteria === null) return null;
  const { fromBlock, toBlock }: { fromBlock?: unknown; toBlock?: unknown } = criteria;
  const [from, to] = [blockNumber(fromBlock), blockNumber(toBlock)];
  return from !== null && to !== null && from > to ? { error: { code: -32000, message: 'invalid block range params' } } : null;
}

/** The engine lets a call spend more than its sender has; geth does not. */
async function transferError(engine: Engine, method: string, params: readonly unknown[]): Promise<RpcAnswer | null> {
  const [call, , overrides] = params;
  if (method !== 'eth_call' && method !== 'eth_estimateGas') return null;
  if (typeof call !== 'object' || call === null || overrides !== undefined) return null;
  const { from, value }: { from?: unknown; value?: unknown } = call;
  const wanted = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(value) ? BigInt(value) : 0n;
  if (typeof from !== 'string' || wanted === 0n) return null;
  const balance = await engine.request('eth_getBalance', withoutPending('eth_getBalance', [from, params[1]]));
  if ('error' in balance || BigInt(balance.result as Hex) >= wanted) return null;
  return { error: { code: -32000, message: `insufficient funds for transfer: address ${from}` } };
}

async function blockReceipts(engine: Engine, [at]: readonly unknown[]): Promise<RpcAnswer> {
  const byHash = typeof at === 'string' && at.length === 66;
  const answer = await engine.request(byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber', [at, false]);
  if ('error' in answer) return { error: gethError(answer.error) };
  const block = answer.result as { transactions: readonly Hex[] } | null;
  if (block === null) return { result: null };
  const receipts = await Promise.all(block.transactions.map((hash) => engine.request('eth_getTransactionReceipt', [hash])));
  const refused = receipts.find((receipt) => 'error' in receipt);
  return refused ?? { result: receipts.map((receipt) => ('result' in receipt ? receipt.result : null)) };
}
