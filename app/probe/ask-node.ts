import { systemClock } from '../../core/adapters/system/clock.js';
import { exchange, post, rpcPlace, type RpcAnswer, type RpcCall } from '../../core/adapters/evm/rpc-client.js';
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
