import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Context, type Span as OtelSpan, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { Clock } from '../../ports/clock.js';
import type { Span, SpanStart, Tracer } from '../../observability/tracing.js';
import type { TraceSettings } from '../../config/operator.js';
import { currentSpan, runInSpan } from './log.js';

export interface OtelTraces {
  readonly tracer: Tracer;
  /** Sends the remaining spans for a moment; the rest is dropped. */
  close(): Promise<void>;
}

export interface OtelOptions {
  readonly settings: TraceSettings;
  readonly version: string;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** Queue limit; newer spans are dropped, so that a dead collector costs bounded memory. */
const MAX_WAITING = 2_048;
const SEND_EVERY_MS = 1_000;
const EXPORT_MS = 3_000;
const CLOSE_MS = 1_000;
const LONGEST_VALUE = 256;
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** Traces over OTLP/HTTP. The only file that loads OpenTelemetry; it is imported only where an endpoint is configured. */
export function openOtelTraces({ settings, version, clock }: OtelOptions): OtelTraces {
  let isOver = false;
  // Called before every attempt, so that retries end when the traces are closed.
  const headers = (): Promise<Record<string, string>> =>
    isOver ? Promise.reject(new Error('the traces are closed')) : Promise.resolve(settings.headers());
  const exporter = new OTLPTraceExporter({ url: settings.url(), headers, timeoutMillis: EXPORT_MS });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': settings.serviceName, 'service.version': version }),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  const otel = provider.getTracer('diamond-gateway', version);
  const contexts = new WeakMap<Span, Context>();

  const contextFor = ({ parent, traceparent }: SpanStart): Context => {
    const above = parent ?? currentSpan();
    if (above !== null) return contexts.get(above) ?? ROOT_CONTEXT;
    const remote = readTraceparent(traceparent);
    return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
  };

  const begin = (name: string, start: SpanStart = {}): Span => {
    const { kind, fields, since } = start;
    const above = contextFor(start);
    const options = { kind: kind === undefined ? SpanKind.INTERNAL : KINDS[kind], attributes: { ...fields } };
    const made = otel.startSpan(name, since === undefined ? options : { ...options, startTime: since }, above);
    const span = spanOf(made);
    contexts.set(span, trace.setSpan(above, made));
    return span;
  };

  return {
    tracer: { current: currentSpan, begin },
    async close() {
      const waiting = new AbortController();
      const timedOut = clock.sleep(CLOSE_MS, waiting.signal);
      await Promise.race([provider.shutdown().catch(() => undefined), timedOut]);
      isOver = true;
      waiting.abort();
    },
  };
}

function spanOf(made: OtelSpan): Span {
  const { traceId, spanId, traceFlags } = made.spanContext();
  const span: Span = {
    traceId,
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & 1}`,
    note: (fields) => void made.setAttributes({ ...fields }),
    rename: (name) => void made.updateName(name),
    run: (work) => runInSpan(span, work),
    end(fault) {
      if (fault !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: fault });
      made.end();
    },
  };
  return span;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const NOTHING = /^0+$/;
const LONGEST_TRACEPARENT = 128;

/** W3C Trace Context; null if invalid. */
function readTraceparent(header: string | undefined): SpanContext | null {
  if (header === undefined || header.length > LONGEST_TRACEPARENT) return null;
  const [, traceId = '', spanId = '', flags = '00'] = TRACEPARENT.exec(header.trim()) ?? [];
  if (NOTHING.test(traceId) || NOTHING.test(spanId) || traceId === '') return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
