import type { Clock } from '../ports/clock.js';

export interface RateNumbers {
  /** Maximum number of messages at once. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Token bucket: whether one more message may pass. */
export function createMessageRate(clock: Pick<Clock, 'now'>, { burst, perSecond }: RateNumbers): () => boolean {
  let left = burst;
  let at = clock.now();
  return () => {
    const now = clock.now();
    left = Math.min(burst, left + (Math.max(0, now - at) * perSecond) / 1000);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
