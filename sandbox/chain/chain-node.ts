import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { BlockHead, Cancel, Hex } from '../../core/types.js';
import type { RpcError } from './engine.js';
import type { PoolTransaction } from './pool.js';

/** One chain: a real EVM behind geth's JSON-RPC, with controls for the sandbox only. */
export interface ChainNode {
  readonly chainId: number;
  readonly url: string;
  readonly wsUrl: string;
  /** Like a client's request, without the socket; throws RpcFailure. */
  request(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** The answer to the body of an HTTP request, without the socket; null for notifications. Absent for a node of another process. */
  answer?(body: string): Promise<string | null>;
  /** Changes state outside any transaction; stored with the chain. */
  admin(method: AdminMethod, params: readonly unknown[]): Promise<unknown>;
  head(): Promise<BlockHead>;
  onBlock(listener: (head: BlockHead) => void): Cancel;
  /** Resolves with the next block. */
  nextBlock(): Promise<BlockHead>;
  /** Mines blocks at once, whether or not mining is paused. Chain time does not advance unless `secondsPerBlock` is 1. */
  mine(blocks: number, options?: { secondsPerBlock?: 0 | 1 }): Promise<BlockHead>;
  pauseMining(): Promise<void>;
  resumeMining(): Promise<void>;
  /** Moves chain time ahead of the wall clock, permanently. */
  warp(seconds: number): Promise<void>;
  /** From the next block on, until set again. */
  setBaseFee(gwei: number): Promise<void>;
  /** Replaces the last `depth` blocks by others at the same heights. */
  reorg(options: { depth: number; drop?: boolean }): Promise<{ removed: readonly Hex[]; head: BlockHead }>;
  /** Removes a transaction from the pool, as a node under pressure may. */
  dropTransaction(hash: Hex): Promise<boolean>;
  close(): Promise<void>;
}

export const ADMIN_METHODS = ['hardhat_setCode', 'hardhat_setBalance', 'hardhat_setStorageAt', 'hardhat_setNonce'] as const;
export type AdminMethod = (typeof ADMIN_METHODS)[number];

export class RpcFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(error: RpcError) {
    super(error.message);
    this.name = 'RpcFailure';
    this.code = error.code;
    this.data = error.data;
  }
}

export const headOf = (block: RpcBlock): BlockHead => ({
  number: BigInt(block.number),
  hash: block.hash,
  parentHash: block.parentHash,
  timestamp: BigInt(block.timestamp),
});

/** Validates the numbers given to the sandbox's controls. */
export function requireCount(name: string, value: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw new RangeError(`${name} must be a whole number ${most === Infinity ? 'of at least 1' : `from 1 to ${most}`}.`);
}

export const onBlock = (events: ChainEvents, listener: (head: BlockHead) => void): Cancel =>
  events.on((event) => {
    if (event.kind === 'block') listener(headOf(event.block));
  });

export interface ChainNodeOptions {
  chainId: number;
  balances: ReadonlyMap<Hex, bigint>;
  clock: Clock;
  log: Logger;
  /** Default 127.0.0.1. */
  host?: string;
  /** 0 = any free one, the default. */
  port?: number;
  /** Time between two blocks while transactions are pending; default 250. */
  blockMs?: number;
  /** Time between two blocks while none is pending; default `blockMs`, which makes an even pace. */
  idleMs?: () => number;
  /** Epoch seconds; default: now. A stored chain keeps its own. */
  genesisTime?: number;
  /** Where the chain is stored; without it the chain ends with the node. */
  dataDir?: string;
  onProgress?: (made: number, total: number) => void;
  /** Default false: blocks are mined from the start. */
  paused?: boolean;
}

/** The block fields that this node reads; the engine's reply has all of geth's and is passed on whole. */
export interface RpcBlock {
  number: Hex;
  hash: Hex;
  parentHash: Hex;
  timestamp: Hex;
  logsBloom: Hex;
  transactions: readonly Hex[];
}

export interface RpcLog {
  address: Hex;
  topics: readonly Hex[];
  blockNumber: Hex;
  removed: boolean;
}

export type ChainEvent =
  { kind: 'block'; block: RpcBlock } | { kind: 'logs'; logs: readonly RpcLog[] } | { kind: 'pending'; tx: PoolTransaction };

export interface ChainEvents {
  block(block: RpcBlock, logs: readonly RpcLog[]): void;
  /** Logs of blocks that are no longer part of the chain. */
  removed(logs: readonly RpcLog[]): void;
  pending(tx: PoolTransaction): void;
  on(listener: (event: ChainEvent) => void): Cancel;
}

export function createChainEvents(): ChainEvents {
  const listeners = new Set<(event: ChainEvent) => void>();

  function emit(event: ChainEvent): void {
    for (const listener of [...listeners]) listener(event);
  }

  return {
    block(block, logs) {
      emit({ kind: 'block', block });
      if (logs.length > 0) emit({ kind: 'logs', logs });
    },
    removed(logs) {
      // Newest first, as geth unwinds.
      if (logs.length > 0) emit({ kind: 'logs', logs: logs.toReversed().map((log) => ({ ...log, removed: true })) });
    },
    pending: (tx) => emit({ kind: 'pending', tx }),
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
