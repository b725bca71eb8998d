import { addressBucket } from './client-address.js';
import { GatewayError } from '../errors.js';

export interface DearTurns {
  /** Runs the work when it is its address's turn. Throws RATE_LIMITED when too much of the address waits already. */
  take<Result>(address: string, work: () => Promise<Result>): Promise<Result>;
}

/** Of one address at a time: what the others ask is answered in between, however much one of them asks for. */
const MOST_WAITING = 20;

interface Lane {
  last: Promise<void>;
  waiting: number;
}

/** Requests that cost the processor many times what a usual one does, one after the other for each address. */
export function createDearTurns(): DearTurns {
  const lanes = new Map<string, Lane>();
  return {
    async take(address, work) {
      const bucket = addressBucket(address);
      const lane = lanes.get(bucket) ?? { last: Promise.resolve(), waiting: 0 };
      if (lane.waiting > MOST_WAITING) {
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
        // The next one begins in a turn of its own, after everything that came meanwhile.
        setImmediate(done);
      }
    },
  };
}
