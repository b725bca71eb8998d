import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { gunzip } from 'node:zlib';
import { GatewayError } from '../core/errors.js';
import { venueOf, type Gateway } from '../core/gateway.js';
import type { ResponseCache } from '../core/caching/response-cache.js';
import { tightestWindow, type Window } from '../core/access/limits.js';
import type { OpenScope, RequestScopes } from '../core/observability/tracing.js';
import type { TradeHandlers } from './actions/trade.js';
import { createCompatEndpoint, createExchangeHandler } from './exchange.js';
import { COMPAT_REPORT } from './compat-report.js';
import { TEXT_TYPE, type Answer, type Client, type Endpoint, type ReadClient } from './endpoint.js';
import { createInfoHandler } from './info/info-handler.js';
import { announcesBody, linger, unknownPathText, windowHeaders } from '../http/respond.js';
import { collectBytes, PIECES_TEXT } from '../http/request.js';

/** Clients join their base URL and the last segment with one slash, two or none; some lose the chain when its slash is missing. */
const PATH = /^\/+hl(?:\/+([^/?]+))??\/+([^/?]+)\/*(?:\?|$)/;

export interface FacadeParts {
  readonly clientOf: ReadClient;
  readonly responses: ResponseCache;
  readonly trade: TradeHandlers | null;
}

/** The Hyperliquid-compatible endpoints of a gateway, `/hl/{chain}/…`. */
export function createFacade(gateway: Gateway, { clientOf, responses, trade }: FacadeParts): RequestListener {
  const info = createInfoHandler(gateway, responses);
  const endpoints: ReadonlyMap<string, Endpoint> = new Map([
    ['info', info],
    ['exchange', createExchangeHandler(gateway, trade)],
    ['compat', createCompatEndpoint(COMPAT_REPORT)],
  ]);
  return (request, response) => {
    const client = clientOf(request);
    if (request.method === 'OPTIONS') {
      gateway.metrics.request('facade', 'preflight', PREFLIGHT, 0);
      return answerPreflight(response, client);
    }
    const window = gateway.access.countAddress(client.address);
    const [, slug = '', word = ''] = PATH.exec(request.url ?? '') ?? [];
    const endpoint = endpoints.get(word);
    const since = gateway.clock.monotonic();
    const scope = gateway.scopes === null ? null : openScope(gateway.scopes, request);
    const send = (answer: Answer): void => {
      sendAnswer(response, client, window, answer);
      const operation = answer.operation ?? (endpoint === undefined ? 'other' : word);
      gateway.metrics.request('facade', operation, answer.status, gateway.clock.monotonic() - since);
      scope?.close(operation, answer.status);
    };
    // A declined handshake of a socket comes here too.
    if (endpoint === undefined) return send(window.isExceeded ? info.refuse(exceeded(window)) : nowhere(gateway, request));
    serve({ gateway, endpoint, slug, client, request, scope, send }, window);
  };
}

const exceeded = ({ scope, resetSeconds }: Window): GatewayError =>
  new GatewayError('RATE_LIMITED', { scope, retryAfterSeconds: resetSeconds });

function openScope(scopes: RequestScopes, { method = '', headers }: IncomingMessage): OpenScope {
  const traceparent = headers['traceparent'];
  return scopes.open({
    api: 'facade',
    transport: 'http',
    method,
    traceparent: Array.isArray(traceparent) ? undefined : traceparent,
  });
}

const nowhere = ({ venues }: Gateway, { url = '' }: IncomingMessage): Answer => ({
  status: 404,
  type: TEXT_TYPE,
  body: unknownPathText(url, [...venues.keys()]),
});

interface Call {
  readonly gateway: Gateway;
  readonly endpoint: Endpoint;
  readonly slug: string;
  readonly client: Client;
  readonly request: IncomingMessage;
  readonly scope: OpenScope | null;
  readonly send: (answer: Answer) => void;
}

function serve(call: Call, window: Window): void {
  const { gateway, endpoint, slug, client, request, scope, send } = call;
  if (window.isExceeded) return send(endpoint.refuse(exceeded(window)));
  const { method = 'POST' } = endpoint;
  if (request.method !== method)
    return send({ status: 405, type: TEXT_TYPE, body: `Only ${method} is offered here.`, headers: { Allow: method } });
  readBody(request, (error, bytes) => {
    const answer = async (): Promise<Answer> => {
      if (error !== null) throw error;
      return endpoint.answer({ venue: venueOf(gateway, slug), bytes, client });
    };
    const serveIt = (): void =>
      void answer()
        .catch((fault: unknown) => endpoint.refuse(known(fault, call)))
        .then(send)
        .catch((fault: unknown) => drop(fault, call));
    // Entered after the body was read: body events belong to the connection.
    if (scope === null) serveIt();
    else scope.run(client.requestId, serveIt);
  });
}

const isKnown = (fault: unknown): fault is GatewayError => fault instanceof GatewayError;

/** Errors of the catalogue pass; anything else is a fault of ours and is logged with the request id of the reply. */
function known(fault: unknown, { gateway, slug, client, request }: Call): GatewayError {
  if (isKnown(fault)) return fault;
  const { requestId } = client;
  gateway.log.error('facade.internal-error', { requestId, chain: slug, path: request.url, error: fault });
  return new GatewayError('INTERNAL', { requestId });
}

/** Last resort: if the reply cannot be sent, only its connection is closed. */
function drop(fault: unknown, { gateway, slug, client: { requestId }, request }: Call): void {
  gateway.log.error('facade.answer-not-sent', { requestId, chain: slug, path: request.url, error: fault });
  request.socket.destroy();
}

const PREFLIGHT = 204;

function answerPreflight(response: ServerResponse, { requestId }: Client): void {
  response.writeHead(PREFLIGHT, {
    'X-Request-Id': requestId,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': '*',
    'Access-Control-Max-Age': '86400',
  });
  response.end();
}

/** Two hundred orders with all optional fields are a quarter of this. */
export const BODY_LIMIT_BYTES = 256 * 1024;

type Done = (error: GatewayError | null, bytes: Buffer) => void;

const NO_BYTES = Buffer.alloc(0);
const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal(`must not exceed ${BODY_LIMIT_BYTES / 1024} KiB`);

/** Reads the whole body, whatever its Content-Type; a client that disconnects meanwhile gets no reply. */
function readBody(request: IncomingMessage, done: Done): void {
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip') return done(refusal('must be plain or gzip'), NO_BYTES);
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return done(tooLarge(), NO_BYTES);
  const take = encoding === 'gzip' ? unpackedInto(done) : done;
  collectBytes(request, BODY_LIMIT_BYTES, (fault, bytes) =>
    take(fault === null ? null : fault === 'too-large' ? tooLarge() : refusal(PIECES_TEXT), bytes),
  );
}

/** A few compressed bytes may expand to gigabytes: decompression stops at the same limit. */
const unpackedInto =
  (done: Done): Done =>
  (error, packed) => {
    if (error !== null) return done(error, packed);
    gunzip(packed, { maxOutputLength: BODY_LIMIT_BYTES }, (fault, bytes) =>
      fault === null ? done(null, bytes) : done(isTooLong(fault) ? tooLarge() : refusal('is not gzip'), NO_BYTES),
    );
  };

const isTooLong = (fault: NodeJS.ErrnoException): boolean => fault.code === 'ERR_BUFFER_TOO_LARGE';

/** How much of a refused request is still read before its connection is cut. */
const LINGER_BYTES = 2 * 1024 * 1024;

/** One write for headers and body. */
function sendAnswer(response: ServerResponse, client: Client, ofAddress: Window, answer: Answer): void {
  const { status, type, body, headers, windows = [] } = answer;
  const window = tightestWindow([ofAddress, ...windows]) ?? ofAddress;
  const isUnread = !response.req.complete && announcesBody(response.req);
  response.writeHead(status, [
    'Access-Control-Allow-Origin',
    '*',
    'X-Request-Id',
    client.requestId,
    'cf-ray',
    client.ray,
    ...windowHeaders(window),
    'Content-Type',
    type,
    'Content-Length',
    String(typeof body === 'string' ? Buffer.byteLength(body) : body.length),
    ...Object.entries(headers ?? {}).flat(),
    ...(isUnread ? ['Connection', 'close'] : []),
  ]);
  if (!isUnread) return void response.end(body);
  response.write(body);
  linger(response.req, LINGER_BYTES, () => response.end());
}
