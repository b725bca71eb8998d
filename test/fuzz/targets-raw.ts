import type { HttpInput, RawInput, SocketApi } from './input.js';
import type { Materials } from './materials.js';
import { bomb, mutateBytes, mutateWord } from './mutate.js';
import type { Random } from './random.js';

/** Inputs below the schemas: request lines, heads, chunks, frames and bytes that follow no protocol. */

const randomBytes = (random: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: random.int(1, most) }, () => random.int(0, 255)));

const LINES = [
  'GET / HTTP/1.1',
  'GET /ready HTTP/1.0',
  'GET  /ready  HTTP/1.1',
  'GET /ready HTTP/9.9',
  'get /ready HTTP/1.1',
  'GET http://[::1]:x/ready HTTP/1.1',
  'GET /ready?\u0000 HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT a:443 HTTP/1.1',
  'PRI * HTTP/2.0',
  'POST /hl/arbitrum-sepolia/info HTTP/1.1',
  'POST /v1/arbitrum-sepolia/orders HTTP/1.1',
  '\u0016\u0003\u0001',
  `GET /${'a'.repeat(9_000)} HTTP/1.1`,
];
const HEAD_LINES = [
  'Host: x',
  'Host: x\r\nHost: y',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Content-Length: 300000',
  'Content-Length: 2',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 3',
  'Transfer-Encoding: identity, chunked, x',
  'Content-Encoding: gzip',
  'X: \u0001',
  'é: x',
  ': x',
  'X y: z',
  `X: ${'y'.repeat(17_000)}`,
  'Connection: upgrade\r\nUpgrade: websocket',
  'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 99\r\nSec-WebSocket-Key: x',
  'Expect: 100-continue',
  ' folded: x',
];
const BODIES = [
  '',
  '{}',
  '0\r\n\r\n',
  '2\r\n{}\r\n0\r\n\r\n',
  'zz\r\n{}\r\n',
  'ffffffffffffffff\r\n{}',
  '2;x=\u0000\r\n{}\r\n0\r\nTrailer: x\r\n\r\n',
  '2\r\n{}{}\r\n0\r\n\r\n',
];

export function brokenHead(_materials: Materials, random: Random): RawInput {
  const lines = Array.from({ length: random.int(0, 4) }, () => random.pick(HEAD_LINES));
  const text = `${random.pick(LINES)}\r\n${lines.map((line) => `${line}\r\n`).join('')}${random.chance(0.9) ? '\r\n' : ''}`;
  const body = random.chance(0.05) ? bomb() : Buffer.from(random.pick(BODIES));
  const bytes = Buffer.concat([Buffer.from(text, 'latin1'), body]);
  return { kind: 'raw', bytes: random.chance(0.2) ? mutateBytes(bytes, random) : bytes };
}

export const noise = (_materials: Materials, random: Random): RawInput => ({ kind: 'raw', bytes: randomBytes(random, 300) });

/** A frame of the WebSocket protocol with any of its fields wrong. */
export function brokenFrames(_materials: Materials, random: Random): RawInput {
  const api: SocketApi = random.chance(0.5) ? 'v1' : 'hl';
  const frames = Array.from({ length: random.int(1, 4) }, () => {
    const payload = random.chance(0.5) ? randomBytes(random, 125) : Buffer.from('{"method":"ping"}');
    const first = random.chance(0.5) ? random.pick([0x81, 0x82, 0x89, 0x8a, 0x88, 0x01, 0x80]) : random.int(0, 255);
    const masked = random.chance(0.8) ? 0x80 : 0;
    const length = random.chance(0.7)
      ? Buffer.of(masked | payload.length)
      : Buffer.of(masked | random.pick([126, 127]), ...randomBytes(random, 10));
    return Buffer.concat([Buffer.of(first), length, masked === 0 ? Buffer.alloc(0) : Buffer.alloc(4), payload]);
  });
  return { kind: 'raw', bytes: Buffer.concat(frames), afterHandshake: api };
}

const PATHS = [
  '/',
  '/ready',
  '/health',
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/../ready',
  '/favicon.ico',
  '/v1',
  '/v1/',
  '/hl',
  '/hl/',
  '/api/notifications/x',
  '/metrics',
  '//',
  '/v1//markets',
  '/%2fready',
];

export function anyPath({ slug }: Materials, random: Random): HttpInput {
  const path = random.chance(0.5)
    ? random.pick(PATHS)
    : `/${random.pick(['v1', 'hl', 'docs', 'x'])}/${mutateWord(slug, random)}/${mutateWord('markets', random)}`;
  return {
    kind: 'http',
    method: random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'DELETE', 'TRACE']),
    path: path.replace(/[^\x21-\x7e]/g, ''),
    headers: [],
    body: null,
  };
}
