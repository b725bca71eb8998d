import type { IncomingMessage } from 'node:http';

/** Ids that come from outside are kept only if they are harmless in a header and a log line. */
const HARMLESS_ID = /^[\w.:-]{1,64}$/;

export const isHarmlessId = (id: unknown): id is string => typeof id === 'string' && HARMLESS_ID.test(id);

export function chooseRequestId({ headers }: IncomingMessage, fresh: () => string): string {
  const given = headers['x-request-id'];
  return isHarmlessId(given) ? given : fresh();
}
