import { GatewayError, type LimitScope } from '../errors.js';

/** Fixed windows of one minute, cut by the clock: the same on every replica. */
export const WINDOW_MS = 60_000;

/** Requests per window. */
export type LimitNumbers = Readonly<Record<LimitScope, number>>;

export const LAUNCH_LIMITS: LimitNumbers = { ip: 600, agent: 300, 'agent-writes': 60 };

/** Orders and changes that one trader of the facade may send in a window, where it may send sixty bodies that open something; in proportion otherwise. */
const LAUNCH_ITEMS = 400;
export const itemLimit = (limits: LimitNumbers): number =>
  Math.floor((limits['agent-writes'] * LAUNCH_ITEMS) / LAUNCH_LIMITS['agent-writes']);

/** A bucket as one request found it, itself counted. */
export interface Window {
  readonly scope: LimitScope;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window ends, 1 to 60. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Epoch ms at which the window of a moment began. */
export const windowStart = (now: number): number => now - (now % WINDOW_MS);

/** `used` counts the request itself: the one that uses the last of the limit is still let through. */
export const measureWindow = (scope: LimitScope, limit: number, used: number, now: number): Window => ({
  scope,
  limit,
  remaining: Math.max(0, limit - used),
  resetSeconds: Math.ceil((windowStart(now) + WINDOW_MS - now) / 1000),
  isExceeded: used > limit,
});

/** The bucket a client should heed: an exceeded one, then the one with the least left; of equals the smaller. */
export function tightestWindow(windows: readonly Window[]): Window | null {
  const tighter = (a: Window, b: Window): Window => {
    if (a.isExceeded !== b.isExceeded) return a.isExceeded ? a : b;
    if (a.remaining !== b.remaining) return a.remaining < b.remaining ? a : b;
    return a.limit <= b.limit ? a : b;
  };
  return windows.length === 0 ? null : windows.reduce(tighter);
}

export function refuseExceeded(windows: readonly Window[]): void {
  for (const { isExceeded, scope, resetSeconds } of windows)
    if (isExceeded) throw new GatewayError('RATE_LIMITED', { scope, retryAfterSeconds: resetSeconds });
}
