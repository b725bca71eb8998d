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
