import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PUBLIC_PAGES } from '../core/config/pages.js';

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

export interface FileServer {
  /** `name` must be one of the listed files. */
  send(request: IncomingMessage, response: ServerResponse, name: string, caching: string): void;
}

export function createFileServer(files: BuiltPages['files']): FileServer {
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
