import { GatewayError, type LimitScope } from '../errors.js';

/** Fixed windows of one minute, aligned to the clock, so that they are the same on every replica. */
export const WINDOW_MS = 60_000;

/** Requests per window. */
export type LimitNumbers = Readonly<Record<LimitScope, number>>;

export const LAUNCH_LIMITS: LimitNumbers = { ip: 600, agent: 300, 'agent-writes': 60 };

/** Orders and changes per facade trader and window at the launch limit of 60 writes; scaled with that limit. */
const LAUNCH_ITEMS = 400;
export const itemLimit = (limits: LimitNumbers): number =>
  Math.floor((limits['agent-writes'] * LAUNCH_ITEMS) / LAUNCH_LIMITS['agent-writes']);

/** The state of a rate limit after counting a request. */
export interface Window {
  readonly scope: LimitScope;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the window ends, 1 to 60. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Epoch ms at which the window began. */
export const windowStart = (now: number): number => now - (now % WINDOW_MS);

/** `used` includes the request itself: the request that reaches the limit is still allowed. */
export const measureWindow = (scope: LimitScope, limit: number, used: number, now: number): Window => ({
  scope,
  limit,
  remaining: Math.max(0, limit - used),
  resetSeconds: Math.ceil((windowStart(now) + WINDOW_MS - now) / 1000),
  isExceeded: used > limit,
});

/** The most restrictive window: an exceeded one, then the one with the least remaining, then the smaller limit. */
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
