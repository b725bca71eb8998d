import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { GatewayError, retryAfterSeconds } from '../core/errors.js';
import type { Logger } from '../core/ports/log.js';

export interface ErrorBody {
  code: string;
  message: string;
  details?: unknown;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How much of a refused request is still read, and for how long, before its connection is cut. */
const LINGER_BYTES = 1024 * 1024;
const LINGER_MS = 2_000;

export const requestId = (response: ServerResponse): string => String(response.getHeader('X-Request-Id'));

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendBytes(response, status, JSON_TYPE, JSON.stringify(body));
}

/** A string leaves in one write with its headers; for bytes that are sent often the encoding is saved. */
export function sendBytes(response: ServerResponse, status: number, type: string, bytes: Buffer | string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(bytes));
  const { req: request } = response;
  if (request.complete || !announcesBody(request)) return void response.end(bytes);
  response.setHeader('Connection', 'close');
  response.write(bytes);
  linger(request, LINGER_BYTES, () => response.end());
}

export const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** The reply was sent before the request was complete: closing at once would reset the connection and lose the reply. */
export function linger(request: IncomingMessage, bytes: number, done: () => void): void {
  let left = bytes;
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

/** The one error handler: errors of the catalogue are sent to the client, everything else becomes INTERNAL and is logged with its id. */
export function answerError(log: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const known = asGatewayError(error) ?? internal(error, request, response, log);
    sendError(response, known);
  };
}

export function sendError(response: ServerResponse, error: GatewayError, status = error.status): void {
  const wait = retryAfterSeconds(error);
  if (wait !== null) response.setHeader('Retry-After', wait);
  const details = Object.keys(error.details).length > 0 ? { details: error.details } : {};
  sendJson(response, status, { code: error.code, message: error.message, ...details } satisfies ErrorBody);
}

function internal(error: unknown, request: Request, response: Response, log: Logger): GatewayError {
  log.error('http.internal-error', { requestId: requestId(response), method: request.method, path: request.path, error });
  return new GatewayError('INTERNAL', { requestId: requestId(response) });
}

function asGatewayError(error: unknown): GatewayError | null {
  if (error instanceof GatewayError) return error;
  const refusal = requestFault(error);
  return refusal === null ? null : new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: refusal }] });
}

/** Express throws objects with a 4xx `status` if the request is at fault. */
function requestFault(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('status' in error) || typeof error.status !== 'number') return null;
  if (error.status < 400 || error.status >= 500) return null;
  return error instanceof URIError ? 'has a path that cannot be decoded' : 'cannot be read';
}
