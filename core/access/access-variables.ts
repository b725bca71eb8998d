import { z } from 'zod';
import { parseRange, type TrustedProxies } from './client-address.js';
import { LAUNCH_LIMITS } from './limits.js';
import type { AccessSettings } from './request-access.js';

const Limit = z.coerce.number('must be a number').int('must be a whole number').min(1, 'must be at least 1');

const Prefixes = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9-]{0,31}(?:\s*,\s*[A-Za-z0-9][A-Za-z0-9-]{0,31})*$/,
    'must be header prefixes such as X-Service-, separated by commas',
  )
  .transform((text) => text.split(',').map((prefix) => prefix.trim()));

const Proxies = z.string().transform((text, context): TrustedProxies => {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const ranges = text.split(',').map(parseRange);
  if (ranges.includes(null))
    context.addIssue({ code: 'custom', message: 'must be a number of hops, or addresses and CIDR ranges separated by commas' });
  return ranges.filter((range) => range !== null);
});

/** The same for production and sandbox. */
export const ENTRANCE_VARIABLES = {
  RATE_LIMIT_IP: Limit.default(LAUNCH_LIMITS.ip),
  /** Unset: twice the request limit, because the lightest info request weighs two. */
  RATE_LIMIT_INFO_WEIGHT: Limit.optional(),
  RATE_LIMIT_AGENT: Limit.default(LAUNCH_LIMITS.agent),
  RATE_LIMIT_AGENT_WRITES: Limit.default(LAUNCH_LIMITS['agent-writes']),
  /** Per address, over all sockets; the defaults are Hyperliquid's. */
  SOCKETS_PER_IP: Limit.default(100),
  SUBSCRIPTIONS_PER_IP: Limit.default(1_000),
  TRACKED_USERS_PER_IP: Limit.default(10),
  HEADER_PREFIXES: Prefixes.default(['X-Service-']),
  TRUSTED_PROXIES: Proxies.default([]),
  MAX_CONNECTIONS: Limit.default(10_000),
  MAX_CONNECTIONS_PER_ADDRESS: Limit.default(1_000),
};

const LIGHTEST = 2;

type Variables = z.output<z.ZodObject<typeof ENTRANCE_VARIABLES>>;

export const accessSettings = (variables: Variables): AccessSettings => ({
  limits: {
    ip: variables.RATE_LIMIT_IP,
    agent: variables.RATE_LIMIT_AGENT,
    'agent-writes': variables.RATE_LIMIT_AGENT_WRITES,
  },
  infoWeight: variables.RATE_LIMIT_INFO_WEIGHT ?? LIGHTEST * variables.RATE_LIMIT_IP,
  sockets: {
    sockets: variables.SOCKETS_PER_IP,
    subscriptions: variables.SUBSCRIPTIONS_PER_IP,
    users: variables.TRACKED_USERS_PER_IP,
  },
  headerPrefixes: variables.HEADER_PREFIXES,
  trustedProxies: variables.TRUSTED_PROXIES,
  connections: { total: variables.MAX_CONNECTIONS, perAddress: variables.MAX_CONNECTIONS_PER_ADDRESS },
});
