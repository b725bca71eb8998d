import type { Cancel } from '../types.js';

/** All time and all timers, so that a simulation can control both. */
export interface Clock {
  /** Epoch ms. */
  now(): number;
  after(ms: number, task: () => void): Cancel;
  every(ms: number, task: () => void): Cancel;
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Cryptographically secure random bytes. */
export type RandomBytes = (count: number) => Uint8Array;
