import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { GatewayError } from '../../core/errors.js';
import { refuseForeignPage } from '../../http/foreign-page.js';

const BEARER = /^bearer +(\S+) *$/i;
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Refuses requests of foreign web pages. Operators use host names of their own, so any `Host` passes: a page rebound to this address
 * by DNS has no token.
 */
export const refuseForeignPages: RequestHandler = (request, _response, next) => {
  refuseForeignPage(request, { needsLocalHost: false });
  next();
};

/** Requires the operator's token. Digests are compared in constant time, as they have equal length. */
export function operatorGuard(token: string): RequestHandler {
  const expected = digest(token);
  return (request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    const [, given = ''] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    if (timingSafeEqual(digest(given), expected)) return next();
    response.setHeader('WWW-Authenticate', 'Bearer');
    throw new GatewayError('UNAUTHENTICATED', { scheme: 'Bearer' });
  };
}
