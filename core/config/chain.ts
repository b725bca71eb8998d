import { z } from 'zod';
import { CHAIN_SLUGS, CHAINS, chainBySlug, chainVariable, type ChainDefinition, type ChainSlug } from '../chains/chains.js';
import { SECRET_CHAIN_SETTINGS, type Source } from './source.js';
import { readReferrers, REFERRER_VARIABLES, type Referrers } from '../trading/order-variables.js';
import { readRelayer, RELAYER_PREFIX, RELAYER_VARIABLES, type RelayerConfig } from './relayer.js';

export interface ChainConfig {
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  /** In order of preference. */
  readonly rpcUrls: readonly string[];
  /** How long one request may take on all nodes together; absent: 8 s. */
  readonly nodePatienceMs?: number;
  /** Used for new-block subscriptions only. */
  readonly wsUrls: readonly string[];
  /** Chain host of the protocol's backend: parameters over HTTP, events over WebSocket. */
  readonly backendUrl: string;
  /** Pricing host: charts over HTTP, prices over WebSocket. */
  readonly pricingUrl: string;
  /** Host of all chains: history. */
  readonly globalUrl: string;
  /** Where an empty database starts to index the chain; null = a day before now. */
  readonly startBlock: bigint | null;
  /** Confirmations a block needs before its events count; absent: none. */
  readonly confirmations?: number;
  /** The relayer for traders of the facade; null: the facade is read-only there. */
  readonly relayer: RelayerConfig | null;
  /** Absent: openings name no referrer. */
  readonly referrers?: Referrers;
}

/** Settings per chain; each is followed by the chain's name. */
export const CHAIN_SETTINGS = [
  'RPC_URL',
  'RPC_WS_URL',
  'BACKEND_URL',
  'PRICING_URL',
  'GLOBAL_URL',
  'START_BLOCK',
  'CONFIRMATIONS',
  ...REFERRER_VARIABLES,
  ...RELAYER_VARIABLES,
] as const;

/** Matches every name that starts like one of them. */
const CHAIN_PREFIX = /^(?:(?:RPC|RPC_WS|BACKEND|PRICING|GLOBAL)_URL|START_BLOCK|CONFIRMATIONS|REFERRER)_/;

const isHttpUrl = (text: string): boolean => z.url({ protocol: /^https?$/ }).safeParse(text).success;
const HOST_WORDS = 'must be an http or https URL without user info, query and fragment';
/** Paths are appended to the URL, so it must not have a query; credentials are not supported. */
export const HostUrl = z.string(HOST_WORDS).refine(isHostUrl, HOST_WORDS);
const isSocketUrl = (text: string): boolean => /^wss?:\/\/./.test(text) && URL.canParse(text);

function isHostUrl(text: string): boolean {
  if (!isHttpUrl(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return `${username}${password}${search}${hash}` === '' && !/[?#]/.test(text);
}

/** Hosts for all chains, unless a chain has its own. */
export interface SharedHosts {
  readonly pricingUrl: string;
  readonly globalUrl: string;
}

export function readChains(source: Source, shared: SharedHosts): ChainConfig[] {
  const { problems } = source;
  const before = problems.length;
  const chains = CHAIN_SLUGS.flatMap((slug) => readChain(slug, source, shared) ?? []);
  const isNoneGiven = CHAIN_SLUGS.every((slug) => !source.isGiven(chainVariable('RPC_URL', slug)));
  problems.push(...unknownChainVariables(source.variables));
  if (isNoneGiven && problems.length === before)
    problems.push(
      `no chain is configured: set RPC_URL_<CHAIN> for at least one of ${CHAINS.map(({ slug }) => chainVariable('RPC_URL', slug)).join(', ')}`,
    );
  return chains;
}

function readChain(slug: ChainSlug, source: Source, shared: SharedHosts): ChainConfig | null {
  const { variables, problems } = source;
  const chain = chainBySlug(slug);
  const rpcName = chainVariable('RPC_URL', slug);
  if (variables[rpcName] === undefined) return null;
  const wsName = chainVariable('RPC_WS_URL', slug);
  const [rpcUrls, wsUrls] = [listed(variables[rpcName]), listed(variables[wsName])];
  if (rpcUrls.length === 0 || !rpcUrls.every(isHttpUrl))
    problems.push(`${source.nameOf(rpcName)} must be http or https URLs separated by commas`);
  if (!wsUrls.every(isSocketUrl)) problems.push(`${source.nameOf(wsName)} must be ws or wss URLs separated by commas`);
  const host = (name: string, usual: string): string => {
    const url = variables[chainVariable(name, slug)] ?? usual;
    if (!isHostUrl(url)) problems.push(`${chainVariable(name, slug)} ${HOST_WORDS}`);
    return url;
  };
  return {
    chain,
    rpcUrls,
    wsUrls,
    backendUrl: host('BACKEND_URL', `https://backend-${chain.backendNetwork}.gains.trade`),
    pricingUrl: host('PRICING_URL', shared.pricingUrl),
    globalUrl: host('GLOBAL_URL', shared.globalUrl),
    startBlock: readStartBlock(slug, source),
    confirmations: readConfirmations(slug, source),
    relayer: readRelayer(slug, source),
    referrers: readReferrers(slug, source),
  };
}

/** Commas or line ends, so that a file may contain one address per line. */
const listed = (text = ''): string[] => text.split(/[\s,]+/).filter((part) => part !== '');

function readStartBlock(slug: ChainSlug, { variables, problems }: Source): bigint | null {
  const text = variables[chainVariable('START_BLOCK', slug)];
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  problems.push(`${chainVariable('START_BLOCK', slug)} must be a block number`);
  return null;
}

/** Deeper than any reorganisation of these chains; more would only add delay. */
const MAX_CONFIRMATIONS = 256;

function readConfirmations(slug: ChainSlug, { variables, problems }: Source): number {
  const name = chainVariable('CONFIRMATIONS', slug);
  const text = variables[name] ?? '0';
  if (/^\d{1,3}$/.test(text) && Number(text) <= MAX_CONFIRMATIONS) return Number(text);
  problems.push(`${name} must be 0 to ${MAX_CONFIRMATIONS} blocks`);
  return 0;
}

/** Includes both positions of `_FILE`. */
export const chainSettingNames = (slug: ChainSlug): string[] => [
  ...CHAIN_SETTINGS.map((name) => chainVariable(name, slug)),
  ...SECRET_CHAIN_SETTINGS.flatMap((name) => [`${chainVariable(name, slug)}_FILE`, chainVariable(`${name}_FILE`, slug)]),
];

/** Otherwise a misspelt chain would silently not start. */
function unknownChainVariables(variables: Readonly<Record<string, string>>): string[] {
  const known = new Set(CHAIN_SLUGS.flatMap(chainSettingNames));
  return Object.keys(variables)
    .filter((name) => (CHAIN_PREFIX.test(name) || RELAYER_PREFIX.test(name)) && !known.has(name))
    .map((name) => `${name} names no chain; chains are ${CHAIN_SLUGS.join(', ')}`);
}
