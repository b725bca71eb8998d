import { createChainEvents, headOf, onBlock, requireCount, RpcFailure, type ChainNode, type ChainNodeOptions } from './chain-node.js';
import { createGate } from './gate.js';
import { answerRpc, createRpcServer } from './rpc-server.js';
import { createPublicRpc } from './public-rpc.js';
import { readTogether } from './engine.js';
import { openLedger, type Restored } from './open-ledger.js';
import { createFilters } from './watches.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Cancel } from '../../core/types.js';

/** A node, and what was restored from its data folder. */
export interface RunningChainNode extends ChainNode {
  readonly restored: Restored;
}

const MOST_BLOCKS = 100_000;
const CHUNK = 256;

export async function createChainNode(options: ChainNodeOptions): Promise<RunningChainNode> {
  const { clock, log, host = '127.0.0.1', blockMs = 250, idleMs = () => blockMs } = options;
  const events = createChainEvents();
  const gate = createGate();
  const { engine, pool, ledger, journal, restored } = await openLedger(options, events);
  let failure: string | null = null;
  let closing: Promise<void> | null = null;
  let ahead = restored.warpedSeconds;

  /** If the engine or the disk fails during a block, the chain is inconsistent: every later call fails. */
  async function changing<Result>(task: () => Promise<Result>): Promise<Result> {
    if (failure !== null) throw new Error(failure);
    try {
      return await gate.exclusive(task);
    } catch (error) {
      failure = `The chain stopped: ${error instanceof Error ? error.message : String(error)}`;
      log.error('chain.stopped', { reason: failure });
      throw new Error(failure, { cause: error });
    }
  }

  const chainTime = (): number => Math.max(Number(ledger.head().timestamp), Math.floor(clock.now() / 1000) + ahead);
  /** The last block took none of the pending transactions (fee too low, nonce gap), so the next one would not either. */
  let isStuck = false;
  const miner = createMiner({
    clock,
    paceMs: () => (pool.isEmpty() || isStuck ? Math.max(blockMs, idleMs()) : blockMs),
    async mine() {
      if (failure !== null) return;
      isStuck = true;
      await changing(() => ledger.mine(chainTime())).catch(() => undefined);
      if (ledger.head().transactions.length > 0) isStuck = false;
    },
  });
  function mineSoon(): void {
    isStuck = false;
    miner.wake();
  }
  events.on(({ kind }) => {
    if (kind === 'pending') mineSoon();
  });
  const filters = createFilters(events, clock);
  const rpc = createPublicRpc({ engine: readTogether(engine), gate, pool, filters, failure: () => failure });
  const server = await createRpcServer({ host, port: options.port ?? 0, rpc, events }).catch((error: unknown) => {
    journal?.close();
    throw error;
  });
  if (options.paused !== true) miner.start();

  async function admin(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await changing(() => ledger.admin(method, params));
    if ('error' in answer) throw new RpcFailure(answer.error);
    mineSoon();
    return answer.result;
  }

  async function mineChunk(blocks: number, secondsPerBlock: number): Promise<void> {
    if (secondsPerBlock > 0) journal?.append([{ kind: 'warp', seconds: secondsPerBlock * blocks }], chainTime());
    for (let left = blocks; left > 0; left -= 1) {
      ahead += secondsPerBlock;
      await ledger.mine(chainTime());
    }
  }

  async function close(): Promise<void> {
    await miner.stop();
    await server.close();
    filters.close();
    await gate.exclusive(() => {
      journal?.close();
      engine.close();
      return Promise.resolve();
    });
  }

  return {
    chainId: options.chainId,
    url: `http://${host}:${server.port}`,
    wsUrl: `ws://${host}:${server.port}`,
    restored,
    async request(method, params = []) {
      const answer = await rpc(method, params, null);
      if ('error' in answer) throw new RpcFailure(answer.error);
      return answer.result;
    },
    answer: (body) => answerRpc(body, (method, params) => rpc(method, params, null)),
    admin,
    head: () => Promise.resolve(headOf(ledger.head())),
    onBlock: (listener) => onBlock(events, listener),
    nextBlock: () =>
      new Promise((resolve) => {
        const stop = onBlock(events, (head) => {
          stop();
          resolve(head);
        });
      }),
    async mine(blocks, { secondsPerBlock = 0 } = {}) {
      requireCount('blocks', blocks, MOST_BLOCKS);
      for (let left = blocks; left > 0; left -= CHUNK) await changing(() => mineChunk(Math.min(left, CHUNK), secondsPerBlock));
      return headOf(ledger.head());
    },
    pauseMining: () => miner.stop(),
    resumeMining: () => Promise.resolve(miner.start()),
    async warp(seconds) {
      requireCount('seconds', seconds, 10 * 366 * 86_400);
      await changing(() => {
        journal?.append([{ kind: 'warp', seconds }], chainTime());
        ahead += seconds;
        return Promise.resolve();
      });
    },
    async setBaseFee(gwei) {
      if (!(gwei >= 0 && gwei <= 1_000_000)) throw new Error('The base fee is a number of gwei between 0 and 1000000.');
      const wei = BigInt(Math.round(gwei * 1e9));
      await admin('hardhat_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`]);
    },
    async reorg({ depth, drop = false }) {
      requireCount('depth', depth, Infinity);
      const done = await changing(async () => (depth > ledger.undoable() ? null : ledger.reorg(depth, drop ? 'drop' : 'mine-again')));
      if (done === null) throw new RangeError(`A reorg of ${depth} blocks is too deep: this chain can take back ${ledger.undoable()}.`);
      return { removed: done.removed, head: headOf(done.head) };
    },
    dropTransaction: (hash) => gate.exclusive(() => pool.drop(hash)),
    close: () => (closing ??= close()),
  };
}

/** Mines one block after the other, never two at once, at a pace that depends on the pending transactions. */
interface Miner {
  start(): void;
  /** Resolves when no block is being mined. */
  stop(): Promise<void>;
  /** Recomputes the pace after a new transaction. */
  wake(): void;
}

interface MinerOptions {
  readonly clock: Clock;
  /** The current time between two blocks. */
  readonly paceMs: () => number;
  readonly mine: () => Promise<void>;
}

function createMiner({ clock, paceMs, mine }: MinerOptions): Miner {
  let current: { cancel: Cancel } | null = null;
  let running: Promise<void> = Promise.resolve();
  let isMining = false;
  /** When the last block was due, not when it was done: a slow block does not slow the pace. */
  let last = clock.now();

  function schedule(): void {
    current?.cancel();
    const due = Math.max(clock.now(), last + paceMs()); // blocks that were missed while one was late are not made up for
    const own = { cancel: clock.after(due - clock.now(), () => void (running = run())) };
    current = own;
    async function run(): Promise<void> {
      last = due;
      isMining = true;
      await mine();
      isMining = false;
      if (current === own) schedule(); // otherwise stopped, or started anew, meanwhile
    }
  }

  return {
    start() {
      if (current !== null) return;
      last = clock.now();
      schedule();
    },
    async stop() {
      current?.cancel();
      current = null;
      await running;
    },
    wake() {
      if (current !== null && !isMining) schedule();
    },
  };
}
