import { z } from 'zod';
import { ENTRANCE_VARIABLES, entranceSettings } from './access/entrance-variables.js';
import type { EntranceSettings } from './access/entrance.js';
import { CHAIN_SLUGS, CHAINS, chainBySlug, chainVariable, type ChainDefinition, type ChainSlug } from './chains.js';
import { MOST_EMBEDDED, POOL_VARIABLES, poolSizeFor } from './database-pool.js';
import { FACADE_VARIABLES, facadeSettings, type FacadeSettings } from './facade/facade-variables.js';
import { ORDER_VARIABLES, orderSettings, type OrderSettings } from './orders/order-variables.js';
import { OPERATOR_VARIABLES, operatorSettings, type OperatorSettings } from './relay/operator-variables.js';
import {
  RELAYER_PREFIX,
  RELAYER_VARIABLES,
  readRelayer,
  walletCount,
  type ChainSource,
  type ReadText,
  type RelayerConfig,
} from './relay/relayer-variables.js';
import { StartError } from './start-error.js';

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface ChainConfig {
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  /** Tried in this order. */
  readonly rpcUrls: readonly string[];
  /** Listened to for new blocks; asked nothing. */
  readonly wsUrls: readonly string[];
  /** Chain host of the protocol's backend: parameters over HTTP, events over WebSocket. */
  readonly backendUrl: string;
  /** Pricing host: charts over HTTP, prices over WebSocket. */
  readonly pricingUrl: string;
  /** Host of all chains: history. */
  readonly globalUrl: string;
  /** Where an empty database begins to follow the chain; null = a day before now. */
  readonly startBlock: bigint | null;
  /** Who sends for the traders of the facade; null: the facade can be read there, not traded through. */
  readonly relayer: RelayerConfig | null;
}

export type DatabaseConfig = (
  | { readonly kind: 'server'; readonly url: string }
  /** `durable: false` spares the disk where nobody will miss the data after a power cut. */
  | { readonly kind: 'embedded'; readonly folder: string; readonly durable?: boolean }
) & { readonly poolSize?: number };

export interface Config {
  readonly mode: 'production' | 'sandbox';
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly database: DatabaseConfig;
  readonly chains: readonly ChainConfig[];
  /** The `name` of the EIP-712 domain every native request is signed in. */
  readonly serviceName: string;
  readonly commit: string;
  /** Host of the protocol's notifications; null = only our own. */
  readonly notificationsUrl: string | null;
  readonly entrance: EntranceSettings;
  readonly orders: OrderSettings;
  readonly facade: FacadeSettings;
  readonly operator: OperatorSettings;
}

/** Everything that is wrong, at once: an operator should not have to start ten times to find ten mistakes. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

const PRICING_URL = 'https://backend-pricing.eu.gains.trade';
const GLOBAL_URL = 'https://backend-global.gains.trade';

export const Port = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(0, 'must be 0 to 65535')
  .max(65535, 'must be 0 to 65535');
const HttpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
export const DatabaseUrl = z
  .string('must be a postgres:// URL, or embedded:<folder>')
  .regex(/^(?:postgres(?:ql)?:\/\/.+|embedded:.+)$/, 'must be a postgres:// URL, or embedded:<folder>')
  .transform((text): DatabaseConfig =>
    text.startsWith('embedded:') ? { kind: 'embedded', folder: text.slice('embedded:'.length) } : { kind: 'server', url: text },
  );

const Common = z.object({
  PORT: Port.default(8080),
  HOST: z.string().min(1).default('0.0.0.0'),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  DATABASE_URL: DatabaseUrl,
  ...POOL_VARIABLES,
  SERVICE_NAME: z.string().min(1).max(64).default('Diamond Gateway'),
  COMMIT: z.string().max(64).default('unknown'),
  NOTIFICATIONS_URL: HttpUrl.optional(),
  ...ENTRANCE_VARIABLES,
  ...ORDER_VARIABLES,
  ...FACADE_VARIABLES,
  ...OPERATOR_VARIABLES,
  PRICING_URL: HttpUrl.default(PRICING_URL),
  GLOBAL_URL: HttpUrl.default(GLOBAL_URL),
});

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable means the same as an absent one: `.env` files are full of them. */
export const present = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined || value.trim() === '' ? [] : [[name, value.trim()]])),
  );

/** Never quotes a value: it may be a secret. */
export const describeIssues = (error: z.ZodError): string[] => error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`);

/** The database alone, for commands that need nothing else. */
export function readDatabase(environment: Environment): DatabaseConfig {
  const read = Common.pick({ DATABASE_URL: true }).safeParse(present(environment));
  if (!read.success) throw new ConfigError(describeIssues(read.error));
  return read.data.DATABASE_URL;
}

const nobody = (): boolean => false;

const noFiles: ReadText = () => {
  throw new Error('No file can be read here.');
};

/** `readText` reads the files that variables name; `isShared` says whether others may read one. */
export function readConfig(environment: Environment, readText: ReadText = noFiles, isShared: (path: string) => boolean = nobody): Config {
  const variables = present(environment);
  const common = Common.safeParse(variables);
  const chains = readChains({ variables, readText, isShared, problems: [] });
  const poolSize = poolSizeFor(common.data?.DATABASE_POOL ?? 0, leaseHolders(chains.chains));
  const problems = [...(common.success ? [] : describeIssues(common.error)), ...chains.problems];
  const operator = common.success ? operatorSettings(common.data, readText, problems) : null;
  if (common.data?.DATABASE_URL.kind === 'embedded' && poolSize > MOST_EMBEDDED)
    problems.push(
      `DATABASE_POOL, one for each chain and one for each relayer key must be at most ${MOST_EMBEDDED} with an embedded database`,
    );
  if (!common.success || operator === null || problems.length > 0) throw new ConfigError(problems);
  const { PORT, HOST, LOG_LEVEL, DATABASE_URL, SERVICE_NAME, COMMIT, NOTIFICATIONS_URL } = common.data;
  return {
    mode: 'production',
    host: HOST,
    port: PORT,
    logLevel: LOG_LEVEL,
    database: { ...DATABASE_URL, poolSize },
    chains: chains.chains,
    serviceName: SERVICE_NAME,
    commit: COMMIT,
    notificationsUrl: NOTIFICATIONS_URL ?? null,
    entrance: entranceSettings(common.data),
    orders: orderSettings(common.data),
    facade: facadeSettings(common.data),
    operator,
  };
}

const leaseHolders = (chains: readonly ChainConfig[]) => ({
  chains: chains.length,
  wallets: chains.reduce((sum, { relayer }) => sum + (relayer === null ? 0 : walletCount(relayer)), 0),
});

function readChains(source: ChainSource): { chains: ChainConfig[]; problems: string[] } {
  const { variables, problems } = source;
  const chains = CHAIN_SLUGS.flatMap((slug) => readChain(slug, source) ?? []);
  if (chains.length === 0 && problems.length === 0)
    problems.push(
      `no chain is configured: set RPC_URL_<CHAIN> for at least one of ${CHAINS.map(({ slug }) => chainVariable('RPC_URL', slug)).join(', ')}`,
    );
  return { chains, problems: [...problems, ...unknownChainVariables(variables)] };
}

function readChain(slug: ChainSlug, source: ChainSource): ChainConfig | null {
  const { variables, problems } = source;
  const chain = chainBySlug(slug);
  const rpc = variables[chainVariable('RPC_URL', slug)];
  if (rpc === undefined) return null;
  const rpcUrls = rpc.split(',').map((url) => url.trim());
  const backendUrl = variables[chainVariable('BACKEND_URL', slug)] ?? `https://backend-${chain.backendNetwork}.gains.trade`;
  const wsUrls = (variables[chainVariable('RPC_WS_URL', slug)] ?? '').split(',').flatMap((url) => url.trim() || []);
  if (!wsUrls.every((url) => /^wss?:\/\/./.test(url)))
    problems.push(`${chainVariable('RPC_WS_URL', slug)} must be ws or wss URLs separated by commas`);
  if (!rpcUrls.every(isHttpUrl)) problems.push(`${chainVariable('RPC_URL', slug)} must be http or https URLs separated by commas`);
  if (!isHttpUrl(backendUrl)) problems.push(`${chainVariable('BACKEND_URL', slug)} must be an http or https URL`);
  return {
    chain,
    rpcUrls,
    wsUrls,
    backendUrl,
    pricingUrl: variables['PRICING_URL'] ?? PRICING_URL,
    globalUrl: variables['GLOBAL_URL'] ?? GLOBAL_URL,
    startBlock: readStartBlock(slug, source),
    relayer: readRelayer(slug, source),
  };
}

function readStartBlock(slug: ChainSlug, { variables, problems }: ChainSource): bigint | null {
  const text = variables[chainVariable('START_BLOCK', slug)];
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  problems.push(`${chainVariable('START_BLOCK', slug)} must be a block number`);
  return null;
}

const isHttpUrl = (text: string): boolean => HttpUrl.safeParse(text).success;

/** A misspelt chain would otherwise be a chain that silently does not start. */
function unknownChainVariables(variables: Record<string, string>): string[] {
  const known = new Set(
    CHAIN_SLUGS.flatMap((slug) =>
      ['RPC_URL', 'RPC_WS_URL', 'BACKEND_URL', 'START_BLOCK', ...RELAYER_VARIABLES].map((name) => chainVariable(name, slug)),
    ),
  );
  return Object.keys(variables)
    .filter((name) => (/^(?:(?:RPC|RPC_WS|BACKEND)_URL|START_BLOCK)_/.test(name) || RELAYER_PREFIX.test(name)) && !known.has(name))
    .map((name) => `${name} names no chain; chains are ${CHAIN_SLUGS.join(', ')}`);
}
