import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { GatewayError } from '../core/errors.js';
import { venueOf, type Gateway } from '../core/gateway.js';
import type { ResponseCache } from '../http/response-cache.js';
import type { Window } from '../core/access/limits.js';
import type { OpenScope, RequestScopes } from '../core/observability/tracing.js';
import type { TradeHandlers } from './actions/trade-handlers.js';
import { createCompatEndpoint } from './compat.js';
import { COMPAT_REPORT } from './compat-report.js';
import { TEXT_TYPE, type Answer, type Client, type Endpoint, type ReadClient } from './endpoint.js';
import { createExchangeHandler } from './exchange-handler.js';
import { createInfoHandler } from './info/info-handler.js';
import { readBody } from './read-body.js';
import { sendAnswer } from './send-answer.js';
import { unknownPathText } from '../http/unknown-path.js';

/** Clients join their base URL and the last segment with one slash, two or none; some lose the chain when its slash is missing. */
const PATH = /^\/+hl(?:\/+([^/?]+))??\/+([^/?]+)\/*(?:\?|$)/;

export const isFacadePath = (url: string): boolean => url.startsWith('/hl/') || /^\/+hl(?:[/?]|$)/.test(url);

export interface FacadeParts {
  readonly clientOf: ReadClient;
  readonly responses: ResponseCache;
  readonly trade: TradeHandlers | null;
}

/** The Hyperliquid-compatible endpoints of a gateway, `/hl/{chain}/…`. */
export function createFacade(gateway: Gateway, { clientOf, responses, trade }: FacadeParts): RequestListener {
  const endpoints: ReadonlyMap<string, Endpoint> = new Map([
    ['info', createInfoHandler(gateway, responses)],
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
    if (endpoint === undefined) return send(nowhere(gateway, request));
    serve({ gateway, endpoint, slug, client, request, scope, send }, window);
  };
}

function openScope(scopes: RequestScopes, { method = '', headers }: IncomingMessage): OpenScope {
  const traceparent = headers['traceparent'];
  return scopes.open({
    door: 'facade',
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
  if (window.isExceeded)
    return send(endpoint.refuse(new GatewayError('RATE_LIMITED', { scope: window.scope, retryAfterSeconds: window.resetSeconds })));
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
