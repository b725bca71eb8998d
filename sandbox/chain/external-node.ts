import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { BlockHead, Cancel, Hex } from '../../core/types.js';
import { headOf, requireCount, RpcFailure, type ChainNode, type RpcBlock } from './chain-node.js';
import type { RpcAnswer } from './engine.js';

/** An external node (anvil, Hardhat) with the same controls as far as it supports them. It mines by its own clock and keeps its own state. */

export interface ExternalNodeOptions {
  url: string;
  clock: Clock;
  log: Logger;
  /** How often its head is polled. Default 250. */
  pollMs?: number;
}

const TIMEOUT_MS = 30_000;
const quantity = (value: number | bigint): Hex => `0x${value.toString(16)}`;

export async function createExternalNode({ url, clock, log, pollMs = 250 }: ExternalNodeOptions): Promise<ChainNode> {
  async function request<Result = unknown>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const answer = (await response.json()) as RpcAnswer;
    if ('error' in answer) throw new RpcFailure(answer.error);
    return answer.result as Result;
  }

  /** Calls the first of these methods that the node supports. */
  async function lever(wish: string, methods: readonly string[], params: readonly unknown[]): Promise<unknown> {
    for (const method of methods) {
      try {
        return await request(method, params);
      } catch (error) {
        if (!(error instanceof RpcFailure) || !isUnknownMethod(error)) throw error;
      }
    }
    throw new Error(`${wish} is not supported by the external node at ${new URL(url).host}.`);
  }

  const head = async (): Promise<BlockHead> => headOf(await request<RpcBlock>('eth_getBlockByNumber', ['latest', false]));
  const chainId = Number(await request<Hex>('eth_chainId'));
  const watch = createHeadWatch(head, clock, pollMs, (reason) => log.warn('chain.external.unreachable', { reason }));

  return {
    chainId,
    url,
    wsUrl: url.replace(/^http/, 'ws'),
    request,
    admin: (method, params) => lever(method, [method, method.replace('hardhat_', 'anvil_')], params),
    head,
    onBlock: (listener) => watch.on(listener),
    nextBlock: () =>
      new Promise((resolve) => {
        const stop = watch.on((next) => {
          stop();
          resolve(next);
        });
      }),
    async mine(blocks, { secondsPerBlock = 0 } = {}) {
      requireCount('blocks', blocks, 100_000);
      await lever('mine', ['hardhat_mine', 'anvil_mine'], [quantity(blocks), quantity(secondsPerBlock)]);
      const mined = await head();
      watch.made(mined);
      return mined;
    },
    async pauseMining() {
      await lever('mining', ['evm_setAutomine', 'anvil_setAutomine'], [false]);
      await lever('mining', ['evm_setIntervalMining', 'anvil_setIntervalMining'], [0]);
    },
    async resumeMining() {
      await lever('mining', ['evm_setAutomine', 'anvil_setAutomine'], [true]);
    },
    async warp(seconds) {
      requireCount('seconds', seconds, 10 * 366 * 86_400);
      await lever('warp', ['evm_increaseTime'], [quantity(seconds)]);
    },
    async setBaseFee(gwei) {
      await lever(
        'gas',
        ['hardhat_setNextBlockBaseFeePerGas', 'anvil_setNextBlockBaseFeePerGas'],
        [quantity(BigInt(Math.round(gwei * 1e9)))],
      );
    },
    async reorg({ depth, drop = false }) {
      requireCount('depth', depth, Infinity);
      const undone = await lastBlocks(request, depth);
      const again = drop ? [] : undone.flatMap(({ transactions }) => transactions);
      const raws = await Promise.all(again.map((hash) => request<Hex>('eth_getRawTransactionByHash', [hash])));
      const pairs = raws.map((raw) => [raw, 0]);
      await lever('reorg', ['anvil_reorg'], [depth, pairs]);
      return { removed: undone.map(({ hash }) => hash), head: await head() };
    },
    dropTransaction: async (hash) =>
      (await lever('dropTransaction', ['hardhat_dropTransaction', 'anvil_dropTransaction'], [hash])) !== null,
    close: () => watch.close(),
  };
}

const isUnknownMethod = ({ code, message }: RpcFailure): boolean =>
  code === -32601 || code === -32004 || /method not found|not supported/i.test(message);

async function lastBlocks(
  request: <Result>(method: string, params: readonly unknown[]) => Promise<Result>,
  depth: number,
): Promise<RpcBlock[]> {
  const height = Number(await request<Hex>('eth_blockNumber', []));
  if (depth > height) throw new RangeError(`A reorg of ${depth} blocks is too deep: this chain can take back ${height}.`);
  return Promise.all(
    Array.from({ length: depth }, (_, index) => request<RpcBlock>('eth_getBlockByNumber', [quantity(height - depth + 1 + index), false])),
  );
}

interface HeadWatch {
  on(listener: (head: BlockHead) => void): Cancel;
  /** Publishes a new head at once, even if the first poll, which only sets the starting point, has already seen it. */
  made(head: BlockHead): void;
  close(): Promise<void>;
}

/** Polls only while there are listeners. */
function createHeadWatch(head: () => Promise<BlockHead>, clock: Clock, pollMs: number, warn: (reason: string) => void): HeadWatch {
  const listeners = new Set<(head: BlockHead) => void>();
  const ended = new AbortController();
  let looking: Promise<void> | null = null;
  let last: BlockHead | null = null;
  let published: BlockHead | null = null;
  let publications = 0;

  function publish(next: BlockHead): void {
    last = published = next;
    publications += 1;
    for (const listener of [...listeners]) listener(next);
  }

  async function look(): Promise<void> {
    last = null;
    const first = await head().catch(() => null);
    last ??= first; // a newer one may have been published meanwhile
    while (listeners.size > 0 && !ended.signal.aborted) {
      await clock.sleep(pollMs, ended.signal);
      const before = publications;
      const next = await head().catch((error: unknown) => warn(String(error)));
      // A head published during the request is newer than its reply.
      if (next !== undefined && publications === before && next.hash !== last?.hash) publish(next);
    }
    looking = null;
  }

  return {
    on(listener) {
      listeners.add(listener);
      looking ??= look();
      return () => void listeners.delete(listener);
    },
    made(next) {
      if (next.hash !== published?.hash) publish(next);
    },
    async close() {
      listeners.clear();
      ended.abort();
      await looking;
    },
  };
}
