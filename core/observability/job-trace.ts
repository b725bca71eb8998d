/** The trace of a job is stored in its context, so that it survives replicas and restarts. Decisions about jobs ignore it. */
const KEY = 'traceparent';

const isRecord = (context: unknown): context is Readonly<Record<string, unknown>> =>
  typeof context === 'object' && context !== null && !Array.isArray(context);

/** A context that is no object stays unchanged. */
export const withTrace = (context: unknown, traceparent: string): unknown =>
  isRecord(context) ? { ...context, [KEY]: traceparent } : context;

/** Null for a job without a trace. */
export function traceOf(context: unknown): string | null {
  const found = isRecord(context) ? context[KEY] : null;
  return typeof found === 'string' ? found : null;
}

/** The context as the job was created with. */
export const withoutTrace = (context: unknown): unknown =>
  isRecord(context) ? Object.fromEntries(Object.entries(context).filter(([name]) => name !== KEY)) : context;
