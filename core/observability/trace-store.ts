import type { Store } from '../ports/store.js';
import { traced, type Tracer } from './tracing.js';

type Asks = (...given: unknown[]) => unknown;

/** Wraps the store: each call within a trace becomes a span by its method name, without values. */
export const traceStore = <Traced extends Store>(store: Traced, tracer: Tracer): Traced => tracedParts(store, tracer, '') as Traced;

/** Nested stores have longer names; values that are neither functions nor groups stay unchanged. */
function tracedParts(group: object, tracer: Tracer, prefix: string): object {
  return Object.fromEntries(
    Object.entries(group).map(([name, part]: [string, unknown]) => {
      const path = `${prefix}${name}`;
      if (typeof part === 'function') return [name, UNTRACED.has(name) ? part : tracedAsk(part as Asks, tracer, path)];
      return [name, isGroup(part) ? tracedParts(part, tracer, `${path}.`) : part];
    }),
  );
}

/** The pool itself, and calls that last as long as the process. */
const UNTRACED: ReadonlySet<string> = new Set(['db', 'close', 'listen', 'lease']);
const isGroup = (part: unknown): part is object =>
  typeof part === 'object' && part !== null && Object.getPrototypeOf(part) === Object.prototype;

const tracedAsk =
  (ask: Asks, tracer: Tracer, path: string): Asks =>
  (...given) => {
    if (tracer.current() === null) return ask(...given);
    const answer = (): Promise<unknown> => Promise.resolve(ask(...given));
    return traced(tracer, `db ${path}`, { kind: 'client', fields: { 'db.system': 'postgresql', 'db.operation.name': path } }, answer);
  };
