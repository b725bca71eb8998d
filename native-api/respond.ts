import type { ErrorRequestHandler, Request, Response } from 'express';
import { GatewayError } from '../core/errors.js';
import type { Logger } from '../core/ports.js';

export interface ErrorBody {
  code: string;
  message: string;
  details?: unknown;
}

/** Ids that come from a proxy are kept only if they are harmless in a header and a log line. */
const HARMLESS_ID = /^[\w.:-]{1,64}$/;

export const requestId = (response: Response): string => String(response.getHeader('X-Request-Id'));

export function chooseRequestId(request: Request, fresh: () => string): string {
  const given = request.get('X-Request-Id');
  return given !== undefined && HARMLESS_ID.test(given) ? given : fresh();
}

export function sendJson(response: Response, status: number, body: unknown): void {
  response.status(status).set('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}

/** The one handler: what the caller may know is told by the catalogue, everything else becomes INTERNAL and is logged with its id. */
export function answerError(log: Logger): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) return next(error);
    const known = asGatewayError(error) ?? internal(error, request, response, log);
    const details = Object.keys(known.details).length > 0 ? { details: known.details } : {};
    sendJson(response, known.status, { code: known.code, message: known.message, ...details } satisfies ErrorBody);
  };
}

function internal(error: unknown, request: Request, response: Response, log: Logger): GatewayError {
  log.error('http.internal-error', { requestId: requestId(response), method: request.method, path: request.path, error });
  return new GatewayError('INTERNAL', { requestId: requestId(response) });
}

function asGatewayError(error: unknown): GatewayError | null {
  if (error instanceof GatewayError) return error;
  const refusal = bodyRefusal(error);
  return refusal === null ? null : new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: refusal }] });
}

/** Express and its parsers throw objects with a 4xx `status`: the request is at fault, and these are its faults. */
function bodyRefusal(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('status' in error) || typeof error.status !== 'number') return null;
  if (error.status < 400 || error.status >= 500) return null;
  const type = 'type' in error && typeof error.type === 'string' ? error.type : '';
  if (type === 'entity.too.large') return 'must not exceed 256 KiB';
  if (type === 'encoding.unsupported') return 'has an unsupported Content-Encoding';
  return error instanceof URIError ? 'has a path that cannot be decoded' : 'cannot be read';
}
