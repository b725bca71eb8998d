import { z } from 'zod';

export const SAMPLERS = [
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
