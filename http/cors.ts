import type { IncomingMessage, ServerResponse } from 'node:http';

/** Routes for every origin. Operator and sandbox routes are left out on purpose: no page may read their replies. */
const PUBLIC = /^\/(?:v1|health|ready|openapi\.json)(?:[/?]|$)/;

const EXPOSED = [
  ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After'],
  ...['X-Request-Id', 'cf-ray', 'Preference-Applied', 'Allow'],
].join(', ');

/** Credentials are headers that browsers never add by themselves, so any page may call: it can only send credentials it was given. */
export const CORS_HEADERS = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED] as const;

const isPublic = (url: string): boolean => PUBLIC.test(url);

export function setCorsHeaders({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (!isPublic(url)) return;
  const [origin, any, expose, names] = CORS_HEADERS;
  response.setHeader(origin, any);
  response.setHeader(expose, names);
}

const CREDENTIALS = ['Agent', 'Timestamp', 'Nonce', 'Signature', 'Api-Key'];
const A_DAY_S = 86_400;
const NO_CONTENT = 204;

/** Answers a CORS preflight request; true if it was one. */
export function createPreflight(headerPrefixes: readonly string[]): (request: IncomingMessage, response: ServerResponse) => boolean {
  const credentials = headerPrefixes.flatMap((prefix) => CREDENTIALS.map((name) => `${prefix}${name}`));
  const allowed = ['Content-Type', 'Prefer', 'X-Request-Id', 'traceparent', ...credentials].join(', ');
  return ({ method, url = '', headers }, response) => {
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined || !isPublic(url)) return false;
    response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PATCH, DELETE');
    response.setHeader('Access-Control-Allow-Headers', allowed);
    response.setHeader('Access-Control-Max-Age', A_DAY_S);
    response.writeHead(NO_CONTENT).end();
    return true;
  };
}
