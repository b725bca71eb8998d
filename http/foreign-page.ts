import { isIpAddress } from '../core/access/client-address.js';
import { GatewayError } from '../core/errors.js';

/** The headers that show where a request comes from. */
export interface RequestSource {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`, which pages cannot set themselves. */
  readonly site?: string | undefined;
  readonly contentType?: string | undefined;
  readonly hasBody: boolean;
}

export interface SourceRule {
  /** True for routes without a token: with DNS rebinding an attacker's page becomes same-origin under the attacker's host name. */
  readonly needsLocalHost: boolean;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const SAME_SITE: ReadonlySet<string> = new Set(['same-origin', 'same-site', 'none']);
const JSON_TYPE = /^application\/(?:json|json-rpc|jsonrequest)\s*(?:;|$)/i;
/** The content type curl sends with `-d` by default. A page that sends it cannot omit its origin. */
const CURL_TYPE = /^application\/x-www-form-urlencoded$/i;

export const isJsonType = (type: string | undefined): boolean => type !== undefined && JSON_TYPE.test(type.trim());

/** Whether `Host` is localhost or an IP address: an attacker's DNS can point a name here, but cannot turn it into an address. */
export function isLocalHost(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name.toLowerCase() === 'localhost' || isIpAddress(name);
}

/** Whether an `Origin` is a page of the local machine. */
export const isLoopbackOrigin = (origin: string): boolean => URL.canParse(origin) && LOOPBACK_NAMES.has(new URL(origin).hostname);

const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();

/**
 * Why a request to a route that changes something, or returns secrets, may come from a foreign web page; null if it cannot.
 * Programs send none of these headers, so curl, Prometheus and load balancers pass.
 */
export function foreignPageReason(source: RequestSource, { needsLocalHost }: SourceRule): string | null {
  const { host, origin, site, contentType, hasBody } = source;
  if (needsLocalHost && !isLocalHost(host)) return 'The Host of this request must be localhost or an address.';
  if (origin !== undefined && !isLoopbackOrigin(origin) && !isSameOrigin(origin, host)) return 'Pages of another origin may not ask this.';
  if (origin === undefined && site !== undefined && !SAME_SITE.has(site)) return 'Pages of another site may not ask this.';
  const isOfPage = origin !== undefined || site !== undefined;
  const isDeclared = contentType === undefined ? !isOfPage : isJsonType(contentType) || (!isOfPage && CURL_TYPE.test(contentType.trim()));
  return hasBody && !isDeclared ? 'The body must be sent with Content-Type: application/json.' : null;
}

type SourceHeaders = Readonly<Record<'host' | 'origin' | 'content-type', string | undefined>> & {
  readonly 'sec-fetch-site'?: string | string[] | undefined;
};

/** Throws UNSUPPORTED for a request that may come from a foreign web page. `body` is what was read of it. */
export function refuseForeignPage(request: { readonly headers: Partial<SourceHeaders>; readonly body?: unknown }, rule: SourceRule): void {
  const { host, origin, 'sec-fetch-site': site, 'content-type': contentType } = request.headers;
  const hasBody = request.body instanceof Uint8Array && request.body.length > 0;
  const source = { host, origin, site: Array.isArray(site) ? site.join() : site, contentType, hasBody };
  const reason = foreignPageReason(source, rule);
  if (reason !== null) throw new GatewayError('UNSUPPORTED', { reason });
}
