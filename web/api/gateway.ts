import { request, type Answer } from './request.js';

/** What `GET /` says to programs, and all that a page knows when it begins. */
export interface GatewayFacts {
  readonly name: string;
  readonly version: string;
  readonly mode: 'production' | 'sandbox';
  /** Of the headers that carry credentials. */
  readonly headerPrefix: string;
  readonly chains: readonly ChainFacts[];
  /** Paths of the pages that are switched on, by name. */
  readonly pages: Readonly<Record<string, string>>;
  readonly docs: string;
  readonly openapi: string;
}

export interface ChainFacts {
  readonly chain: string;
  readonly chainId: number;
  readonly testnet: boolean;
  /** Base URL of the native API, without a slash at the end. */
  readonly native: string;
  readonly hyperliquid: string;
}

export const readGateway = (signal: AbortSignal): Promise<Answer<GatewayFacts>> => request('/', { signal });
