import { randomUUID } from 'node:crypto';
import express, { type Express, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import { OPERATIONS } from './operations/index.js';
import { answerError, chooseRequestId, sendJson } from './respond.js';
import { nativeRouter } from './router.js';

export const BODY_LIMIT_BYTES = 256 * 1024;

/** The HTTP host. Bytes are kept as they arrive; parsing is the operation's business, never the host's. */
export function createApp(gateway: Gateway, extraRoutes: readonly Router[] = []): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');

  app.use((request, response, next) => {
    response.set('X-Request-Id', chooseRequestId(request, randomUUID));
    next();
  });
  app.use(express.raw({ type: () => true, limit: BODY_LIMIT_BYTES }));
  for (const router of extraRoutes) app.use(router);
  app.use(nativeRouter(gateway, OPERATIONS));
  app.use((_request, response) => {
    const { code, message } = new GatewayError('UNSUPPORTED', { reason: 'There is nothing at this path.' });
    sendJson(response, 404, { code, message });
  });
  app.use(answerError(gateway.log));
  return app;
}
