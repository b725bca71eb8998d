import { isIpAddress } from '../core/access/client-address.js';
import { GatewayError } from '../core/errors.js';

/** What a request says about where it comes from. */
export interface RequestSource {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`, which pages cannot set themselves. */
  readonly site?: string | undefined;
  readonly contentType?: string | undefined;
  readonly hasBody: boolean;
}

export interface SourceRule {
  /** True where nothing else keeps strangers out: a name that an attacker's DNS points here makes a page of the attacker same-origin. */
  readonly needsLocalHost: boolean;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const SAME_SITE: ReadonlySet<string> = new Set(['same-origin', 'same-site', 'none']);
const JSON_TYPE = /^application\/(?:json|json-rpc|jsonrequest)\s*(?:;|$)/i;
/** What curl says of `-d` where nothing else is asked for. A page that says it cannot leave out its origin as well. */
const CURL_TYPE = /^application\/x-www-form-urlencoded$/i;

export const isJsonType = (type: string | undefined): boolean => type !== undefined && JSON_TYPE.test(type.trim());

/** Whether `Host` is this machine or an address: the DNS of an attacker can point a name anywhere, but not make an address of it. */
export function isLocalHost(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name.toLowerCase() === 'localhost' || isIpAddress(name);
}

/** Whether an `Origin` is a page of this machine. */
export const isLoopbackOrigin = (origin: string): boolean => URL.canParse(origin) && LOOPBACK_NAMES.has(new URL(origin).hostname);

const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();

/**
 * Why a request to a route that changes something, or that answers with secrets, may come from a web page of a stranger; null where it
 * cannot. Programs send none of these headers, so curl, Prometheus and balancers pass.
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

/** Throws UNSUPPORTED for a request that may come from a page of a stranger. `body` is what was read of it. */
export function refuseForeignPage(request: { readonly headers: Partial<SourceHeaders>; readonly body?: unknown }, rule: SourceRule): void {
  const { host, origin, 'sec-fetch-site': site, 'content-type': contentType } = request.headers;
  const hasBody = request.body instanceof Uint8Array && request.body.length > 0;
  const source = { host, origin, site: Array.isArray(site) ? site.join() : site, contentType, hasBody };
  const reason = foreignPageReason(source, rule);
  if (reason !== null) throw new GatewayError('UNSUPPORTED', { reason });
}
