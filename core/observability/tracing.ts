import type { ApiName, Transport } from './metrics.js';
import type { Store } from '../ports/store.js';

/** Span attributes: our own names and figures, never data of a client, a node or a database. */
export type SpanFields = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  readonly traceId: string;
  /** W3C Trace Context, to be a parent in another process. */
  readonly traceparent: string;
  note(fields: SpanFields): void;
  rename(name: string): void;
  /** Runs the work within this span, including everything it awaits. */
  run<Result>(work: () => Result): Result;
  /** `fault` is a short text of our own; absent = success. */
  end(fault?: string): void;
}

export interface SpanStart {
  readonly kind?: 'server' | 'client';
  readonly fields?: SpanFields;
  /** The parent span; default: the current one. */
  readonly parent?: Span;
  /** The client's `traceparent` as received. */
  readonly traceparent?: string | undefined;
  /** Epoch ms; default: now. */
  readonly since?: number;
}

/** Only present where traces are enabled, so that spans cost nothing otherwise. */
export interface Tracer {
  /** Null without a trace. */
  current(): Span | null;
  begin(name: string, start?: SpanStart): Span;
}

/** Runs the work, as a span where it is part of a trace. */
export function traced<Result>(tracer: Tracer, name: string, start: SpanStart, work: () => Promise<Result>): Promise<Result> {
  if (start.parent === undefined && tracer.current() === null) return work();
  const span = tracer.begin(name, start);
  return span.run(work).then(
    (result) => {
      span.end();
      return result;
    },
    (error: unknown) => {
      span.end(faultOf(error));
      throw error;
    },
  );
}

/** The kind of an error, because its message may contain anything. */
const faultOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : 'fault';

export interface ScopeStart {
  readonly api: ApiName;
  readonly transport: Transport;
  readonly method: string;
  /** The client's header as received. */
  readonly traceparent?: string | undefined;
}

export interface OpenScope {
  /** Binds logs and calls of the work to the request. Called when its body was read. */
  run<Result>(requestId: string, work: () => Result): Result;
  close(operation: string, status: number): void;
}

/**
 * Links everything that one request causes. Only used where traces or debug logs are enabled, because async context makes every await more
 * expensive.
 */
export interface RequestScopes {
  open(start: ScopeStart): OpenScope;
}

type Asks = (...given: unknown[]) => unknown;

/** Wraps the store: each call within a trace becomes a span by its method name, without values. */
export const traceStore = <Traced extends Store>(store: Traced, tracer: Tracer): Traced => tracedParts(store, tracer, '') as Traced;

/** Nested stores have longer names; values that are neither functions nor groups stay unchanged. */
function tracedParts(group: object, tracer: Tracer, prefix: string): object {
  return Object.fromEntries(
    Object.entries(group).map(([name, part]: [string, unknown]) => {
      const path = `${prefix}${name}`;
      if (UNTRACED.has(name)) return [name, part];
      if (typeof part === 'function') return [name, tracedAsk(part as Asks, tracer, path)];
      return [name, isGroup(part) ? tracedParts(part, tracer, `${path}.`) : part];
    }),
  );
}

/** The pool itself, calls that last as long as the process, and a group that answers from memory. */
const UNTRACED: ReadonlySet<string> = new Set(['db', 'close', 'listen', 'lease', 'continuity']);
const isGroup = (part: unknown): part is object =>
  typeof part === 'object' && part !== null && Object.getPrototypeOf(part) === Object.prototype;

const tracedAsk =
  (ask: Asks, tracer: Tracer, path: string): Asks =>
  (...given) => {
    if (tracer.current() === null) return ask(...given);
    const answer = (): Promise<unknown> => Promise.resolve(ask(...given));
    return traced(tracer, `db ${path}`, { kind: 'client', fields: { 'db.system': 'postgresql', 'db.operation.name': path } }, answer);
  };
