import express, { type RequestHandler, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import { venueOf, type Gateway } from '../core/gateway.js';
import type { Operation } from './operation.js';
import { decodeInput } from './decode-input.js';
import { sendJson } from './respond.js';

const VERB = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

export function nativeRouter(gateway: Gateway, operations: readonly Operation[]): Router {
  const router = express.Router();
  for (const operation of operations) router[VERB[operation.method]](routeOf(operation), serve(gateway, operation));
  for (const [path, methods] of methodsByPath(operations)) router.all(path, refuseMethod(methods));
  router.use('/v1/:chain', refusePath(gateway));
  return router;
}

const routeOf = ({ scope, path }: Operation): string => (scope === 'venue' ? `/v1/:chain${path === '/' ? '' : path}` : path);

function serve(gateway: Gateway, operation: Operation): RequestHandler {
  return async (request, response) => {
    const input = { caller: null, ...decodeInput(operation, request) };
    const answer =
      operation.scope === 'gateway'
        ? await operation.handle({ gateway, ...input })
        : await operation.handle({ gateway, venue: venueOf(gateway, String(request.params['chain'])), ...input });
    sendJson(response, operation.status?.(answer) ?? 200, operation.reply.encode(answer));
  };
}

function methodsByPath(operations: readonly Operation[]): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const operation of operations) methods.set(routeOf(operation), [...(methods.get(routeOf(operation)) ?? []), operation.method]);
  return methods;
}

const refuseMethod =
  (methods: readonly string[]): RequestHandler =>
  (request, response) => {
    response.set('Allow', methods.join(', '));
    throw new GatewayError('UNSUPPORTED', { reason: `${request.method} is not offered here; allowed: ${methods.join(', ')}.` });
  };

/** The code enum is closed, so an unknown path below a known chain is UNSUPPORTED; an unknown chain says so first. */
const refusePath =
  (gateway: Gateway): RequestHandler =>
  (request) => {
    venueOf(gateway, String(request.params['chain']));
    throw new GatewayError('UNSUPPORTED', { reason: 'There is no such operation on this chain.' });
  };
