import type { Gateway, GatewayEvents, Venue } from '../../../core/gateway.js';
import { followChain } from '../../../core/indexer/follow-chain.js';
import type { ChainCursor } from '../../../core/ports/stores/tracking.js';
import { createBus, type Bus } from '../../../core/stream/bus.js';
import { createRecordedLog, type RecordedLog } from '../../harness/checks/recorded-log.js';
import { NOTHING_DUE } from '../../harness/database/nothing-due.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

/** A replica beside one that follows the chain: nothing but its tries for the lease, what it reads and what it looks at. */

const HEAD = 100n;
let bus: Bus<GatewayEvents>;
let clock: ManualClock;
let log: RecordedLog;
let venue: Venue;
let reads: number;
/** Null: the database answers. */
let [triesFail, readsFail]: (Error | null)[] = [null, null];
let stop: () => Promise<void>;

const stored: ChainCursor = { startBlock: 1n, number: HEAD, hash: null };

beforeEach(async () => {
  [bus, clock, log] = [createBus<GatewayEvents>(() => undefined), createManualClock(), createRecordedLog()];
  [reads, triesFail, readsFail] = [0, null, null];
  const state = { head: { block: { number: HEAD }, seenAt: 0 }, fault: null, followed: { block: null, caughtUpAt: null, fault: null } };
  venue = { clock, log, state, definition: { slug: 'base' } } as unknown as Venue;
  const tracking = {
    lease: () => (triesFail ? Promise.reject(triesFail) : Promise.resolve(null)),
    cursor() {
      reads += 1;
      return readsFail ? Promise.reject(readsFail) : Promise.resolve(stored);
    },
  };
  stop = followChain({ bus, store: { tracking } } as unknown as Gateway, venue, { startBlock: null });
  await clock.pass(100);
});
afterEach(() => stop());

const looks = async (seconds: number, indexedBlock: bigint): Promise<void> => {
  for (let second = 0; second < seconds; second += 1) {
    await clock.pass(1_000);
    bus.emit('due', { venue, askedAt: clock.monotonic(), due: { ...NOTHING_DUE, indexedBlock } });
  }
};
const followed = () => venue.state.followed;

describe('a replica that waits for the lease of a chain', () => {
  it('reads the cursor once, and learns the rest from the look at what is due', async () => {
    expect(followed()).toEqual({ block: HEAD, caughtUpAt: expect.any(Number) as number, fault: null });
    await looks(10, HEAD + 1n);
    expect([followed().block, reads]).toEqual([HEAD + 1n, 1]);
  });

  it('reads the cursor again while no look is answered, and says why it cannot', async () => {
    const before = followed().caughtUpAt ?? 0;
    await clock.pass(10_000);
    expect(followed().caughtUpAt).toBeGreaterThan(before + 5_000);
    readsFail = new Error('the statement took too long');
    await clock.pass(5_000);
    expect(followed().fault).toBe('the statement took too long');
    readsFail = null;
    await clock.pass(5_000);
    expect(followed().fault).toBeNull();
  });

  it('keeps saying that it cannot try, whatever it looks at, and logs it once', async () => {
    triesFail = new Error('too many connections');
    await looks(10, HEAD);
    expect(followed().fault).toBe('too many connections');
    expect(log.entries).toMatchObject([{ event: 'chain.follow-failed' }]);
    triesFail = null;
    await looks(2, HEAD);
    expect(followed().fault).toBeNull();
  });

  it('stops at once while it rests', async () => {
    await stop();
    expect(clock.pending).toBe(0);
  });
});
