import { numberToHex } from 'viem';
import { ExchangeFault } from '../../core/adapters/evm/rpc-client.js';
import type { Address } from '../../core/types.js';
import { NodeRefusal, type AskNode } from './ask-node.js';

const LARGEST_BATCH = 100;

/** The largest batch the node accepts, found by halving as the gateway itself does; 1 if it accepts none. */
export async function findBatchSize(ask: AskNode): Promise<number> {
  for (let size = LARGEST_BATCH; size > 1; size = Math.floor(size / 2)) {
    try {
      const answers = await ask.batch(Array.from({ length: size }, () => ({ method: 'eth_chainId' })));
      if (answers.every((answer) => 'result' in answer)) return size;
    } catch (error) {
      if (!(error instanceof ExchangeFault) || !error.isTooMany) throw error;
    }
  }
  return 1;
}

export interface LogRangeQuestion {
  readonly address: Address;
  readonly head: bigint;
  readonly most: bigint;
  readonly signal: AbortSignal;
}

/** The longest log range the node accepts, found by halving, with its message for the previous one. Zero if it accepts none. */
export async function findLogRange(
  ask: AskNode,
  { address, head, most, signal }: LogRangeQuestion,
): Promise<{ readonly blocks: bigint; readonly words: string | null }> {
  let words: string | null = null;
  for (let blocks = most > head + 1n ? head + 1n : most; blocks > 0n && !signal.aborted; blocks /= 2n) {
    try {
      await ask.one('eth_getLogs', [{ address, fromBlock: numberToHex(head - blocks + 1n), toBlock: numberToHex(head) }]);
      return { blocks, words };
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error;
      words = error.message.slice(0, 160);
    }
  }
  return { blocks: 0n, words };
}
