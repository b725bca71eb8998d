/** URLs of the protocol's backends. Paths are kept, so that one host may serve several chains under prefixes. */
export interface Endpoints {
  /** Chain host, REST. */
  readonly backendUrl: string;
  /** Chain host, event stream. */
  readonly eventsUrl: string;
  /** Pricing host, REST. */
  readonly pricingUrl: string;
  /** Pricing host, stream with mark and index apart. */
  readonly pricingWsUrl: string;
  /** Host of all chains, REST: history. */
  readonly globalUrl: string;
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');
const socketUrl = (url: string): string => trimmed(url).replace(/^http/, 'ws');

export function endpointsOf(hosts: { readonly backendUrl: string; readonly pricingUrl: string; readonly globalUrl: string }): Endpoints {
  return {
    backendUrl: trimmed(hosts.backendUrl),
    eventsUrl: socketUrl(hosts.backendUrl),
    pricingUrl: trimmed(hosts.pricingUrl),
    pricingWsUrl: `${socketUrl(hosts.pricingUrl)}/v4`,
    globalUrl: trimmed(hosts.globalUrl),
  };
}

export const productionEndpoints = (backendNetwork: string): Endpoints =>
  endpointsOf({
    backendUrl: `https://backend-${backendNetwork}.gains.trade`,
    pricingUrl: 'https://backend-pricing.eu.gains.trade',
    globalUrl: 'https://backend-global.gains.trade',
  });
