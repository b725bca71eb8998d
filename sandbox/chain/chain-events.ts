import type { Cancel, Hex } from '../../core/types.js';
import type { PoolTransaction } from './pool.js';

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
