import type { Request, Response } from 'express';
import { MAX_WAIT_SECONDS, type Wait } from '../core/trading/wait-for-order.js';

/** One preference (RFC 7240): a name, perhaps a value, perhaps parameters. Commas and semicolons inside quotes belong to the value. */
const PREFERENCE =
  /(?:^|,)[ \t]*([!#$%&'*+.^_`|~\w-]+)[ \t]*(?:=[ \t]*("(?:[^"\\]|\\.)*"|[^\s,;"]*))?((?:[ \t]*;(?:[^,"]|"(?:[^"\\]|\\.)*")*)?)[ \t]*(?=,|$)/g;
const MAX_LENGTH = 1_024;

/** Seconds of the first `wait`, as in the RFC; null if there is none that can be parsed. Never an error: a preference is not a requirement. */
export function preferredWait(header: string | undefined): number | null {
  if (header === undefined || header.length > MAX_LENGTH) return null;
  const wishes = [...header.matchAll(PREFERENCE)];
  if (wishes.reduce((length, [text]) => length + text.length, 0) !== header.length) return null;
  const wish = wishes.find(([, name]) => name?.toLowerCase() === 'wait');
  const seconds = wish?.[2]?.replaceAll('"', '') ?? '';
  return /^\d{1,9}$/.test(seconds) ? Math.min(Number(seconds), MAX_WAIT_SECONDS) : null;
}

/** How long the client would wait for this reply; the header is set when the operation grants it. */
export function waitOf(request: Request, response: Response): Wait | null {
  const { prefer } = request.headers;
  const seconds = preferredWait(Array.isArray(prefer) ? prefer.join(', ') : prefer);
  if (seconds === null) return null;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return { seconds, signal: gone.signal, onApplied: () => response.setHeader('Preference-Applied', `wait=${seconds}`) };
}
