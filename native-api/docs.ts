import { createRequire } from 'node:module';
import path from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import type { OpenApiDocument } from './openapi.js';
import { sendBytes } from '../http/respond.js';
import type { Operation } from './operation.js';
import { PRIVATE_CHANNELS, PUBLIC_CHANNELS } from './wire/stream.js';

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

/** The facade in names; its rows belong to another folder. */
interface FacadeNames {
  readonly infoTypes: readonly string[];
  readonly actions: readonly string[];
  readonly subscriptions: readonly string[];
}

interface Described {
  readonly name: string;
  /** `http://host:port` */
  readonly origin: string;
  readonly chains: readonly { readonly chain: string; readonly chainId: number; readonly testnet: boolean }[];
  readonly isSandbox: boolean;
  readonly headerPrefix: string;
  readonly operations: readonly Operation[];
  readonly facade: FacadeNames;
}

const AUTH_WORDS: Readonly<Record<Operation['auth'], string>> = {
  none: 'public',
  agent: 'signed by an agent',
  reader: 'signed by an agent, or an API key',
  master: 'signed by the master wallet in the body',
  optional: 'public; more detail when signed by an agent',
};

const pathOf = ({ scope, path }: Operation): string =>
  (scope === 'venue' ? `/v1/{chain}${path === '/' ? '' : path}` : path).replace(/:(\w+)/g, '{$1}');

/** `/llms.txt`: both APIs for programs that read prose. Every list comes from the rows that serve the requests. */
export const llmsText = ({ name, origin, chains, isSandbox, headerPrefix, operations, facade }: Described): string => `# ${name}

> A gateway to a non-custodial contract for perpetual trading. It serves a native REST and WebSocket API, and a facade that speaks Hyperliquid's protocol. It holds no trader's key and moves no funds.

${isSandbox ? 'This is a sandbox: a local venue with play money. `GET /sandbox` lists funded accounts with their keys, `POST /sandbox/accounts` makes another.\n\n' : ''}## Chains

${chains.map(({ chain, chainId, testnet }) => `- ${chain} (chain id ${chainId}${testnet ? ', testnet' : ''}): native ${origin}/v1/${chain}, Hyperliquid base URL ${origin}/hl/${chain}`).join('\n')}

## Documents

- [OpenAPI](${origin}/openapi.json): every operation, schema and error code of the native API
- [The same for people](${origin}/docs)

## Native API

- Numbers of money, prices and sizes are decimal strings. Times are epoch milliseconds.
- Errors are \`{"code", "message", "details"}\`. Every answer has \`X-Request-Id\` and \`RateLimit-*\` headers.
- A signed request carries ${headerPrefix}Agent, -Timestamp, -Nonce and -Signature: EIP-712 over method, path, hash of the body, timestamp and nonce. \`GET /v1/{chain}\` has the domain and the fields.
- A write answers with a prepared transaction. The agent signs and sends it; the gateway never sees a key.
- \`GET /v1/{chain}/readiness/{address}\` says for any address what is missing before it can trade.

${operations.map((row) => `- \`${row.method} ${pathOf(row)}\` (${row.id}; ${AUTH_WORDS[row.auth]}): ${row.summary}`).join('\n')}

### Stream

\`WS /v1/{chain}/ws\`: send \`{"op":"subscribe","channel":"prices"}\`. Public channels: ${PUBLIC_CHANNELS.join(', ')}. After \`auth\`: ${PRIVATE_CHANNELS.join(', ')}. Orders and fills go on with \`"after": cursor\`.

## Hyperliquid facade

- Point an existing Hyperliquid client at \`${origin}/hl/{chain}\`. Requests are \`POST /hl/{chain}/info\` and \`POST /hl/{chain}/exchange\`; the stream is \`WS /hl/{chain}/ws\`.
- Info types: ${facade.infoTypes.join(', ')}.
- Actions: ${facade.actions.join(', ')}.
- Subscriptions: ${facade.subscriptions.join(', ')}.
`;
