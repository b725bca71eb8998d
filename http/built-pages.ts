import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { PUBLIC_PAGES } from '../core/config/pages.js';
import { GatewayError } from '../core/errors.js';
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

interface PagesOptions {
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

export const PAGE_NAMES = [...PUBLIC_PAGES, 'operator'] as const;
export type PageName = (typeof PAGE_NAMES)[number];

/** The files that the build of the pages left, all read from one build. Only listed names are ever read. */
export interface BuiltPages {
  readonly folder: string;
  readonly pages: ReadonlySet<string>;
  readonly assets: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, Loaded>;
}

const FOLDER = 'dist/web';
const MANIFEST = 'manifest.json';
const ANCESTORS = 4;

/** Sources lie beside the folder, compiled or bundled code inside it: the first ancestor that has it. Null: the pages are not built. */
export function findBuiltPages(from: string): BuiltPages | null {
  let place = from;
  for (let step = 0; step < ANCESTORS; step += 1, place = path.dirname(place)) {
    const folder = path.join(place, FOLDER);
    if (existsSync(path.join(folder, MANIFEST))) return readBuilt(folder);
  }
  return null;
}

/** A page names its script by its content, so pages of one build and a list of another do not fit. Null: another build is taking the place of this one. */
function readBuilt(folder: string): BuiltPages | null {
  const readManifest = (): string => readFileSync(path.join(folder, MANIFEST), 'utf8');
  try {
    const manifest = readManifest();
    const { pages, assets } = JSON.parse(manifest) as { pages: string[]; assets: string[] };
    const names = [...pages.map((page) => `${page}.html`), ...assets.map((asset) => `assets/${asset}`), 'favicon.svg'];
    const files = new Map(names.map((name) => [name, readAll(folder, name)]));
    return readManifest() === manifest ? { folder, pages: new Set(pages), assets: new Set(assets), files } : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

interface Loaded {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<string, Buffer>;
}

interface FileServer {
  /** `name` must be one of the listed files. */
  send(request: IncomingMessage, response: ServerResponse, name: string, caching: string): void;
}

function createFileServer(files: BuiltPages['files']): FileServer {
  return {
    send(request, response, name, caching) {
      const file = files.get(name);
      if (file === undefined) throw new Error(`${name} is no file of the pages.`);
      const { type, etag, plain, encoded } = file;
      response.setHeader('Content-Type', type);
      response.setHeader('Cache-Control', caching);
      response.setHeader('ETag', etag);
      response.appendHeader('Vary', 'Accept-Encoding');
      if (matches(request.headers['if-none-match'], etag)) return void response.writeHead(304).end();
      const [coding, bytes] = choose(request.headers['accept-encoding'], encoded) ?? [null, plain];
      if (coding !== null) response.setHeader('Content-Encoding', coding);
      response.setHeader('Content-Length', bytes.length);
      response.writeHead(200).end(request.method === 'HEAD' ? undefined : bytes);
    },
  };
}

function readAll(folder: string, name: string): Loaded {
  const at = path.join(folder, name);
  const plain = readFileSync(at);
  const encoded = new Map<string, Buffer>();
  for (const [coding, ending] of ENCODINGS) if (existsSync(at + ending)) encoded.set(coding, readFileSync(at + ending));
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[path.extname(name)] ?? 'application/octet-stream', etag, plain, encoded };
}

/** A cache between us and the client may have made a strong tag weak. */
const matches = (given: string | undefined, etag: string): boolean =>
  (given ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);

/** The best coding that the client takes; a weight of 0 refuses it. */
function choose(accepted: string | undefined, encoded: ReadonlyMap<string, Buffer>): [string, Buffer] | null {
  const wanted = new Set(
    (accepted ?? '')
      .split(',')
      .map((part) => part.trim().split(';'))
      .filter(([, weight = '']) => !/^\s*q=0(?:\.0*)?\s*$/.test(weight))
      .map(([coding = '']) => coding.trim().toLowerCase()),
  );
  for (const [coding, bytes] of encoded) if (wanted.has(coding)) return [coding, bytes];
  return null;
}
