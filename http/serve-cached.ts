import type { RequestListener } from 'node:http';
import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import { setClientHeaders, type ReadClient } from './client.js';
import { CORS_HEADERS, setCorsHeaders } from './cors.js';
import type { ResponseCache } from './response-cache.js';
import { addWindows } from './rate-headers.js';
import { announcesBody, JSON_TYPE, sendError } from './respond.js';

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
      'RateLimit-Limit',
      String(window.limit),
      'RateLimit-Remaining',
      String(window.remaining),
      'RateLimit-Reset',
      String(window.resetSeconds),
      'Content-Type',
      JSON_TYPE,
      'Content-Length',
      String(bytes.length),
    ]);
    response.end(bytes);
  };
}
