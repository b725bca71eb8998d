import { z } from 'zod';
import { ENTRANCE_VARIABLES } from '../core/access/entrance-variables.js';
import { ChainList } from '../core/chain-list.js';
import { POOL_VARIABLES } from '../core/database-pool.js';
import { ConfigError, DatabaseUrl, LOG_LEVELS, Port, describeIssues, present, type Environment } from '../core/config.js';
import { FACADE_VARIABLES } from '../core/facade/facade-variables.js';
import { ORDER_VARIABLES } from '../core/orders/order-variables.js';
import { OPERATOR_VARIABLES } from '../core/relay/operator-variables.js';

const Milliseconds = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(10, 'must be at least 10')
  .max(60_000, 'must be at most 60000');

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
  /** Absent: a PostgreSQL server of our own, started and ended with the sandbox. */
  DATABASE_URL: DatabaseUrl.optional(),
  ...POOL_VARIABLES,
  SANDBOX_CHAINS: z.string().default('arbitrum-sepolia').pipe(ChainList),
  SANDBOX_SEED: z.string().min(1).max(64).default('diamond'),
  SANDBOX_DATA: z.string().optional(),
  SANDBOX_BLOCK_MS: Milliseconds.default(250),
  SANDBOX_ORACLE_MS: Milliseconds.default(500),
  SANDBOX_RPC_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
});

export type SandboxSettings = z.output<typeof Settings>;

/** Settings of a real deployment: with one of these present somebody meant production, and a sandbox must not answer in its place. */
const PRODUCTION_ONLY = /^(?:RPC_URL_|RELAYER_)/;

export function readSandboxSettings(environment: Environment): SandboxSettings {
  const variables = present(environment);
  const settings = Settings.safeParse(variables);
  const problems = [
    ...Object.keys(variables)
      .filter((name) => PRODUCTION_ONLY.test(name))
      .map((name) => `${name} is set, but npm start is always the sandbox; use npm run start:production, or unset it`),
    ...Object.keys(variables)
      .filter((name) => name.startsWith('SANDBOX_') && !(name in Settings.shape))
      .map((name) => `${name} is no setting of the sandbox`),
    ...(settings.success ? [] : describeIssues(settings.error)),
  ];
  if (!settings.success || problems.length > 0) throw new ConfigError(problems);
  if (settings.data.SANDBOX_RPC_URL !== undefined && settings.data.SANDBOX_CHAINS.length > 1)
    throw new ConfigError(['SANDBOX_RPC_URL serves one chain, but SANDBOX_CHAINS names several']);
  return settings.data;
}
