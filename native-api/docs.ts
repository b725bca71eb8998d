import { createRequire } from 'node:module';
import path from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import type { OpenApiDocument } from './openapi.js';
import { sendBytes } from '../http/respond.js';

/** The package's own files: nothing is loaded from another host. */
const ASSETS = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const SERVED = new Set(['/swagger-ui.css', '/swagger-ui-bundle.js', '/favicon-32x32.png']);
const A_DAY_S = 86_400;

/** The page runs the package's script and ours, uses the icons in its style sheet, and connects to this host only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Diamond Gateway: the interface</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="interface"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#interface', deepLinking: true, validatorUrl: null });\n`;

/** `GET /openapi.json` and, for people, `GET /docs`. The document is built on first request. */
export function docsRouter(document: () => OpenApiDocument): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  let text: Buffer | undefined;
  router.get('/openapi.json', (_request, response) => {
    text ??= Buffer.from(JSON.stringify(document()));
    sendBytes(response, 200, 'application/json; charset=utf-8', text);
  });
  router.get('/docs', page('text/html; charset=utf-8', PAGE));
  router.get('/docs/start.js', page('text/javascript; charset=utf-8', START));
  router.use('/docs', onlyServed, express.static(ASSETS, { index: false, redirect: false, maxAge: A_DAY_S * 1000 }));
  return router;
}

function page(type: string, text: string): RequestHandler {
  const bytes = Buffer.from(text);
  return (_request, response) => {
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    sendBytes(response, 200, type, bytes);
  };
}

const onlyServed: RequestHandler = (request, response, next) => {
  if (!SERVED.has(request.path)) return next('router');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  next();
};
