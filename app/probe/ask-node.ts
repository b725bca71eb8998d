import { numberToHex } from 'viem';
import { systemClock } from '../../core/adapters/system/clock.js';
import { exchange, ExchangeFault, post, rpcPlace, type RpcAnswer, type RpcCall } from '../../core/adapters/evm/rpc-client.js';
import type { Address, Hex } from '../../core/types.js';

/** The node refused the request; the message is upstream's. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal';
}

export interface AskNode {
  /** The result, or NodeRefusal with the node's message; any other error means that it did not answer. */
  one(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Sent in one request. */
  batch(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]>;
  /** Epoch ms of the node's clock, to the second; null if the reply has no date. */
  date(): Promise<number | null>;
  call(to: Address, data: Hex, block?: string): Promise<Hex>;
}

const LIMIT = { timeoutMs: 8_000, clock: systemClock };

/** Requests one node over the gateway's own HTTP client, without failover. */
export function createAskNode(url: string): AskNode {
  const place = rpcPlace(url);

  const one = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const [answer] = await exchange(place, [{ method, params }], LIMIT);
    if (answer === undefined) throw new Error('no answer');
    if ('error' in answer) throw new NodeRefusal(answer.error.message);
    return answer.result;
  };

  return {
    one,
    batch: (calls) => exchange(place, calls, LIMIT),
    async date() {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] });
      const { headers } = await post(place, body, { ...LIMIT, isLarge: false });
      const time = Date.parse(headers.date ?? '');
      return Number.isNaN(time) ? null : time;
    },
    async call(to, data, block = 'latest') {
      const result = await one('eth_call', [{ to, data }, block]);
      if (typeof result !== 'string' || !/^0x[0-9a-fA-F]*$/.test(result)) throw new NodeRefusal('its answer to a call is no data');
      return result as Hex;
    },
  };
}

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
