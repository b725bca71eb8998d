/** What a span may say: names and figures of our own, never what a client, a node or a database said. */
export type SpanFields = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  readonly traceId: string;
  /** By which it is a parent in another process too: W3C Trace Context. */
  readonly traceparent: string;
  note(fields: SpanFields): void;
  rename(name: string): void;
  /** What the work begins belongs to this span, across everything it waits for. */
  run<Result>(work: () => Result): Result;
  /** `fault` is a word or two of our own; none = it went well. */
  end(fault?: string): void;
}

export interface SpanStart {
  readonly kind?: 'server' | 'client';
  readonly fields?: SpanFields;
  /** The span it belongs to; the current one where it is not said. */
  readonly parent?: Span;
  /** `traceparent` of whoever asks, as it came. */
  readonly traceparent?: string | undefined;
  /** Epoch ms; now where it is not said. */
  readonly since?: number;
}

/** Only there where traces are wanted: nobody else pays for a span. */
export interface Tracer {
  /** Null outside of any trace. */
  current(): Span | null;
  begin(name: string, start?: SpanStart): Span;
}

/** The same work; as a span of its own where it is part of a trace. */
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

/** The kind of an error, not its words: they may hold anything. */
const faultOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error && typeof error.code === 'string' ? error.code : error.name) : 'fault';
