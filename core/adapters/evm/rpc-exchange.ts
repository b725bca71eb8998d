import type { Mask } from '../../observability/mask-secrets.js';
import { redactText } from '../../observability/redact.js';
import type { RpcPlace } from './rpc-place.js';
import { post, PostFault, type Posted, type PostOptions } from './rpc-post.js';

export interface RpcCall {
  readonly method: string;
  readonly params?: unknown;
}

export interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type RpcAnswer = { readonly result: unknown } | { readonly error: RpcFailure };

interface FaultOptions {
  readonly retryAfterMs?: number | null;
  readonly isTooMany?: boolean;
  readonly isSilence?: boolean;
}

/** The endpoint gave no usable answer. The message contains no part of its URL. */
export class ExchangeFault extends Error {
  override readonly name = 'ExchangeFault';
  readonly retryAfterMs: number | null;
  /** The batch was too large for the endpoint. */
  readonly isTooMany: boolean;
  /** It accepted the request and did not answer in time. */
  readonly isSilence: boolean;

  constructor(message: string, { retryAfterMs = null, isTooMany = false, isSilence = false }: FaultOptions = {}) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.isTooMany = isTooMany;
    this.isSilence = isSilence;
  }
}

/** One HTTP request: returns an answer for every call, in order, or throws. */
export async function exchange(
  place: RpcPlace,
  calls: readonly RpcCall[],
  options: Pick<PostOptions, 'timeoutMs' | 'clock'>,
): Promise<RpcAnswer[]> {
  const messages = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  const posted = await postOrFault(place, JSON.stringify(messages.length === 1 ? messages[0] : messages), {
    ...options,
    isLarge: calls.some(({ method }) => method === 'eth_getLogs'),
  });
  refuseStatus(posted);
  return inOrder(parsed(posted.text), calls.length, place.mask);
}

async function postOrFault(place: RpcPlace, body: string, options: PostOptions): Promise<Posted> {
  try {
    return await post(place, body, options);
  } catch (error) {
    if (!(error instanceof PostFault)) throw error;
    throw new ExchangeFault(messageOf(error, options.timeoutMs), { isSilence: error.kind === 'silent' });
  }
}

function messageOf({ kind, message: code }: PostFault, timeoutMs: number): string {
  if (kind === 'too-large') return 'its answer is too large';
  if (kind === 'silent') return `no answer within ${timeoutMs / 1000} s`;
  return `cannot be reached${code === '' ? '' : ` (${code})`}`;
}

/** Statuses that reject the request itself; other 4xx contain a JSON-RPC error. */
function refuseStatus({ status, headers }: Posted): void {
  const isAnswer = status < 300 || (status >= 400 && status < 500);
  if (isAnswer && ![401, 403, 404, 408, 413, 429].includes(status)) return;
  throw new ExchangeFault(`HTTP ${status}`, { isTooMany: status === 413, retryAfterMs: retryAfter(headers['retry-after']) });
}

function retryAfter(header: string | undefined): number | null {
  const seconds = Number(header ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ExchangeFault('its answer is not JSON');
  }
}

function inOrder(body: unknown, count: number, mask: Mask): RpcAnswer[] {
  if (!Array.isArray(body) && count > 1) throw refusedWhole(body, mask);
  const items: unknown[] = Array.isArray(body) ? body : [body];
  const answers: RpcAnswer[] = [];
  for (const item of items) {
    const answer = answerIn(item, mask);
    if (answer !== null) answers[answer.id ?? 0] = answer;
  }
  if (Object.keys(answers).length !== count || answers.length !== count) throw new ExchangeFault('its answer is not complete');
  return answers;
}

/** One error for a whole batch: the endpoint takes no batches, none of this size, or nothing from us now. */
function refusedWhole(body: unknown, mask: Mask): ExchangeFault {
  const answer = answerIn(body, mask);
  if (answer === null || !('error' in answer)) return new ExchangeFault('its answer is not complete');
  const { code, message } = answer.error;
  const isTooMany = code === -32600 || /batch|too many|invalid request|array/i.test(message);
  return new ExchangeFault(redactText(message).slice(0, 200), { isTooMany: isTooMany && !/rate|per second|limit exceeded/i.test(message) });
}

function answerIn(item: unknown, mask: Mask): (RpcAnswer & { readonly id: number | null }) | null {
  if (typeof item !== 'object' || item === null) return null;
  const id = 'id' in item && typeof item.id === 'number' ? item.id : null;
  if ('error' in item && item.error !== null && item.error !== undefined) return { id, error: failureIn(item.error, mask) };
  return 'result' in item ? { id, result: item.result } : null;
}

function failureIn(error: unknown, mask: Mask): RpcFailure {
  const fields = typeof error === 'object' && error !== null ? error : { message: String(error) };
  const code = 'code' in fields ? Number(fields.code) : Number.NaN;
  return {
    code: Number.isFinite(code) ? code : -32603,
    message: 'message' in fields && typeof fields.message === 'string' ? mask(fields.message) : 'the node said nothing',
    ...('data' in fields ? { data: fields.data } : {}),
  };
}
