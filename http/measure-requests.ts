import type { IncomingMessage, RequestListener } from 'node:http';
import type { RequestHandler } from 'express';
import type { Clock } from '../core/ports/clock.js';
import type { Metrics } from '../core/observability/metrics.js';
import type { OpenScope, RequestScopes } from '../core/observability/tracing.js';
import { requestId } from './respond.js';

/** nginx's status for a client that disconnected before the reply. */
const CLIENT_GONE = 499;

export interface Measuring {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly scopes: RequestScopes | null;
  readonly nameOf: (method: string, url: string) => string;
}

/** Scopes of open requests. */
const open = new WeakMap<IncomingMessage, OpenScope>();

/** Counts every request by route, status and duration. */
export const measureRequests =
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
    door: 'native',
    transport: 'http',
    method,
    traceparent: Array.isArray(traceparent) ? undefined : traceparent,
  });
  open.set(request, scope);
  return scope;
}

/** From here on all work belongs to the request. Entered after the body was read: body events belong to the connection. */
export const enterScope: RequestHandler = (request, response, next) => {
  const scope = open.get(request);
  if (scope === undefined) return next();
  scope.run(requestId(response), next);
};
