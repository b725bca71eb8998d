import type { Clock } from '../../ports/clock.js';
import { redactText } from '../../observability/redact.js';
import { checkShapes } from './answer-shapes.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { exchange, ExchangeFault, type RpcAnswer, type RpcCall } from './rpc-exchange.js';

export type Sent = { readonly answers: readonly RpcAnswer[] } | { readonly fault: string };

export interface RpcSender {
  /** Sends all calls to this node, in as many requests as it needs, and records its health. Never throws. */
  send(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<Sent>;
  /** Probes nodes that are not in use for their newest block, from time to time. */
  look(inUse: Endpoint | null): void;
}

const CHAIN_ID: RpcCall = { method: 'eth_chainId' };
const BLOCK_NUMBER: RpcCall = { method: 'eth_blockNumber' };
const LOOK_MS = 3_000;

export interface RpcSenderParts {
  readonly chainId: number;
  readonly slug: string;
  readonly clock: Clock;
}

/** RPC client of the nodes; it records their health. */
export function createRpcSender(endpoints: Endpoints, { clock, ...chain }: RpcSenderParts): RpcSender {
  async function exchangeAll(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    for (;;) {
      const size = endpoint.batchSize;
      const parts = Array.from({ length: Math.ceil(calls.length / size) }, (_, at) => calls.slice(at * size, (at + 1) * size));
      try {
        return (await Promise.all(parts.map((part) => exchange(endpoint.place, part, { timeoutMs, clock })))).flat();
      } catch (error) {
        if (!(error instanceof ExchangeFault) || !error.isTooMany || size === 1 || calls.length === 1) throw error;
        endpoint.batchSize = Math.max(1, Math.floor(Math.min(size, calls.length) / 2));
      }
    }
  }

  /** A node of another chain would answer everything wrongly, so its chain id is checked before its first answer is used. */
  async function proven(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    if (endpoint.isProven) return exchangeAll(endpoint, calls, timeoutMs);
    const answers = await exchangeAll(endpoint, [...calls, CHAIN_ID], timeoutMs);
    const last = answers.pop();
    const chainId = last !== undefined && 'result' in last ? Number(last.result) : Number.NaN;
    if (last !== undefined && 'error' in last) throw new ExchangeFault(last.error.message.slice(0, 200));
    if (!Number.isSafeInteger(chainId)) throw new ExchangeFault('it does not say which chain it serves');
    endpoint.foreignChainId = chainId === chain.chainId ? null : chainId;
    if (chainId !== chain.chainId) throw new ExchangeFault(`it serves chain id ${chainId}, but ${chain.slug} is ${chain.chainId}`);
    endpoint.isProven = true;
    return answers;
  }

  async function sendTo(endpoint: Endpoint, calls: readonly RpcCall[], timeoutMs: number): Promise<Sent> {
    const since = clock.monotonic();
    try {
      const answers = await proven(endpoint, calls, timeoutMs);
      checkShapes(calls, answers);
      const ms = clock.monotonic() - since;
      endpoints.answered(endpoint, ms);
      endpoint.calls.count(calls, answers, ms);
      for (const [at, call] of calls.entries()) noteHead(endpoint, call, answers[at]);
      return { answers };
    } catch (error) {
      const fault = error instanceof ExchangeFault ? error : null;
      const why = redactText(fault?.message ?? 'its answer could not be read');
      endpoints.failed(endpoint, why, fault?.retryAfterMs ?? null);
      endpoint.calls.count(calls, null, clock.monotonic() - since);
      return { fault: why };
    }
  }

  function noteHead(endpoint: Endpoint, { method, params }: RpcCall, answer: RpcAnswer | undefined): void {
    const result = answer !== undefined && 'result' in answer ? answer.result : null;
    if (method === 'eth_blockNumber' && typeof result === 'string') return endpoints.sawHead(endpoint, BigInt(result));
    const isLatest = method === 'eth_getBlockByNumber' && Array.isArray(params) && params[0] === 'latest';
    if (!isLatest || typeof result !== 'object' || result === null || !('number' in result)) return;
    if (typeof result.number === 'string') endpoints.sawHead(endpoint, BigInt(result.number));
  }

  return {
    send: sendTo,
    look(inUse) {
      for (const other of endpoints.dueForLook(inUse)) void sendTo(other, [BLOCK_NUMBER], LOOK_MS);
    },
  };
}
