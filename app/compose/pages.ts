import type { IncomingMessage } from 'node:http';
import type { Router } from 'express';
import { isTrustedPeer } from '../../core/access/client-address.js';
import type { Config } from '../../core/config/config.js';
import type { Gateway } from '../../core/gateway.js';
import { ACTIONS } from '../../facade/actions/index.js';
import { INFO_TYPES } from '../../facade/info/info-handler.js';
import { SUBSCRIPTION_NAMES } from '../../facade/ws/subscriptions.js';
import { findBuiltPages, pagesRouter, pathOf, type PageName } from '../../http/built-pages.js';
import { llmsText } from '../../native-api/docs.js';
import { OPERATIONS } from '../../native-api/operations/index.js';

/** The pages, and at `/` the addresses of everything else. */
export function pageRouters(gateway: Gateway, config: Config): readonly Router[] {
  const { mode, version, serviceName: name } = gateway;
  const pages: readonly PageName[] = [...config.pages, ...(config.operator.token === null ? [] : (['operator'] as const))];
  const chains = [...gateway.venues.values()].map(({ definition: { slug: chain, chainId, testnet } }) => ({ chain, chainId, testnet }));
  const headerPrefix = gateway.access.headerPrefixes[0] ?? '';
  const originOf = createOriginReader(config);
  return [
    pagesRouter({
      findBuilt: () => findBuiltPages(import.meta.dirname),
      pages,
      describe: (request) => describe({ name, version, mode, headerPrefix, chains, pages, origin: originOf(request) }),
      llms: (request) =>
        llmsText({
          name,
          origin: originOf(request),
          chains,
          isSandbox: mode === 'sandbox',
          headerPrefix,
          operations: OPERATIONS,
          facade: {
            infoTypes: [...INFO_TYPES.keys()],
            actions: [...ACTIONS].filter(([, { verdict }]) => !verdict.kind.startsWith('refused')).map(([type]) => type),
            subscriptions: SUBSCRIPTION_NAMES,
          },
        }),
    }),
  ];
}

interface Description extends Pick<Gateway, 'version' | 'mode'> {
  readonly name: string;
  readonly headerPrefix: string;
  readonly chains: readonly { readonly chain: string; readonly chainId: number; readonly testnet: boolean }[];
  readonly pages: readonly PageName[];
  readonly origin: string;
}

const describe = ({ name, version, mode, headerPrefix, chains, pages, origin }: Description): object => ({
  name,
  version,
  mode,
  headerPrefix,
  chains: chains.map((one) => ({ ...one, native: `${origin}/v1/${one.chain}`, hyperliquid: `${origin}/hl/${one.chain}` })),
  pages: Object.fromEntries(pages.map((page) => [page, pathOf(page)])),
  docs: `${origin}/docs`,
  openapi: `${origin}/openapi.json`,
  llms: `${origin}/llms.txt`,
});

const HOST = /^[\w.:[\]-]{1,255}$/;

/** The address under which a client reached us. Only a trusted proxy is believed that it ended TLS. */
function createOriginReader({ access: { trustedProxies } }: Config): (request: IncomingMessage) => string {
  return ({ headers, socket }) => {
    const { host = '', 'x-forwarded-proto': given } = headers;
    if (!HOST.test(host)) return '';
    const isSecure = given === 'https' && isTrustedPeer(socket.remoteAddress ?? '', trustedProxies);
    return `${isSecure ? 'https' : 'http'}://${host}`;
  };
}
