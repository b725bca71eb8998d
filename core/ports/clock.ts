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

/** A random UUID (version 4). */
export function randomId(random: RandomBytes): string {
  const bytes = Buffer.from(random(16));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const text = bytes.toString('hex');
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
