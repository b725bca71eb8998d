import { parseJson } from '../../http/strict-json.js';
import type { RpcAnswer, RpcError } from './engine.js';

/** JSON-RPC 2.0 envelopes, single and batched, independent of the transport. */

export type Dispatch = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>;

const LONGEST_BATCH = 1000;
/** Concurrent items of a batch: enough to keep the engine busy, few enough to bound the memory of their traces. */
const AT_ONCE = 64;
/** Methods with side effects: later items of a batch must see their results. */
const ORDERED = /^eth_(send|subscribe|unsubscribe|uninstall|new)|Filter/;
/** Transactions are processed in the order they are sent, so a run of them need not wait for the replies. */
const TAKEN_IN_ORDER = 'eth_sendRawTransaction';

const refusal = (code: number, message: string, id: unknown = null): string => envelope(id, { error: { code, message } });

const envelope = (id: unknown, answer: RpcAnswer): string => JSON.stringify({ jsonrpc: '2.0', id, ...answer });

export const tooLarge = (): string => refusal(-32600, 'content length too large');

/** The text to send back, or null if all items were notifications. */
export async function answerRpc(text: string, dispatch: Dispatch): Promise<string | null> {
  const parsed = parseJson(text, { items: Infinity });
  if ('fault' in parsed) return refusal(-32700, 'parse error');
  const message = parsed.value;
  if (!Array.isArray(message)) return answerOne(message, dispatch);
  if (message.length === 0) return refusal(-32600, 'empty batch');
  if (message.length > LONGEST_BATCH) return refusal(-32600, 'batch too large');
  const answers = (await answerBatch(message, dispatch)).filter((answer) => answer !== null);
  return answers.length === 0 ? null : `[${answers.join(',')}]`;
}

/** Equivalent to geth's sequential processing: a batch of transactions relies on their order. Reads have no order among themselves. */
async function answerBatch(items: readonly unknown[], dispatch: Dispatch): Promise<(string | null)[]> {
  const answers: Promise<string | null>[] = [];
  let before: Kind | null = null;
  let start = 0;
  for (const [at, item] of items.entries()) {
    const kind = kindOf(item);
    if (kind !== before || at - start === AT_ONCE || kind === 'alone') {
      await Promise.all(answers);
      before = kind;
      start = at;
    }
    answers.push(answerOne(item, dispatch));
  }
  return Promise.all(answers);
}

type Kind = 'read' | 'transaction' | 'alone';

/** Reads and transactions run together with their kind; other methods run alone. */
function kindOf(item: unknown): Kind {
  if (typeof item !== 'object' || item === null || !('method' in item) || typeof item.method !== 'string') return 'read';
  if (item.method === TAKEN_IN_ORDER) return 'transaction';
  return ORDERED.test(item.method) ? 'alone' : 'read';
}

interface Request {
  id?: unknown;
  method?: unknown;
  params?: unknown;
}

async function answerOne(message: unknown, dispatch: Dispatch): Promise<string | null> {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return refusal(-32600, 'invalid request');
  const { id, method, params = [] }: Request = message;
  const validId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  if (!validId || typeof method !== 'string') return refusal(-32600, 'invalid request', validId ? (id ?? null) : null);
  const given: unknown = params ?? [];
  const answer: RpcAnswer = Array.isArray(given)
    ? await guarded(dispatch, method, given)
    : { error: { code: -32602, message: 'non-array args' } };
  return id === undefined ? null : envelope(id, answer);
}

async function guarded(dispatch: Dispatch, method: string, params: readonly unknown[]): Promise<RpcAnswer> {
  try {
    return await dispatch(method, params);
  } catch (error) {
    const failure: RpcError = { code: -32603, message: error instanceof Error ? error.message : 'internal error' };
    return { error: failure };
  }
}
