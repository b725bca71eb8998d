import type { IncomingMessage, ServerResponse } from 'node:http';
import { tightestWindow, type Window } from '../core/access/limits.js';
import type { Answer, Client } from './door.js';

/** How much of a refused request is still read, and for how long, before its connection is cut. */
const LINGER_BYTES = 2 * 1024 * 1024;
const LINGER_MS = 2_000;

/** One write for headers and body. */
export function sendAnswer(response: ServerResponse, client: Client, ofAddress: Window, answer: Answer): void {
  const { status, type, body, headers, windows = [] } = answer;
  const window = tightestWindow([ofAddress, ...windows]) ?? ofAddress;
  const isUnread = !response.req.complete && announcesBody(response.req);
  response.writeHead(status, [
    'Access-Control-Allow-Origin',
    '*',
    'X-Request-Id',
    client.requestId,
    'cf-ray',
    client.ray,
    'RateLimit-Limit',
    String(window.limit),
    'RateLimit-Remaining',
    String(window.remaining),
    'RateLimit-Reset',
    String(window.resetSeconds),
    'Content-Type',
    type,
    'Content-Length',
    String(typeof body === 'string' ? Buffer.byteLength(body) : body.length),
    ...Object.entries(headers ?? {}).flat(),
    ...(isUnread ? ['Connection', 'close'] : []),
  ]);
  if (!isUnread) return void response.end(body);
  response.write(body);
  linger(response.req, () => response.end());
}

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/** The reply was sent before the request was complete: closing at once would reset the connection and lose the reply. */
function linger(request: IncomingMessage, done: () => void): void {
  let left = LINGER_BYTES;
  const patience = setTimeout(done, LINGER_MS);
  const finish = (): void => {
    clearTimeout(patience);
    done();
  };
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  });
  request.on('close', finish).on('end', finish).resume();
}
