import { hexToNumber, numberToHex, type Hex } from 'viem';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address, Cancel } from '../../core/types.js';
import { readLog, type DiamondLog, type RpcRead } from './diamond-reader.js';

export interface NewBlocks {
  /** Newest block. */
  readonly block: number;
  readonly logs: readonly DiamondLog[];
  /** There are logs outside the ABI, which only the sandbox's controls write. */
  readonly hasForeignLogs: boolean;
  /** Earlier blocks were reorganised; the logs are those since genesis. */
  readonly isReorg: boolean;
}

export interface ChainFollowerOptions {
  readonly read: RpcRead;
  readonly diamond: Address;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pollMs: number;
  /** If the node announces its blocks, none waits for the next poll. */
  readonly onBlock?: ((listener: () => void) => Cancel) | undefined;
  /** Called in order, one at a time; the first call covers everything since genesis. */
  readonly onBlocks: (news: NewBlocks) => Promise<void>;
}

export interface ChainFollower {
  /** Resolves when the current head was processed, or could not be. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Head {
  readonly number: number;
  readonly hash: string;
}

/** Polls the node for its head; a failed poll is retried at the next turn. */
export function createChainFollower({ read, diamond, clock, log, pollMs, onBlock, onBlocks }: ChainFollowerOptions): ChainFollower {
  const stopping = new AbortController();
  let announced = new AbortController();
  const unsubscribe = onBlock?.(() => announced.abort()) ?? ((): void => undefined);
  const isStopped = (): boolean => stopping.signal.aborted;
  let last: Head | null = null;
  let isFailing = false;
  let loop: Promise<void> = Promise.resolve();

  const headAt = async (tag: string): Promise<Head | null> => {
    const block = (await read('eth_getBlockByNumber', [tag, false])) as { number: Hex; hash: Hex } | null;
    return block && { number: hexToNumber(block.number), hash: block.hash };
  };

  const isGone = async (known: Head): Promise<boolean> => (await headAt(numberToHex(known.number)))?.hash !== known.hash;

  const poll = async (): Promise<void> => {
    const head = await headAt('latest');
    if (!head || head.hash === last?.hash) return;
    const isReorg = last !== null && (await isGone(last));
    const from = last === null || isReorg ? 0 : last.number + 1;
    const raw = await read('eth_getLogs', [{ address: diamond, fromBlock: numberToHex(from), toBlock: numberToHex(head.number) }]);
    const entries = (Array.isArray(raw) ? raw : []).map(readLog);
    const logs = entries.filter((one) => one !== null);
    await onBlocks({ block: head.number, logs, hasForeignLogs: logs.length < entries.length, isReorg });
    last = head;
  };

  const attempt = async (): Promise<void> => {
    try {
      await poll();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !isStopped()) log.warn('backend.node-unreadable', { error });
      isFailing = true;
    }
  };

  const run = async (): Promise<void> => {
    while (!isStopped()) {
      await clock.sleep(pollMs, announced.signal);
      announced = new AbortController();
      if (!isStopped()) await attempt();
    }
  };

  return {
    async start() {
      await attempt();
      loop = run();
    },
    async stop() {
      unsubscribe();
      stopping.abort();
      announced.abort();
      await loop;
    },
  };
}
