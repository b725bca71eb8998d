import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { GatewayError } from '../core/errors.js';
import { announcesBody } from './respond.js';

export const BODY_LIMIT_BYTES = 256 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** Keeps the bytes exactly as they arrive: they are what was signed. A body that was never announced is no bytes at all. */
export const readBody: RequestHandler = (request, _response, next) => {
  if (!announcesBody(request)) {
    request.body = NO_BYTES;
    return next();
  }
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity')
    return next(refusal('must not be compressed: the signature covers the bytes that are sent'));
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return next(tooLarge());
  collect(request, (error, bytes) => {
    request.body = bytes;
    next(error ?? undefined);
  });
};

export const bodyOf = ({ body }: Request): Buffer => (Buffer.isBuffer(body) ? body : NO_BYTES);

const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal('must not exceed 256 KiB');

/** A client that goes away in the middle gets no answer; there is nobody to answer. */
function collect(request: IncomingMessage, done: (error: GatewayError | null, bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer): void => {
    length += chunk.length;
    if (length <= BODY_LIMIT_BYTES) return void chunks.push(chunk);
    request.off('data', onData).off('end', onEnd).pause();
    done(tooLarge(), NO_BYTES);
  };
  const onEnd = (): void => done(null, Buffer.concat(chunks, length));
  request.on('data', onData).on('end', onEnd);
  request.on('error', () => undefined);
}
