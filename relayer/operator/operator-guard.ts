import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { GatewayError } from '../../core/errors.js';
import { refuseForeignPage } from '../../http/foreign-page.js';

const BEARER = /^bearer +(\S+) *$/i;
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Refuses pages of strangers. Operators reach these routes under names of their own, so any `Host` passes: a page that was rebound to this
 * address has no token.
 */
export const refuseForeignPages: RequestHandler = (request, _response, next) => {
  refuseForeignPage(request, { needsLocalHost: false });
  next();
};

/** Lets in whoever shows the operator's token. Digests are compared: they are of one length, and the time it takes says nothing. */
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
