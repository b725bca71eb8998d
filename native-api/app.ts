import { randomUUID } from 'node:crypto';
import express, { type Express, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import type { Gateway } from '../core/gateway.js';
import { docsRouter } from './docs.js';
import { openApiDocument } from './openapi.js';
import { OPERATIONS } from './operations/index.js';
import { readBody } from './read-body.js';
import { chooseRequestId } from './request-id.js';
import { answerError, sendError } from './respond.js';
import { nativeRouter } from './router.js';

/** The HTTP host. Bytes are kept as they arrive; parsing is the operation's business, never the host's. */
export function createApp(gateway: Gateway, extraRoutes: readonly Router[] = []): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');

  app.use((request, response, next) => {
    response.setHeader('X-Request-Id', chooseRequestId(request, randomUUID));
    next();
  });
  app.use(readBody);
  for (const router of extraRoutes) app.use(router);
  app.use(docsRouter(openApiDocument(OPERATIONS, 'X-Service-')));
  app.use(nativeRouter(gateway, OPERATIONS));
  app.use((_request, response) => sendError(response, new GatewayError('UNSUPPORTED', { reason: 'There is nothing at this path.' }), 404));
  app.use(answerError(gateway.log));
  return app;
}
