import type { ServerResponse } from 'node:http';
import { tightestWindow, type Window } from '../core/limits.js';

/** Every bucket an answer counted against so far. */
const applied = new WeakMap<ServerResponse, readonly Window[]>();

/** Of all buckets that applied, the headers tell the one a client should heed. */
export function addWindows(response: ServerResponse, windows: readonly Window[]): void {
  const all = [...(applied.get(response) ?? []), ...windows];
  applied.set(response, all);
  const tightest = tightestWindow(all);
  if (tightest === null) return;
  response.setHeader('RateLimit-Limit', tightest.limit);
  response.setHeader('RateLimit-Remaining', tightest.remaining);
  response.setHeader('RateLimit-Reset', tightest.resetSeconds);
}
