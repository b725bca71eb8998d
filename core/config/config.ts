import { z } from 'zod';
import { accessSettings, ENTRANCE_VARIABLES } from '../access/access-variables.js';
import type { AccessSettings } from '../access/request-access.js';
import { chainVariable } from '../chains/chains.js';
import { HostUrl, readChains, type ChainConfig } from './chain.js';
import {
  ConfigError,
  describeIssues,
  openSource,
  SECRET_SETTINGS,
  type Environment,
  type ReadText,
  type Source,
  type SourceFiles,
} from './source.js';
import { DATABASE_VARIABLES, databaseSettings, DatabaseUrl, type DatabaseConfig } from './database.js';
import { FACADE_VARIABLES, facadeSettings, type FacadeSettings } from './facade.js';
import { ORDER_VARIABLES, orderSettings, type OrderSettings } from '../trading/order-variables.js';
import {
  OPERATOR_VARIABLES,
  operatorProblems,
  operatorSettings,
  traceSettings,
  TRACING_VARIABLES,
  type OperatorSettings,
  type TraceSettings,
} from './operator.js';
import { PAGE_VARIABLES, type PublicPage } from './pages.js';
import { walletCount } from './relayer.js';

export { ConfigError, type ChainConfig, type DatabaseConfig, type Environment };

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  readonly mode: 'production' | 'sandbox';
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly database: DatabaseConfig;
  readonly chains: readonly ChainConfig[];
  /** The `name` of the EIP-712 domain of native requests. */
  readonly serviceName: string;
  readonly commit: string;
  /** Host of the protocol's notifications; null = only our own. */
  readonly notificationsUrl: string | null;
  readonly access: AccessSettings;
  readonly orders: OrderSettings;
  readonly facade: FacadeSettings;
  readonly operator: OperatorSettings;
  /** The pages that are served; the operator's page is where the operator's routes are. */
  readonly pages: readonly PublicPage[];
  /** How long requests are still accepted after `/ready` reports the shutdown. */
  readonly shutdownDelayMs: number;
  /** Null or absent: no traces. */
  readonly traces?: TraceSettings | null;
  /** Warnings logged at start. Those of a relayer are stored with it. */
  readonly warnings?: readonly string[];
}

const PRICING_URL = 'https://backend-pricing.eu.gains.trade';
const GLOBAL_URL = 'https://backend-global.gains.trade';

export const Port = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(0, 'must be 0 to 65535')
  .max(65535, 'must be 0 to 65535');

/** Keeps the whole shutdown below ten seconds. */
const MAX_DELAY_MS = 3_000;
const DELAY_RANGE = `must be 0 to ${MAX_DELAY_MS}`;

const Common = z.object({
  PORT: Port.default(8080),
  HOST: z.string().min(1).default('0.0.0.0'),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
  DATABASE_URL: DatabaseUrl,
  ...DATABASE_VARIABLES,
  SERVICE_NAME: z.string().min(1).max(64).default('Diamond Gateway'),
  COMMIT: z.string().max(64).default('unknown'),
  SHUTDOWN_DELAY_MS: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(0, DELAY_RANGE)
    .max(MAX_DELAY_MS, DELAY_RANGE)
    .default(0),
  NOTIFICATIONS_URL: HostUrl.optional(),
  ...ENTRANCE_VARIABLES,
  ...ORDER_VARIABLES,
  ...FACADE_VARIABLES,
  ...OPERATOR_VARIABLES,
  ...TRACING_VARIABLES,
  ...PAGE_VARIABLES,
  PRICING_URL: HostUrl.default(PRICING_URL),
  GLOBAL_URL: HostUrl.default(GLOBAL_URL),
});

/** Every setting that is not per chain, except the files of secrets. */
export const COMMON_SETTINGS: readonly string[] = Object.keys(Common.shape);

const Database = Common.pick({ DATABASE_URL: true }).extend(DATABASE_VARIABLES);

/** The database alone, for commands that need nothing else. */
export function readDatabase(environment: Environment, files?: SourceFiles): DatabaseConfig {
  const source = openSource(environment, files);
  const { problems, readText } = source;
  const read = Database.safeParse(source.variables);
  if (!read.success) throw new ConfigError([...problems, ...describeIssues(read.error, source)]);
  const database = databaseSettings(read.data, { holders: { chains: 0, wallets: 0 }, readText, problems });
  if (problems.length > 0) throw new ConfigError(problems);
  return database;
}

/** `readText` reads the files that variables name; `isShared` tests whether others may read one. */
export function readConfig(environment: Environment, readText?: ReadText, isShared: SourceFiles['isShared'] = () => false): Config {
  const source = openSource(environment, readText && { readText, isShared });
  const { problems, variables } = source;
  const common = Common.safeParse(variables);
  if (!common.success) problems.push(...describeIssues(common.error, source));
  problems.push(...operatorProblems(source));
  const chains = readChains(source, {
    pricingUrl: common.data?.PRICING_URL ?? PRICING_URL,
    globalUrl: common.data?.GLOBAL_URL ?? GLOBAL_URL,
  });
  const database = common.success
    ? databaseSettings(common.data, { holders: leaseHolders(chains), readText: source.readText, problems })
    : null;
  if (!common.success || database === null || problems.length > 0) throw new ConfigError(problems);
  const { PORT, HOST, LOG_LEVEL, SERVICE_NAME, COMMIT, SHUTDOWN_DELAY_MS, NOTIFICATIONS_URL } = common.data;
  return {
    mode: 'production',
    host: HOST,
    port: PORT,
    logLevel: LOG_LEVEL,
    database,
    chains,
    serviceName: SERVICE_NAME,
    commit: COMMIT,
    notificationsUrl: NOTIFICATIONS_URL ?? null,
    access: accessSettings(common.data),
    orders: orderSettings(common.data),
    facade: facadeSettings(common.data, { isSandbox: false }),
    operator: operatorSettings(common.data),
    pages: common.data.PAGES,
    shutdownDelayMs: SHUTDOWN_DELAY_MS,
    traces: traceSettings(common.data),
    warnings: [...warningsOf(source, chains), ...chains.flatMap((chain) => lateAnswers(chain, common.data.FACADE_HOLD_MS))],
  };
}

function warningsOf(source: Source, chains: readonly ChainConfig[]): string[] {
  const own = chains.flatMap(({ chain: { slug } }) => ['RPC_URL', 'RPC_WS_URL'].map((name) => chainVariable(name, slug)));
  return [...SECRET_SETTINGS, ...own].flatMap((setting) => source.warningsOf(setting));
}

/** Bots wait for an answer for a limited time, and steps after a close are sent only within it. */
function lateAnswers({ chain: { slug, expectedBlockMs }, confirmations = 0, relayer }: ChainConfig, holdMs: number): string[] {
  const lateMs = confirmations * expectedBlockMs;
  if (relayer === null || lateMs === 0 || lateMs < holdMs) return [];
  return [
    `${chainVariable('CONFIRMATIONS', slug)} holds events back for about ${Math.round(lateMs / 1000)} s, longer than FACADE_HOLD_MS: orders of the facade are answered before they are known to be executed, and one that turns a position around only closes it`,
  ];
}

const leaseHolders = (chains: readonly ChainConfig[]) => ({
  chains: chains.length,
  wallets: chains.reduce((sum, { relayer }) => sum + (relayer === null ? 0 : walletCount(relayer)), 0),
});
