import { randomBytes } from 'node:crypto';
import type { Clock, RandomBytes } from '../../ports/clock.js';

/** A past deadline is due now; Node 24 warns about negative delays. */
const delay = (ms: number): number => Math.max(0, ms);

/** A sleep made of a clock's own timers. */
export const sleepWith =
  (after: Clock['after']): Clock['sleep'] =>
  (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const cancel = after(ms, done);
      signal?.addEventListener('abort', done);
    });

const after: Clock['after'] = (ms, task) => {
  const timer = setTimeout(task, delay(ms));
  return () => clearTimeout(timer);
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after,
  every(ms, task) {
    const timer = setInterval(task, ms);
    return () => clearInterval(timer);
  },
  sleep: sleepWith(after),
};

/** Requested from the system at once: every HTTP request needs an id of 16 bytes, and a call to the system for each takes 4 us. */
const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

/** The operating system's generator, fit for secrets. No byte is returned twice. */
export const systemRandom: RandomBytes = (count) => {
  if (!Number.isSafeInteger(count) || count < 0) throw new RangeError('The number of random bytes must be a whole number.');
  if (count > pool.length) pool = randomBytes(Math.max(POOL_BYTES, count));
  const taken = Uint8Array.from(pool.subarray(0, count));
  pool = pool.subarray(count);
  return taken;
};
