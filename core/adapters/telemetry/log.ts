import { AsyncLocalStorage } from 'node:async_hooks';
import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { LogFields, Logger } from '../../ports/log.js';
import type { LogLevel } from '../../config/config.js';
import { redact } from '../../observability/redact.js';
import type { Clock } from '../../ports/clock.js';
import type { OpenScope, RequestScopes, ScopeStart, Span, Tracer } from '../../observability/tracing.js';

/** One JSON object per line, on standard error by default: standard output is for command results. */
export function createLogger(level: LogLevel, destination: DestinationStream = pino.destination(2)): Logger {
  return wrap(
    pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
        mixin: scopeFields,
        mixinMergeStrategy: ownFirst,
      },
      destination,
    ),
  );
}

/** Fields of the log call override those of the request scope. */
const ownFirst = (own: object, ofScope: object): object => ({ ...ofScope, ...own });

/** Logging must not throw, because last-resort handlers log: if a value cannot be read, the line loses its fields. */
function fieldsOf(fields: LogFields): LogFields {
  try {
    return redact(fields) as LogFields;
  } catch {
    return { fields: '[unreadable]' };
  }
}

function wrap(sink: Pino): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}): void => {
      if (sink.isLevelEnabled(level)) sink[level]({ event, ...fieldsOf(fields) });
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => wrap(sink.child(redact(fields) as LogFields)),
  };
}

interface Scope {
  readonly requestId: string | null;
  readonly span: Span | null;
}

/** Process-wide, like the log. Unused, and without cost, where neither traces nor debug logs are enabled. */
const scopes = new AsyncLocalStorage<Scope>();

export const currentSpan = (): Span | null => scopes.getStore()?.span ?? null;

export const runInSpan = <Result>(span: Span, work: () => Result): Result =>
  scopes.run({ requestId: scopes.getStore()?.requestId ?? null, span }, work);

/** Request fields of a log line. */
function scopeFields(): { readonly requestId?: string; readonly traceId?: string } {
  const scope = scopes.getStore();
  if (scope === undefined) return {};
  const { requestId, span } = scope;
  return { ...(requestId === null ? {} : { requestId }), ...(span === null ? {} : { traceId: span.traceId }) };
}

const FIRST_FAULT = 500;

/** Opens a span per request where there is a tracer, and writes a debug log line. */
export function createRequestScopes(parts: ScopeParts): RequestScopes {
  return { open: (start) => openScope(start, parts) };
}

interface ScopeParts {
  readonly log: Logger;
  readonly clock: Clock;
  readonly tracer: Tracer | null;
}

function openScope(start: ScopeStart, { log, clock, tracer }: ScopeParts): OpenScope {
  const { api, transport, method, traceparent } = start;
  const since = clock.monotonic();
  const fields = { 'gateway.api': api, 'network.protocol.name': transport, 'http.request.method': method };
  const span = tracer?.begin(`${api} request`, { kind: 'server', traceparent, fields }) ?? null;
  let name: string | null = null;
  return {
    run(requestId, work) {
      name = requestId;
      span?.note({ 'gateway.request_id': requestId });
      return scopes.run({ requestId, span }, work);
    },
    close(operation, status) {
      span?.rename(`${api} ${operation}`);
      span?.note({ 'gateway.operation': operation, 'http.response.status_code': status });
      span?.end(status >= FIRST_FAULT ? 'server fault' : undefined);
      const traceId = span === null ? {} : { traceId: span.traceId };
      const ms = Math.round((clock.monotonic() - since) * 100) / 100;
      log.debug('request.answered', { requestId: name, ...traceId, api, transport, operation, status, ms });
    },
  };
}
