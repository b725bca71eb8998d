import { z } from 'zod';
import { parseEther } from 'viem/utils';
import { CHAIN_SLUGS } from '../chains/chains.js';
import { type Source, hasUserInfo, NATIVE_AMOUNT } from './source.js';

/** Access and alerts of the operator. */
export interface OperatorSettings {
  /** For `/relayer`. A function, so that printing the configuration does not reveal it; null: the operator's routes do not exist. */
  readonly token: (() => string) | null;
  /** For `/metrics` only, so that a collector does not need the operator's token. Null: the operator's token is used for both. */
  readonly metricsToken: (() => string) | null;
  /** Metrics contain no secrets, but reveal the trading volume. */
  readonly areMetricsPublic: boolean;
  readonly alerts: AlertSettings;
}

export interface AlertSettings {
  /** Functions for the same reason: the URL may contain a secret too. Null: alerts are stored and shown, but not sent. */
  readonly webhook: { readonly url: () => string; readonly secret: () => string } | null;
  /** Wei below which an alert is raised, per chain because coins differ in value. */
  readonly lowBalance: { readonly usual: bigint; readonly own: ReadonlyMap<string, bigint> };
  /** Alert below this many days left at last week's rate; 0 = never. */
  readonly lowRunwayDays: number;
}

export const SHORTEST_TOKEN = 16;
const DEFAULT_LOW_BALANCE = '0.01';
const SECRET = /^[\x21-\x7e]+$/;

const isChain = (name: string): boolean => CHAIN_SLUGS.some((slug) => slug === name);
const isLongEnough = (text: string): boolean => text.length >= SHORTEST_TOKEN && SECRET.test(text);
const SECRET_RULE = `must be at least ${SHORTEST_TOKEN} printable characters without a space`;

/** `0.01` for every chain, or `0.01,polygon=5` with a value for one chain. */
const LowBalance = z.string().transform((text, context): AlertSettings['lowBalance'] => {
  const parts = text.split(',').map((part) => part.trim().split('='));
  const isRight = parts.every(([name = '', amount]) => NATIVE_AMOUNT.test(amount ?? name) && (amount === undefined || isChain(name)));
  const everywhere = parts.filter(({ length }) => length === 1);
  if (!isRight || everywhere.length > 1 || parts.some(({ length }) => length > 2)) {
    context.addIssue({
      code: 'custom',
      message: 'must be an amount of the native coin such as 0.05, or with some chains of their own: 0.05,polygon=5',
    });
    return z.NEVER;
  }
  const own = new Map(parts.flatMap(([name = '', amount]) => (amount === undefined ? [] : [[name, parseEther(amount)] as const])));
  const usual = parseEther(everywhere[0]?.[0] ?? DEFAULT_LOW_BALANCE);
  return { usual, own };
});

const Secret = z.string().refine(isLongEnough, SECRET_RULE);

/** The same for production and sandbox. */
export const OPERATOR_VARIABLES = {
  OPERATOR_TOKEN: Secret.optional(),
  METRICS_TOKEN: Secret.optional(),
  METRICS_PUBLIC: z.enum(['true', 'false'], 'must be true or false').default('false'),
  ALERT_WEBHOOK_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((text) => !URL.canParse(text) || !hasUserInfo(new URL(text)), 'must hold no user info: messages are signed instead')
    .optional(),
  ALERT_WEBHOOK_SECRET: Secret.optional(),
  ALERT_LOW_BALANCE: LowBalance.prefault(DEFAULT_LOW_BALANCE),
  ALERT_LOW_RUNWAY_DAYS: z.coerce.number('must be a number').min(0, 'must be 0 to 365').max(365, 'must be 0 to 365').default(3),
};

type Variables = z.output<z.ZodObject<typeof OPERATOR_VARIABLES>>;

export function operatorSettings(variables: Variables): OperatorSettings {
  const { OPERATOR_TOKEN: token, METRICS_TOKEN: metricsToken, ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: secret } = variables;
  return {
    token: token === undefined ? null : () => token,
    metricsToken: metricsToken === undefined ? null : () => metricsToken,
    areMetricsPublic: variables.METRICS_PUBLIC === 'true',
    alerts: {
      webhook: url === undefined || secret === undefined ? null : { url: () => url, secret: () => secret },
      lowBalance: variables.ALERT_LOW_BALANCE,
      lowRunwayDays: variables.ALERT_LOW_RUNWAY_DAYS,
    },
  };
}

/** Problems between variables. */
export const operatorProblems = ({ isGiven }: Pick<Source, 'isGiven'>): string[] =>
  isGiven('ALERT_WEBHOOK_URL') === isGiven('ALERT_WEBHOOK_SECRET')
    ? []
    : ['ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET are set together or not at all, each in a variable or in a file'];

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export interface TraceSettings {
  /** Functions, so that printing the configuration does not reveal them: both may contain a key. */
  readonly url: () => string;
  readonly headers: () => Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly sampler: (typeof SAMPLERS)[number];
  /** Sampling ratio, for ratio-based samplers. */
  readonly ratio: number;
}

const Url = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** `key=value,key=value`, values with the escapes of a URL. */
const Headers = z.string().transform((text, context): Record<string, string> => {
  const pairs = text.split(',').map((part) => part.trim().split('='));
  try {
    if (pairs.every(([name = '', ...value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name.trim()) && value.length > 0))
      return Object.fromEntries(pairs.map(([name = '', ...value]) => [name.trim(), decodeURIComponent(value.join('=').trim())]));
  } catch {
    // Reported below.
  }
  context.addIssue({ code: 'custom', message: 'must be name=value pairs separated by commas, with percent-encoded values' });
  return z.NEVER;
});

/** OpenTelemetry's standard names. The same for production and sandbox. */
export const TRACING_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Url.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: Headers.optional(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: Headers.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.literal('http/json', 'must be http/json, the one that is spoken here').optional(),
  OTEL_SERVICE_NAME: z.string().min(1).max(64).default('diamond-gateway'),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number('must be a number').min(0, 'must be 0 to 1').max(1, 'must be 0 to 1').default(1),
  OTEL_SDK_DISABLED: z.enum(['true', 'false'], 'must be true or false').default('false'),
};

/** Null without an endpoint. */
export function traceSettings(variables: z.output<z.ZodObject<typeof TRACING_VARIABLES>>): TraceSettings | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = variables;
  const url = own ?? (all === undefined ? undefined : `${all.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || variables.OTEL_SDK_DISABLED === 'true') return null;
  const headers = { ...variables.OTEL_EXPORTER_OTLP_HEADERS, ...variables.OTEL_EXPORTER_OTLP_TRACES_HEADERS };
  return {
    url: () => url,
    headers: () => headers,
    serviceName: variables.OTEL_SERVICE_NAME,
    sampler: variables.OTEL_TRACES_SAMPLER,
    ratio: variables.OTEL_TRACES_SAMPLER_ARG,
  };
}
