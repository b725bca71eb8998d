import { ChainError } from './errors.js';
import type { Fetch } from './http.js';

/** One JSON-RPC request; throws what the node has against it. An injected wallet's `request` can be wrapped in this. */
export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code?: number; readonly message?: string; readonly data?: unknown };
}

/** A node that is reached over HTTP. */
export function httpRpc(url: string, fetch: Fetch): Rpc {
  let id = 0;
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params });
    const unanswered = (error: unknown): never => {
      throw new ChainError(`the node does not answer ${method}`, { cause: error });
    };
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body, redirect: 'error' } as const;
    const response = await fetch(url, init).catch(unanswered);
    const reply = readReply(await response.text().catch(unanswered));
    if (reply === null) throw new ChainError(`the node answered ${method} with ${response.status} and no JSON-RPC reply`);
    if (reply.error !== undefined) throw new ChainError(`the node refused ${method}: ${reply.error.message ?? 'no reason given'}`);
    return reply.result;
  };
}

function readReply(text: string): RpcReply | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && ('result' in parsed || 'error' in parsed) ? (parsed as RpcReply) : null;
  } catch {
    return null;
  }
}
