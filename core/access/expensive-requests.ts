import { addressBucket } from './client-address.js';
import { GatewayError } from '../errors.js';

export interface ExpensiveRequests {
  /** Runs the work after earlier work of the same address. Throws RATE_LIMITED when too many requests of the address are waiting. */
  take<Result>(address: string, work: () => Promise<Result>): Promise<Result>;
}

/** Waiting requests per address. */
const MAX_WAITING = 20;

interface Lane {
  last: Promise<void>;
  waiting: number;
}

/** Serialises CPU-intensive requests per address, so that one client does not delay the requests of others. */
export function createExpensiveRequests(): ExpensiveRequests {
  const lanes = new Map<string, Lane>();
  return {
    async take(address, work) {
      const bucket = addressBucket(address);
      const lane = lanes.get(bucket) ?? { last: Promise.resolve(), waiting: 0 };
      if (lane.waiting > MAX_WAITING) {
        const reason = 'Too many long requests of this ip wait for their answers';
        throw new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason });
      }
      lanes.set(bucket, lane);
      lane.waiting += 1;
      const before = lane.last;
      let done = (): void => undefined;
      lane.last = new Promise((resolve) => (done = resolve));
      try {
        await before;
        return await work();
      } finally {
        lane.waiting -= 1;
        if (lane.waiting === 0) lanes.delete(bucket);
        // The next one starts in a later turn of the event loop, after other pending requests.
        setImmediate(done);
      }
    },
  };
}
