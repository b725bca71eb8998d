import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../ports/clock.js';
import type { Logger } from '../../ports/log.js';
import type { OpenScope, RequestScopes, ScopeStart, Span, Tracer } from '../../observability/tracing.js';

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
export function scopeFields(): { readonly requestId?: string; readonly traceId?: string } {
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
  const { door, transport, method, traceparent } = start;
  const since = clock.monotonic();
  const fields = { 'gateway.door': door, 'network.protocol.name': transport, 'http.request.method': method };
  const span = tracer?.begin(`${door} request`, { kind: 'server', traceparent, fields }) ?? null;
  let name: string | null = null;
  return {
    run(requestId, work) {
      name = requestId;
      span?.note({ 'gateway.request_id': requestId });
      return scopes.run({ requestId, span }, work);
    },
    close(operation, status) {
      span?.rename(`${door} ${operation}`);
      span?.note({ 'gateway.operation': operation, 'http.response.status_code': status });
      span?.end(status >= FIRST_FAULT ? 'server fault' : undefined);
      const traceId = span === null ? {} : { traceId: span.traceId };
      const ms = Math.round((clock.monotonic() - since) * 100) / 100;
      log.debug('request.answered', { requestId: name, ...traceId, door, transport, operation, status, ms });
    },
  };
}
