import { randomBytes } from 'node:crypto';
import type { Clock, RandomBytes } from '../../ports/clock.js';

/** A past deadline is due now; Node 24 warns about negative delays. */
const delay = (ms: number): number => Math.max(0, ms);

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, delay(ms));
    return () => clearTimeout(timer);
  },
  every(ms, task) {
    const timer = setInterval(task, ms);
    return () => clearInterval(timer);
  },
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, delay(ms));
      signal?.addEventListener('abort', done);
    });
  },
};

/** The operating system's generator, fit for secrets. */
export const systemRandom: RandomBytes = (count) => randomBytes(count);
