import type { Request, RequestHandler } from 'express';
import { collectBytes, PIECES_TEXT } from './collect-bytes.js';
import { GatewayError } from '../core/errors.js';
import { announcesBody } from './respond.js';

export const BODY_LIMIT_BYTES = 256 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** Keeps the bytes exactly as they arrive, because they were signed. Without an announced body there are no bytes. */
export const readBody: RequestHandler = (request, _response, next) => {
  if (!announcesBody(request)) {
    request.body = NO_BYTES;
    return next();
  }
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity')
    return next(refusal('must not be compressed: the signature covers the bytes that are sent'));
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) return next(tooLarge());
  // A client that disconnects during the body gets no reply.
  collectBytes(request, BODY_LIMIT_BYTES, (fault, bytes) => {
    request.body = bytes;
    next(fault === null ? undefined : fault === 'too-large' ? tooLarge() : refusal(PIECES_TEXT));
  });
};

export const bodyOf = ({ body }: Request): Buffer => (Buffer.isBuffer(body) ? body : NO_BYTES);

const refusal = (message: string): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message }] });
const tooLarge = (): GatewayError => refusal('must not exceed 256 KiB');
