import type { ServerResponse } from 'node:http';
import { tightestWindow, type Window } from '../core/access/limits.js';
import { announcesBody, linger } from '../http/respond.js';
import type { Answer, Client } from './endpoint.js';

/** How much of a refused request is still read before its connection is cut. */
const LINGER_BYTES = 2 * 1024 * 1024;

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
  linger(response.req, LINGER_BYTES, () => response.end());
}
