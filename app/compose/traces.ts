import { createRequestScopes } from '../../core/adapters/telemetry/request-scopes.js';
import type { Config } from '../../core/config/config.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { RequestScopes, Tracer } from '../../core/observability/tracing.js';
import type { Lifecycle } from '../lifecycle.js';

interface Parts {
  readonly config: Pick<Config, 'traces' | 'logLevel'>;
  readonly version: string;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Traces {
  readonly tracer: Tracer | null;
  /** Null without tracing and debug logs: requests are not tracked then. */
  readonly scopes: RequestScopes | null;
}

/** Opened first, so that it stops last and the spans of the shutdown are sent too. */
export async function openTraces({ config: { traces = null, logLevel }, version, lifecycle, clock, log }: Parts): Promise<Traces> {
  const tracer =
    traces === null
      ? null
      : (
          await lifecycle.start(
            'traces',
            async () => (await import('../../core/adapters/telemetry/otel-traces.js')).openOtelTraces({ settings: traces, version, clock }),
            (made) => made.close(),
          )
        ).tracer;
  return { tracer, scopes: tracer === null && logLevel !== 'debug' ? null : createRequestScopes({ log, clock, tracer }) };
}
