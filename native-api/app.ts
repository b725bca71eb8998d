import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type Express, type RequestHandler, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import { refuseExceeded } from '../core/access/limits.js';
import type { ResponseCache } from '../core/caching/response-cache.js';
import { createClientReader, readBody, rememberClient, setClientHeaders, type ReadClient } from '../http/request.js';
import {
  addWindows,
  announcesBody,
  answerError,
  CORS_HEADERS,
  createPreflight,
  JSON_TYPE,
  requestId,
  sendError,
  setCorsHeaders,
  unknownPathText,
  windowHeaders,
} from '../http/respond.js';
import { docsRouter } from './docs.js';
import { openApiDocument } from './openapi.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { nativeRouter } from './router.js';
import type { Clock } from '../core/ports/clock.js';
import type { Metrics } from '../core/observability/metrics.js';
import type { OpenScope, RequestScopes } from '../core/observability/tracing.js';

export interface OtherRoutes {
  /** Routes of the sandbox, without rate limits; production has none. */
  readonly extraRoutes?: readonly Router[];
  /** Routes of the operator, with the usual rate limits for requests without the operator's token. */
  readonly operatorRoutes?: readonly Router[];
  /** Whether a request has the right token for its path; absent: none has. */
  readonly isOperator?: IsOperator | undefined;
  /** The pages and what stands at `/`, with the usual rate limits. */
  readonly pageRoutes?: readonly Router[];
}

/** The native API of a gateway, with the routes served beside it. */
export function createApp(
  gateway: Gateway,
  responses: ResponseCache,
  { extraRoutes = [], operatorRoutes = [], pageRoutes = [], isOperator }: OtherRoutes = {},
): RequestListener {
  const clientOf = createClientReader(gateway);
  const host = createHost({ gateway, operations: OPERATIONS, extraRoutes, operatorRoutes, pageRoutes, isOperator, clientOf, responses });
  const { metrics, clock, scopes } = gateway;
  return measureRequests(
    { metrics, clock, scopes, nameOf: createOperationNamer(OPERATIONS) },
    serveCached(gateway, clientOf, responses, host),
  );
}

export interface HostOptions {
  readonly gateway: Gateway;
  readonly operations: readonly Operation[];
  readonly extraRoutes: readonly Router[];
  readonly operatorRoutes?: readonly Router[];
  readonly pageRoutes?: readonly Router[];
  /** Whether a request has the operator's right to what it asks for; absent: none has. */
  readonly isOperator?: IsOperator | undefined;
  readonly clientOf: ReadClient;
  readonly responses: ResponseCache;
}

/** The HTTP host. Bytes are kept as they arrive; the operation parses them, never the host. */
export function createHost({
  gateway,
  operations,
  extraRoutes,
  operatorRoutes = [],
  pageRoutes = [],
  isOperator = () => false,
  clientOf,
  responses,
}: HostOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');

  app.use(receive(gateway, clientOf, { hasSandbox: extraRoutes.length > 0, isOperator }));
  app.use(readBody);
  if (gateway.scopes !== null) app.use(enterScope);
  for (const router of [...extraRoutes, ...operatorRoutes, ...pageRoutes]) app.use(router);
  app.use(docsRouter(() => openApiDocument(operations, gateway.access.headerPrefixes[0] ?? '')));
  app.use(nativeRouter(gateway, operations, responses));
  app.use((request, response) => {
    const reason = unknownPathText(request.originalUrl, [...gateway.venues.keys()]);
    sendError(response, new GatewayError('UNSUPPORTED', { reason }), 404);
  });
  app.use(answerError(gateway.log));
  return app;
}

const SANDBOX = /^\/sandbox(?:[/?]|$)/;

type IsOperator = (request: IncomingMessage) => boolean;

/** Requests that no limit applies to. */
interface Uncounted {
  readonly hasSandbox: boolean;
  readonly isOperator: IsOperator;
}

/** Assigns the request id and counts the request before its body is read: every reply, also a refusal, reports the remaining limit. */
function receive({ access }: Gateway, clientOf: ReadClient, { hasSandbox, isOperator }: Uncounted): RequestHandler {
  const answerPreflight = createPreflight(access.headerPrefixes);
  return (request, response, next) => {
    const client = clientOf(request);
    rememberClient(request, client);
    setClientHeaders(response, client);
    setCorsHeaders(request, response);
    if (answerPreflight(request, response)) return;
    if ((hasSandbox && SANDBOX.test(request.url)) || isOperator(request)) return next();
    const window = access.countAddress(client.address);
    addWindows(response, [window]);
    refuseExceeded([window]);
    next();
  };
}

/** Serves cached replies before express: with the same rate limits, the same headers in the same order, and the same bytes. */
export function serveCached({ access }: Gateway, clientOf: ReadClient, responses: ResponseCache, app: RequestListener): RequestListener {
  return (request, response) => {
    const bytes = request.method === 'GET' && !announcesBody(request) ? responses.find(request.url ?? '') : null;
    if (bytes === null) return app(request, response);
    const client = clientOf(request);
    const window = access.countAddress(client.address);
    if (window.isExceeded) {
      setClientHeaders(response, client);
      setCorsHeaders(request, response);
      addWindows(response, [window]);
      return sendError(response, new GatewayError('RATE_LIMITED', { scope: window.scope, retryAfterSeconds: window.resetSeconds }));
    }
    response.writeHead(200, [
      'X-Request-Id',
      client.requestId,
      'cf-ray',
      client.ray,
      ...CORS_HEADERS,
      ...windowHeaders(window),
      'Content-Type',
      JSON_TYPE,
      'Content-Length',
      String(bytes.length),
    ]);
    response.end(bytes);
  };
}

/** nginx's status for a client that disconnected before the reply. */
const CLIENT_GONE = 499;

interface Measuring {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly scopes: RequestScopes | null;
  readonly nameOf: (method: string, url: string) => string;
}

/** Scopes of open requests. */
const open = new WeakMap<IncomingMessage, OpenScope>();

/** Counts every request by route, status and duration. */
const measureRequests =
  ({ metrics, clock, scopes, nameOf }: Measuring, listener: RequestListener): RequestListener =>
  (request, response) => {
    const since = clock.monotonic();
    const { method = '', url = '' } = request;
    const scope = scopes === null ? null : openScope(scopes, request);
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : CLIENT_GONE;
      const operation = nameOf(method, url);
      metrics.request('native', operation, status, clock.monotonic() - since);
      scope?.close(operation, status);
    });
    listener(request, response);
  };

function openScope(scopes: RequestScopes, request: IncomingMessage): OpenScope {
  const { method = '', headers } = request;
  const traceparent = headers['traceparent'];
  const scope = scopes.open({
    api: 'native',
    transport: 'http',
    method,
    traceparent: Array.isArray(traceparent) ? undefined : traceparent,
  });
  open.set(request, scope);
  return scope;
}

/** From here on all work belongs to the request. Entered after the body was read: body events belong to the connection. */
const enterScope: RequestHandler = (request, response, next) => {
  const scope = open.get(request);
  if (scope === undefined) return next();
  scope.run(requestId(response), next);
};

/** Caches names by path; paths with ids are many, so a full cache is emptied instead of growing. */
const MOST_KEPT = 4_096;

/** Finds a request's operation by method and URL alone: replies that never reach the router are counted too. */
function createOperationNamer(operations: readonly Operation[]): (method: string, url: string) => string {
  const rows = operations.map(({ id, method, scope, path }) => ({
    id,
    method,
    parts: `${scope === 'venue' ? '/v1/:chain' : ''}${path === '/' ? '' : path}`.split('/'),
  }));
  const known = new Map<string, string>();
  const find = (method: string, path: string): string => {
    const parts = path.split('/');
    const asked = method === 'HEAD' ? 'GET' : method;
    const row = rows.find((one) => one.method === asked && matches(one.parts, parts));
    return row?.id ?? 'other';
  };
  return (method, url) => {
    const end = url.indexOf('?');
    const path = end === -1 ? url : url.slice(0, end);
    const key = `${method} ${path}`;
    const kept = known.get(key);
    if (kept !== undefined) return kept;
    const name = find(method, path);
    if (known.size >= MOST_KEPT) known.clear();
    known.set(key, name);
    return name;
  };
}

const matches = (pattern: readonly string[], parts: readonly string[]): boolean =>
  pattern.length === parts.length && pattern.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : part === parts[at]));
