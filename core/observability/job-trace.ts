/**
 * Whose trace a job belongs to is kept in its context: it goes wherever the job goes, to another replica or over a restart. Nothing that is
 * decided about a job looks at it.
 */
const KEY = 'traceparent';

const isRecord = (context: unknown): context is Readonly<Record<string, unknown>> =>
  typeof context === 'object' && context !== null && !Array.isArray(context);

/** A context that is no object has no room for it, and stays as it is. */
export const withTrace = (context: unknown, traceparent: string): unknown =>
  isRecord(context) ? { ...context, [KEY]: traceparent } : context;

/** Null for a job that no trace led to. */
export function traceOf(context: unknown): string | null {
  const found = isRecord(context) ? context[KEY] : null;
  return typeof found === 'string' ? found : null;
}

/** As whoever made the job gave it. */
export const withoutTrace = (context: unknown): unknown =>
  isRecord(context) ? Object.fromEntries(Object.entries(context).filter(([name]) => name !== KEY)) : context;
