import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { GatewayError } from '../core/errors.js';
import { createFileServer, PAGE_NAMES, type BuiltPages, type FileServer, type PageName } from './built-pages.js';
import { sendBytes, sendError, sendJson } from './respond.js';

/** No inline script or style, no other host, no frame around the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The name of a file changes with its content. */
const FOREVER = 'public, max-age=31536000, immutable';
const ASK_AGAIN = 'no-cache';
const A_DAY = 'public, max-age=86400';

export interface PagesOptions {
  /** Asked until it finds them: `npm start` makes the pages while the gateway starts. Null: they are not built. */
  readonly findBuilt: () => BuiltPages | null;
  /** The pages that are switched on. */
  readonly pages: readonly PageName[];
  /** What `GET /` says to programs. */
  readonly describe: (request: Request) => object;
  /** What `GET /llms.txt` says. */
  readonly llms: (request: Request) => string;
}

const NOT_BUILT = 'The pages of this gateway are not built yet: run `npm run build`; `npm start` does it by itself.';

export const pathOf = (page: PageName): string => (page === 'venue' ? '/' : `/${page}`);

/** The pages of `web/`, their files, and what stands at `/` for programs. */
export function pagesRouter({ findBuilt, pages, describe, llms }: PagesOptions): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  let served: Served | null = null;
  const serve = (): Served | null => (served ??= servedBy(findBuilt()));
  const isOn = (page: PageName): boolean => pages.includes(page);

  router.get('/', (request, response) => {
    response.setHeader('Vary', 'Accept');
    const files = isOn('venue') && wantsPage(request) ? serve()?.files : undefined;
    if (files !== undefined) return sendPage(files, request, response, 'venue');
    response.setHeader('Cache-Control', ASK_AGAIN);
    sendJson(response, 200, describe(request));
  });
  for (const page of PAGE_NAMES.filter((name) => name !== 'venue'))
    router.get(`/${page}`, (request, response, next) => {
      if (!isOn(page)) return next();
      const now = serve();
      if (now === null) return sendError(response, new GatewayError('UNSUPPORTED', { reason: NOT_BUILT }), 404);
      sendPage(now.files, request, response, page);
    });
  router.get('/llms.txt', (request, response) => sendBytes(response, 200, 'text/plain; charset=utf-8', llms(request)));
  fileRoutes(router, serve);
  router.all(['/', '/llms.txt', ...pages.map(pathOf)], refuseMethod);
  return router;
}

interface Served {
  readonly assets: ReadonlySet<string>;
  readonly files: FileServer;
}

const servedBy = (built: BuiltPages | null): Served | null =>
  built === null ? null : { assets: built.assets, files: createFileServer(built.files) };

function fileRoutes(router: Router, serve: () => Served | null): void {
  router.get('/assets/:name', (request, response, next) => {
    const { name } = request.params;
    const served = serve();
    if (!served?.assets.has(name)) return next();
    response.setHeader('X-Content-Type-Options', 'nosniff');
    served.files.send(request, response, `assets/${name}`, name === 'NOTICE.txt' ? A_DAY : FOREVER);
  });
  // Browsers ask for the second by themselves where a page names no icon, as for `/openapi.json`.
  router.get(['/favicon.svg', '/favicon.ico'], (request, response, next) => {
    const served = serve();
    if (served === null) return next();
    served.files.send(request, response, 'favicon.svg', A_DAY);
  });
}

function sendPage(files: FileServer, request: Request, response: Response, page: PageName): void {
  response.setHeader('Content-Security-Policy', POLICY);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
  files.send(request, response, `${page}.html`, ASK_AGAIN);
}

/** Browsers name text/html; programs that take anything get JSON. */
const wantsPage = ({ headers: { accept = '' } }: Request): boolean => /(?:^|,)\s*text\/html\s*(?:[;,]|$)/i.test(accept);

const refuseMethod: RequestHandler = (request, response) => {
  response.setHeader('Allow', 'GET, HEAD');
  throw new GatewayError('UNSUPPORTED', { reason: `${request.method} is not offered here; allowed: GET, HEAD.` });
};
