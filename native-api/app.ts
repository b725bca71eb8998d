import type { RequestListener } from 'node:http';
import express, { type Express, type RequestHandler, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import { refuseExceeded } from '../core/access/limits.js';
import { serveCached } from '../http/serve-cached.js';
import { createClientReader, rememberClient, setClientHeaders, type ReadClient } from '../http/client.js';
import { createPreflight, setCorsHeaders } from '../http/cors.js';
import { docsRouter } from './docs.js';
import type { ResponseCache } from '../http/response-cache.js';
import { enterScope, measureRequests } from '../http/measure-requests.js';
import { createOperationNamer } from './operation-name.js';
import { openApiDocument } from './openapi.js';
import type { Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { addWindows } from '../http/rate-headers.js';
import { readBody } from '../http/read-body.js';
import { answerError, sendError } from '../http/respond.js';
import { unknownPathText } from '../http/unknown-path.js';
import { nativeRouter } from './router.js';

export interface OtherRoutes {
  /** Routes of the sandbox, without rate limits; production has none. */
  readonly extraRoutes?: readonly Router[];
  /** Routes of the operator, with the usual rate limits. */
  readonly operatorRoutes?: readonly Router[];
  /** The pages and what stands at `/`, with the usual rate limits. */
  readonly pageRoutes?: readonly Router[];
}

/** The native API of a gateway, with the routes served beside it. */
export function createApp(
  gateway: Gateway,
  responses: ResponseCache,
  { extraRoutes = [], operatorRoutes = [], pageRoutes = [] }: OtherRoutes = {},
): RequestListener {
  const clientOf = createClientReader(gateway.access);
  const host = createHost({ gateway, operations: OPERATIONS, extraRoutes, operatorRoutes, pageRoutes, clientOf, responses });
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
  clientOf,
  responses,
}: HostOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');

  app.use(receive(gateway, clientOf, extraRoutes.length > 0));
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

/** Assigns the request id and counts the request before its body is read: every reply, also a refusal, reports the remaining limit. */
function receive({ access }: Gateway, clientOf: ReadClient, hasSandbox: boolean): RequestHandler {
  const answerPreflight = createPreflight(access.headerPrefixes);
  return (request, response, next) => {
    const client = clientOf(request);
    rememberClient(request, client);
    setClientHeaders(response, client);
    setCorsHeaders(request, response);
    if (answerPreflight(request, response)) return;
    if (hasSandbox && SANDBOX.test(request.url)) return next();
    const window = access.countAddress(client.address);
    addWindows(response, [window]);
    refuseExceeded([window]);
    next();
  };
}
