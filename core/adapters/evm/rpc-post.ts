import { request as plainRequest, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { createGunzip } from 'node:zlib';
import type { Clock } from '../../ports/clock.js';
import { movedTo, type RpcPlace } from './rpc-place.js';

export interface PostOptions {
  /** Until the last byte of the answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Requests compression, which pays off for large answers only. */
  readonly isLarge: boolean;
}

export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The message is a code such as ECONNREFUSED, or empty. `closed`: a reused connection closed without an answer. */
export class PostFault extends Error {
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
