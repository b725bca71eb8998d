import type { ServerResponse } from 'node:http';
import { tightestWindow, type Window } from '../core/access/limits.js';

/** Of every bucket an answer counted against so far, the one it tells. */
const told = new WeakMap<ServerResponse, Window>();

/** Of all buckets that applied, the headers tell the one a client should heed. */
export function addWindows(response: ServerResponse, windows: readonly Window[]): void {
  const before = told.get(response);
  const tightest = tightestWindow(before === undefined ? windows : [before, ...windows]);
  if (tightest === null || tightest === before) return;
  told.set(response, tightest);
  response.setHeader('RateLimit-Limit', tightest.limit);
  response.setHeader('RateLimit-Remaining', tightest.remaining);
  response.setHeader('RateLimit-Reset', tightest.resetSeconds);
}
