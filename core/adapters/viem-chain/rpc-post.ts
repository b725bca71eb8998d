import {
  Agent as PlainAgent,
  request as plainRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { createGunzip } from 'node:zlib';

/** A node as HTTP reaches it, worked out once. */
export interface RpcPlace {
  /** Without its user. */
  readonly url: string;
  readonly options: RequestOptions;
  readonly isTls: boolean;
}

/** Providers whose addresses hold a user mean basic authentication. */
export function rpcPlace(address: string): RpcPlace {
  const url = new URL(address);
  const { auth, ...options } = urlToHttpOptions(url);
  const user = auth === undefined || auth === ':' ? null : auth;
  const isTls = url.protocol === 'https:';
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    isTls,
    options: {
      ...options,
      method: 'POST',
      agent: isTls ? TLS : PLAIN,
      headers: {
        Accept: '*/*',
        'Content-Type': 'application/json',
        ...(user === null ? {} : { Authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
      },
    },
  };
}

export interface PostOptions {
  readonly timeoutMs: number;
  /** Large answers are worth being compressed; small ones are sooner sent than packed. */
  readonly isLarge: boolean;
}

export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Its message is a code such as ECONNREFUSED, or empty. */
export class PostFault extends Error {
  override readonly name = 'PostFault';
  readonly kind: 'silent' | 'unreachable' | 'too-large';

  constructor(kind: PostFault['kind'], code = '') {
    super(code);
    this.kind = kind;
  }
}

const LARGEST_ANSWER = 64 * 1024 * 1024;
/** Shorter than servers keep a connection that nobody uses, so that hardly any request meets one that is being closed. */
const IDLE_MS = 4_000;

const PLAIN = new PlainAgent({ keepAlive: true, timeout: IDLE_MS });
const TLS = new TlsAgent({ keepAlive: true, timeout: IDLE_MS });

const MOVED: ReadonlySet<number> = new Set([307, 308]);
const MOST_MOVES = 3;

/** Node's own client: `fetch` spends more time on streams and signals than a node's answer takes to read. */
export async function post(place: RpcPlace, body: string, options: PostOptions): Promise<Posted> {
  let at = place;
  for (let moves = 0; ; moves += 1) {
    const posted = await postOnce(at, body, options);
    const { location } = posted.headers;
    if (!MOVED.has(posted.status) || location === undefined || moves === MOST_MOVES) return posted;
    at = movedTo(at, location);
  }
}

/** Nobody but the node we were told of hears who we are. */
function movedTo({ url, options }: RpcPlace, location: string): RpcPlace {
  if (!URL.canParse(location, url)) throw new PostFault('unreachable', 'it has moved to no address');
  const moved = rpcPlace(new URL(location, url).href);
  return new URL(moved.url).origin === new URL(url).origin ? { ...moved, options: { ...moved.options, headers: options.headers } } : moved;
}

function postOnce({ options, isTls }: RpcPlace, body: string, { timeoutMs, isLarge }: PostOptions): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const sent = (isTls ? tlsRequest : plainRequest)(options, (response) => {
      collect(response, (fault, text) => {
        clearTimeout(timer);
        if (fault === null) return resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        sent.destroy();
        reject(fault);
      });
    });
    const timer = setTimeout(() => {
      sent.destroy();
      reject(new PostFault('silent'));
    }, timeoutMs);
    sent.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(new PostFault('unreachable', error.code));
    });
    if (isLarge) sent.setHeader('Accept-Encoding', 'gzip');
    sent.setHeader('Content-Length', Buffer.byteLength(body));
    sent.end(body);
  });
}

/** All of an answer as text; called once. */
function collect(response: IncomingMessage, done: (fault: PostFault | null, text: string) => void): void {
  const isPacked = response.headers['content-encoding'] === 'gzip';
  const source = isPacked ? response.pipe(createGunzip()) : response;
  const chunks: Buffer[] = [];
  let length = 0;
  const fail = (kind: PostFault['kind'], code?: string): void => {
    source.off('data', onData).off('end', onEnd);
    done(new PostFault(kind, code), '');
  };
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (length > LARGEST_ANSWER) fail('too-large');
    else chunks.push(chunk);
  };
  const onEnd = (): void => done(null, chunks.length === 1 && chunks[0] ? chunks[0].toString() : Buffer.concat(chunks, length).toString());
  if (Number(response.headers['content-length'] ?? 0) > LARGEST_ANSWER) return fail('too-large');
  source.on('data', onData).on('end', onEnd);
  response.on('error', (error: NodeJS.ErrnoException) => fail('unreachable', error.code));
  if (isPacked) source.on('error', () => fail('unreachable'));
}
