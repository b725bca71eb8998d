import type { ServerResponse } from 'node:http';
import { tightestWindow, type Window } from '../core/access/limits.js';

/** The tightest of the buckets that a reply counted against so far. */
const reported = new WeakMap<ServerResponse, Window>();

/** The headers report the tightest of all buckets that applied. */
export function addWindows(response: ServerResponse, windows: readonly Window[]): void {
  const before = reported.get(response);
  const tightest = tightestWindow(before === undefined ? windows : [before, ...windows]);
  if (tightest === null || tightest === before) return;
  reported.set(response, tightest);
  response.setHeader('RateLimit-Limit', tightest.limit);
  response.setHeader('RateLimit-Remaining', tightest.remaining);
  response.setHeader('RateLimit-Reset', tightest.resetSeconds);
}
