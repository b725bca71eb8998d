import type { RpcAnswer, RpcError } from './engine.js';

/** JSON-RPC 2.0 envelopes, single and batched, apart from any transport. */

export type Dispatch = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>;

const LONGEST_BATCH = 1000;

const refusal = (code: number, message: string, id: unknown = null): string => envelope(id, { error: { code, message } });

const envelope = (id: unknown, answer: RpcAnswer): string => JSON.stringify({ jsonrpc: '2.0', id, ...answer });

export const tooLarge = (): string => refusal(-32600, 'content length too large');

/** The text to send back, or null when all was notifications. */
export async function answerRpc(text: string, dispatch: Dispatch): Promise<string | null> {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return refusal(-32700, 'parse error');
  }
  if (!Array.isArray(message)) return answerOne(message, dispatch);
  if (message.length === 0) return refusal(-32600, 'empty batch');
  if (message.length > LONGEST_BATCH) return refusal(-32600, 'batch too large');
  const answers: string[] = [];
  // One after another, as geth: a batch that sends transactions counts on their order.
  for (const item of message as unknown[]) {
    const answer = await answerOne(item, dispatch);
    if (answer !== null) answers.push(answer);
  }
  return answers.length === 0 ? null : `[${answers.join(',')}]`;
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
