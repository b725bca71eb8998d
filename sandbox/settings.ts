import { z } from 'zod';
import { ENTRANCE_VARIABLES } from '../core/access/access-variables.js';
import { LOG_LEVELS, Port } from '../core/config/config.js';
import { ConfigError, describeIssues, openSource, type Environment, type SourceFiles } from '../core/config/source.js';
import { DATABASE_VARIABLES, DatabaseUrl } from '../core/config/database.js';
import { FACADE_VARIABLES } from '../core/config/facade.js';
import { ORDER_VARIABLES, readReferrers, type Referrers } from '../core/trading/order-variables.js';
import { OPERATOR_VARIABLES, operatorProblems, TRACING_VARIABLES } from '../core/config/operator.js';
import { PAGE_VARIABLES } from '../core/config/pages.js';
import { CHAIN_SLUGS, chainBySlug, isChainSlug } from '../core/chains/chains.js';

const Milliseconds = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(10, 'must be at least 10')
  .max(60_000, 'must be at most 60000');

/** `arbitrum-sepolia,base` → definitions; used by every setting that lists chains. */
const ChainList = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !isChainSlug(name));
  if (unknown.length > 0)
    context.addIssue({ code: 'custom', message: `names no chain: ${unknown.join(', ')}; chains are ${CHAIN_SLUGS.join(', ')}` });
  return [...new Set(names.filter(isChainSlug))].map(chainBySlug);
});

const Settings = z.object({
  PORT: Port.default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('warn'),
  SERVICE_NAME: z.string().min(1).max(64).default('Diamond Gateway'),
  COMMIT: z.string().max(64).default('unknown'),
  ...ENTRANCE_VARIABLES,
  ...ORDER_VARIABLES,
  ...FACADE_VARIABLES,
  ...OPERATOR_VARIABLES,
  ...TRACING_VARIABLES,
  ...PAGE_VARIABLES,
  /** Absent: an embedded PostgreSQL server that starts and ends with the sandbox. */
  DATABASE_URL: DatabaseUrl.optional(),
  ...DATABASE_VARIABLES,
  SANDBOX_CHAINS: z.string().default('arbitrum-sepolia').pipe(ChainList),
  SANDBOX_SEED: z.string().min(1).max(64).default('diamond'),
  SANDBOX_DATA: z.string().optional(),
  /** Between two blocks while a transaction is pending. */
  SANDBOX_BLOCK_MS: Milliseconds.default(250),
  /** Between two blocks while none is pending. */
  SANDBOX_IDLE_BLOCK_MS: Milliseconds.default(2_000),
  /** How often each market's price moves. */
  SANDBOX_PRICE_MS: Milliseconds.default(250),
  SANDBOX_ORACLE_MS: Milliseconds.default(500),
  SANDBOX_RPC_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
});

export interface SandboxSettings extends z.output<typeof Settings> {
  /** The referrers of openings, by chain. */
  readonly referrers: ReadonlyMap<string, Referrers>;
}

/** Settings of a real deployment: if one is present, production was intended, and the sandbox must not start instead. */
const PRODUCTION_ONLY = /^(?:RPC_URL_|RELAYER_)/;

/** Secrets are read as in production; without `files` no file can be named. */
export function readSandboxSettings(environment: Environment, files?: SourceFiles): SandboxSettings {
  const source = openSource(environment, files);
  const { variables, problems } = source;
  const settings = Settings.safeParse(variables);
  const names = Object.keys(variables);
  for (const name of names.filter((name) => PRODUCTION_ONLY.test(name)))
    problems.push(`${name} is set, but npm start is always the sandbox; use npm run start:production, or unset it`);
  for (const name of names.filter((name) => name.startsWith('SANDBOX_') && !(name in Settings.shape)))
    problems.push(`${name} is no setting of the sandbox`);
  if (!settings.success) problems.push(...describeIssues(settings.error, source));
  problems.push(...operatorProblems(source));
  const chains = settings.data?.SANDBOX_CHAINS ?? [];
  const referrers = new Map(chains.map(({ slug }): [string, Referrers] => [slug, readReferrers(slug, source)]));
  if (!settings.success || problems.length > 0) throw new ConfigError(problems);
  if (settings.data.SANDBOX_RPC_URL !== undefined && settings.data.SANDBOX_CHAINS.length > 1)
    throw new ConfigError(['SANDBOX_RPC_URL serves one chain, but SANDBOX_CHAINS names several']);
  return { ...settings.data, referrers };
}

/** The sandbox's own setting names. */
export const SANDBOX_SETTINGS: readonly string[] = Object.keys(Settings.shape).filter((name) => name.startsWith('SANDBOX_'));
