import type { Cancel } from '../types.js';

/** All time and all timers, so that a simulation can control both. */
export interface Clock {
  /** Epoch ms. */
  now(): number;
  /** Milliseconds since some moment, for durations: it never steps, unlike `now`. */
  monotonic(): number;
  after(ms: number, task: () => void): Cancel;
  every(ms: number, task: () => void): Cancel;
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Runs the work with a signal that is aborted after `ms`. */
export async function within<Result>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const limit = new AbortController();
  const cancel = clock.after(ms, () => limit.abort(new DOMException('No answer in time.', 'TimeoutError')));
  try {
    return await work(limit.signal);
  } finally {
    cancel();
  }
}

/** Cryptographically secure random bytes. */
export type RandomBytes = (count: number) => Uint8Array;
