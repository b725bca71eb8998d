import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { GatewayError, retryAfterSeconds } from '../core/errors.js';
import type { Logger } from '../core/ports/log.js';
import { tightestWindow, type Window } from '../core/access/limits.js';

export interface ErrorBody {
  code: string;
  message: string;
  details?: unknown;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How much of a refused request is still read, and for how long, before its connection is cut. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 2_000;

export const requestId = (response: ServerResponse): string => String(response.getHeader('X-Request-Id'));

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendBytes(response, status, JSON_TYPE, JSON.stringify(body));
}

/** A string leaves in one write with its headers; for bytes that are sent often the encoding is saved. */
export function sendBytes(response: ServerResponse, status: number, type: string, bytes: Buffer | string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(bytes));
  const { req: request } = response;
  if (request.complete || !announcesBody(request)) return void response.end(bytes);
  response.setHeader('Connection', 'close');
  response.write(bytes);
  linger(request, LINGER_BYTES, () => response.end());
}

export const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** The reply was sent before the request was complete: closing at once would reset the connection and lose the reply. */
export function linger(request: IncomingMessage, bytes: number, done: () => void): void {
  let left = bytes;
  const patience = setTimeout(done, LINGER_MS);
  const finish = (): void => {
    clearTimeout(patience);
    done();
  };
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  });
  request.on('close', finish).on('end', finish).resume();
}

/** The one error handler: errors of the catalogue are sent to the client, everything else becomes INTERNAL and is logged with its id. */
export function answerError(log: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const known = asGatewayError(error) ?? internal(error, request, response, log);
    sendError(response, known);
  };
}

export function sendError(response: ServerResponse, error: GatewayError, status = error.status): void {
  const wait = retryAfterSeconds(error);
  if (wait !== null) response.setHeader('Retry-After', wait);
  const details = Object.keys(error.details).length > 0 ? { details: error.details } : {};
  sendJson(response, status, { code: error.code, message: error.message, ...details } satisfies ErrorBody);
}

function internal(error: unknown, request: Request, response: Response, log: Logger): GatewayError {
  log.error('http.internal-error', { requestId: requestId(response), method: request.method, path: request.path, error });
  return new GatewayError('INTERNAL', { requestId: requestId(response) });
}

function asGatewayError(error: unknown): GatewayError | null {
  if (error instanceof GatewayError) return error;
  const refusal = requestFault(error);
  return refusal === null ? null : new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: refusal }] });
}

/** Express throws objects with a 4xx `status` if the request is at fault. */
function requestFault(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('status' in error) || typeof error.status !== 'number') return null;
  if (error.status < 400 || error.status >= 500) return null;
  return error instanceof URIError ? 'has a path that cannot be decoded' : 'cannot be read';
}

/** Routes for every origin. Operator and sandbox routes are left out on purpose: no page may read their replies. */
const PUBLIC = /^\/(?:v1|health|ready|openapi\.json)(?:[/?]|$)/;

const EXPOSED = [
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After'],
  ...['X-Request-Id', 'cf-ray', 'Preference-Applied', 'Allow'],
].join(', ');

/** Credentials are headers that browsers never add by themselves, so any page may call: it can only send credentials it was given. */
export const CORS_HEADERS = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED] as const;

const isPublic = (url: string): boolean => PUBLIC.test(url);

export function setCorsHeaders({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (!isPublic(url)) return;
  const [origin, any, expose, names] = CORS_HEADERS;
  response.setHeader(origin, any);
  response.setHeader(expose, names);
}

const CREDENTIALS = ['Agent', 'Timestamp', 'Nonce', 'Signature', 'Api-Key'];
const A_DAY_S = 86_400;
const NO_CONTENT = 204;

/** Answers a CORS preflight request; true if it was one. */
export function createPreflight(headerPrefixes: readonly string[]): (request: IncomingMessage, response: ServerResponse) => boolean {
  const credentials = headerPrefixes.flatMap((prefix) => CREDENTIALS.map((name) => `${prefix}${name}`));
  const allowed = ['Content-Type', 'Prefer', 'X-Request-Id', 'traceparent', ...credentials].join(', ');
  return ({ method, url = '', headers }, response) => {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined || !isPublic(url)) return false;
    response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PATCH, DELETE');
    response.setHeader('Access-Control-Allow-Headers', allowed);
    response.setHeader('Access-Control-Max-Age', A_DAY_S);
    response.writeHead(NO_CONTENT).end();
    return true;
  };
}

/** The tightest of the buckets that a reply counted against so far. */
const reported = new WeakMap<ServerResponse, Window>();

/** The headers of one bucket, as `writeHead` takes them. */
export const windowHeaders = ({ limit, remaining, resetSeconds }: Window): string[] => [
  ...['RateLimit-Limit', String(limit)],
  ...['RateLimit-Remaining', String(remaining)],
  ...['RateLimit-Reset', String(resetSeconds)],
];

/** The headers report the tightest of all buckets that applied. */
export function addWindows(response: ServerResponse, windows: readonly Window[]): void {
  const before = reported.get(response);
  const tightest = tightestWindow(before === undefined ? windows : [before, ...windows]);
  if (tightest === null || tightest === before) return;
  reported.set(response, tightest);
  response.setHeader('RateLimit-Limit', tightest.limit);
  response.setHeader('RateLimit-Remaining', tightest.remaining);
  response.setHeader('RateLimit-Reset', tightest.resetSeconds);
}

/** The answer to a path that leads nowhere: most clients that ask for one have a wrong base URL, so it names the right one. */

const FACADE_WORDS: ReadonlySet<string> = new Set(['info', 'exchange']);

const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '');
/** With single slashes and none at the end: clients join their base URL and the rest in every way. */
const tidy = (path: string): string => path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');

/** `url` is that of the request line; `chains` are the names of those that are served. */
export function unknownPathText(url: string, chains: readonly string[], start = 'There is nothing at this path.'): string {
  const path = withoutQuery(url);
  const words = tidy(path).split('/').slice(1);
  const served = `served: ${chains.join(', ')}`;
  const advice = words[0]?.toLowerCase() === 'hl' ? facadeAdvice(words, chains, served) : otherAdvice(path, words, chains, served);
  return `${start} ${advice}`;
}

function otherAdvice(path: string, words: readonly string[], chains: readonly string[], served: string): string {
  const [first = '', second = ''] = words;
  const last = words.at(-1) ?? '';
  const example = words.find((word) => chains.includes(word)) ?? chains[0] ?? '{chain}';
  if (FACADE_WORDS.has(last)) return `A Hyperliquid client has the base URL /hl/{chain}: ${last} is at /hl/${example}/${last}.`;
  if (first === 'v1' && second === '') return `The base URL of the native API ends with the chain: /v1/${example}; ${served}.`;
  if (first === 'v1' && tidy(path) !== path) return `Paths of the native API have single slashes and none at the end: ${tidy(path)}.`;
  if (last === 'ws' && second === example) return `${path} is a WebSocket: ask for an upgrade.`;
  if (last === 'ws') return `The stream of a Hyperliquid client is /hl/{chain}/ws, that of the native API /v1/{chain}/ws; ${served}.`;
  if (first === 'v1') return 'GET /docs lists every operation.';
  if (chains.includes(first)) return `The native API is at /v1/${first}, the facade for Hyperliquid clients at /hl/${first}.`;
  return `The native API is at /v1/{chain} (GET /docs describes it), the facade for Hyperliquid clients at /hl/{chain}; ${served}.`;
}

function facadeAdvice([first = '', chain = '', word = '']: readonly string[], chains: readonly string[], served: string): string {
  const example = chains[0] ?? '{chain}';
  if (first !== 'hl') return `Its beginning is written in small letters: /hl/${example}.`;
  if (chain === '' || chain === 'ws') return `The base URL of a Hyperliquid client ends with the chain: /hl/${example}; ${served}.`;
  if (!chains.includes(chain)) return `There is no chain "${chain}" here; ${served}.`;
  if (word === 'ws') return `/hl/${chain}/ws is a WebSocket: ask for an upgrade.`;
  return `/hl/${chain} is a base URL: POST /hl/${chain}/info and /hl/${chain}/exchange, WS /hl/${chain}/ws.`;
}
