import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PUBLIC_PAGES } from '../core/config/pages.js';

export const PAGE_NAMES = [...PUBLIC_PAGES, 'operator'] as const;
export type PageName = (typeof PAGE_NAMES)[number];

/** The files that the build of the pages left. Only listed names are ever read. */
export interface BuiltPages {
  readonly folder: string;
  readonly pages: ReadonlySet<string>;
  readonly assets: ReadonlySet<string>;
}

const FOLDER = 'dist/web';
const ANCESTORS = 4;

/** Sources lie beside the folder, compiled or bundled code inside it: the first ancestor that has it. Null: the pages are not built. */
export function findBuiltPages(from: string): BuiltPages | null {
  let place = from;
  for (let step = 0; step < ANCESTORS; step += 1, place = path.dirname(place)) {
    const folder = path.join(place, FOLDER);
    const manifest = path.join(folder, 'manifest.json');
    if (!existsSync(manifest)) continue;
    const { pages, assets } = JSON.parse(readFileSync(manifest, 'utf8')) as { pages: string[]; assets: string[] };
    return { folder, pages: new Set(pages), assets: new Set(assets) };
  }
  return null;
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
  send(request: IncomingMessage, response: ServerResponse, name: string, caching: string): Promise<void>;
}

/** Reads each file once, on its first request. */
export function createFileServer(folder: string): FileServer {
  const files = new Map<string, Promise<Loaded>>();
  const load = (name: string): Promise<Loaded> => {
    const known = files.get(name) ?? readAll(folder, name);
    files.set(name, known);
    known.catch(() => files.delete(name));
    return known;
  };
  return {
    async send(request, response, name, caching) {
      const { type, etag, plain, encoded } = await load(name);
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

async function readAll(folder: string, name: string): Promise<Loaded> {
  const at = path.join(folder, name);
  const plain = await readFile(at);
  const encoded = new Map<string, Buffer>();
  for (const [coding, ending] of ENCODINGS) if (existsSync(at + ending)) encoded.set(coding, await readFile(at + ending));
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
