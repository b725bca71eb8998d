import {
  Agent as PlainAgent,
  request as plainRequest,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { createGunzip } from 'node:zlib';
import { urlToHttpOptions } from 'node:url';
import { hideAddress, redactText, type Mask } from '../../observability/redact.js';
import type { Clock } from '../../ports/clock.js';

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

interface PostOptions {
  /** Until the last byte of the answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Requests compression, which pays off for large answers only. */
  readonly isLarge: boolean;
}

interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The message is a code such as ECONNREFUSED, or empty. `closed`: a reused connection closed without an answer. */
class PostFault extends Error {
  override readonly name = 'PostFault';
  readonly kind: 'silent' | 'unreachable' | 'closed' | 'too-large';

  constructor(kind: PostFault['kind'], code = '') {
    super(code);
    this.kind = kind;
  }
}

const LARGEST_ANSWER = 64 * 1024 * 1024;
const MOVED: ReadonlySet<number> = new Set([307, 308]);
const MAX_REDIRECTS = 3;

/** Uses Node's HTTP client, because `fetch` spends more time on streams and signals than an answer takes to read. */
export async function post(place: RpcPlace, body: string, { timeoutMs, clock, isLarge }: PostOptions): Promise<Posted> {
  const end = clock.monotonic() + timeoutMs;
  let at: RpcPlace | null = place;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const posted = await postWithRetry(at, body, { end, clock, isLarge });
    const { location } = posted.headers;
    if (!MOVED.has(posted.status) || location === undefined) return posted;
    at = movedTo(at, location);
    if (at === null) throw new PostFault('unreachable', 'it has moved to no address');
  }
  throw new PostFault('unreachable', 'it moves in circles');
}

interface Sending {
  readonly end: number;
  readonly clock: Clock;
  readonly isLarge: boolean;
}

/**
 * Servers may close an idle connection just as we write to it. That is no failure of the node, so the request is repeated on a new
 * connection. If the first one did arrive, nothing happens twice: reads are idempotent, and the same bytes are the same transaction.
 */
async function postWithRetry(place: RpcPlace, body: string, sending: Sending): Promise<Posted> {
  try {
    return await postOnce(place, body, sending);
  } catch (error) {
    if (!(error instanceof PostFault) || error.kind !== 'closed') throw error;
    return postOnce({ ...place, options: { ...place.options, agent: false } }, body, sending);
  }
}

function postOnce({ options, isTls }: RpcPlace, body: string, { end, clock, isLarge }: Sending): Promise<Posted> {
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const sent = (isTls ? tlsRequest : plainRequest)(options, (response) => {
      isAnswered = true;
      collect(response, (fault, text) => {
        cancel();
        if (fault === null) return resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        sent.destroy();
        reject(fault);
      });
    });
    const giveUp = (): void => {
      sent.destroy();
      reject(new PostFault('silent'));
    };
    const cancel = clock.after(Math.max(end - clock.monotonic(), 0), giveUp);
    sent.on('error', (error: NodeJS.ErrnoException) => {
      cancel();
      reject(new PostFault(!isAnswered && isClosed(sent, error) ? 'closed' : 'unreachable', error.code));
    });
    if (isLarge) sent.setHeader('Accept-Encoding', 'gzip');
    sent.setHeader('Content-Length', Buffer.byteLength(body));
    sent.end(body);
  });
}

const isClosed = ({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');

/** Collects the answer as text; calls `done` once. */
function collect(response: IncomingMessage, done: (fault: PostFault | null, text: string) => void): void {
  if (Number(response.headers['content-length'] ?? 0) > LARGEST_ANSWER) return done(new PostFault('too-large'), '');
  const isPacked = response.headers['content-encoding']?.toLowerCase() === 'gzip';
  const source = isPacked ? response.pipe(createGunzip()) : response;
  const chunks: Buffer[] = [];
  let length = 0;
  const fail = (kind: PostFault['kind'], code?: string): void => {
    source.off('data', onData).off('end', onEnd).destroy();
    chunks.length = 0;
    done(new PostFault(kind, code), '');
  };
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > LARGEST_ANSWER) fail('too-large');
    else chunks.push(chunk);
  };
  const onEnd = (): void => done(null, chunks.length === 1 && chunks[0] ? chunks[0].toString() : Buffer.concat(chunks, length).toString());
  source.on('data', onData).on('end', onEnd);
  response.on('error', (error: NodeJS.ErrnoException) => fail('unreachable', error.code));
  if (isPacked) source.on('error', () => fail('unreachable', 'its answer is badly packed'));
}

/** Connection settings of a node, computed once. */
export interface RpcPlace {
  /** Without user name and password. */
  readonly url: string;
  readonly options: RequestOptions;
  readonly isTls: boolean;
  /** Removes secrets of the URL from the node's messages. */
  readonly mask: Mask;
}

/** Shorter than the idle timeout of common servers, so that requests rarely use a connection that is being closed. */
const IDLE_MS = 4_000;

/** Idle sockets do not keep the process alive. */
const PLAIN = new PlainAgent({ keepAlive: true, timeout: IDLE_MS });
const TLS = new TlsAgent({ keepAlive: true, timeout: IDLE_MS });

/** A user name in the URL means basic authentication. */
export function rpcPlace(address: string): RpcPlace {
  const url = new URL(address);
  const isTls = url.protocol === 'https:';
  const hasUser = url.username !== '' || url.password !== '';
  const user = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    isTls,
    mask: hideAddress([address]),
    options: {
      ...urlToHttpOptions(url),
      method: 'POST',
      agent: isTls ? TLS : PLAIN,
      headers: {
        Accept: '*/*',
        'Content-Type': 'application/json',
        ...(hasUser ? { Authorization: `Basic ${Buffer.from(user).toString('base64')}` } : {}),
      },
    },
  };
}

/** A password may contain percent signs that are no escapes. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Follows a redirect; credentials are sent to the configured origin only. Null for an invalid URL, or a downgrade from TLS. */
export function movedTo({ url, options, isTls }: RpcPlace, location: string): RpcPlace | null {
  if (!URL.canParse(location, url)) return null;
  const { href, origin, protocol } = new URL(location, url);
  if (protocol !== 'https:' && (protocol !== 'http:' || isTls)) return null;
  const moved = rpcPlace(href);
  return origin === new URL(url).origin ? { ...moved, options: { ...moved.options, headers: options.headers } } : moved;
}
