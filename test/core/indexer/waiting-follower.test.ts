import type { Gateway, GatewayEvents, Venue } from '../../../core/gateway.js';
import { followChain } from '../../../core/indexer/follow-chain.js';
import { readiness } from '../../../core/observability/readiness.js';
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
let gateway: Gateway;
let alerts: string[];

const stored: ChainCursor = { startBlock: 1n, number: HEAD, hash: null };

beforeEach(async () => {
  [bus, clock, log] = [createBus<GatewayEvents>(() => undefined), createManualClock(), createRecordedLog()];
  [reads, triesFail, readsFail] = [0, null, null];
  const state = {
    facts: null,
    head: { block: { number: HEAD }, seenAt: 0 },
    fault: null,
    followed: { block: null, caughtUpAt: null, fault: null, failing: null },
  };
  const feed = { status: () => ({ parts: { config: { state: 'ok' }, price: { state: 'ok', ageMs: 0 } }, configFrom: 'backend' }) };
  const definition = { slug: 'base', expectedBlockMs: 1_000 };
  const chain = { endpoints: () => [] };
  venue = { clock, log, state, feed, chain, relayer: null, definition } as unknown as Venue;
  const tracking = {
    lease: () => (triesFail ? Promise.reject(triesFail) : Promise.resolve(null)),
    cursor() {
      reads += 1;
      return readsFail ? Promise.reject(readsFail) : Promise.resolve(stored);
    },
  };
  const continuity = { doubt: () => null, lastLoss: () => null, notes: () => [] };
  alerts = [];
  const noted = (what: string) => (): Promise<void> => {
    alerts.push(what);
    return Promise.resolve();
  };
  gateway = {
    ...{ bus, clock, store: { tracking, continuity, ping: () => Promise.resolve() }, venues: new Map([['base', venue]]) },
    ...{ stopping: new AbortController().signal, alerts: { raiseAlert: noted('raised'), recoverAlert: noted('recovered') } },
  } as unknown as Gateway;
  stop = followChain(gateway, venue, { startBlock: null });
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
    expect(followed()).toEqual({ block: HEAD, caughtUpAt: expect.any(Number) as number, fault: null, failing: null });
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

  it('is not ready once it has failed for ten seconds, and alerts after thirty until it succeeds', async () => {
    const reasons = async () => (await readiness(gateway)).chains['base']?.faults.follower;
    triesFail = new Error('too many connections');
    await looks(9, HEAD);
    expect(await reasons()).toEqual([]);
    await looks(5, HEAD);
    expect(await reasons()).toEqual([expect.stringMatching(/have not been stored for 1\d s: too many connections/)]);
    expect(alerts).toEqual([]);
    await looks(30, HEAD);
    expect(alerts).toEqual(['raised']);
    triesFail = null;
    await looks(2, HEAD);
    expect([await reasons(), alerts]).toEqual([[], ['raised', 'recovered']]);
  });

  it('stops at once while it rests', async () => {
    await stop();
    expect(clock.pending).toBe(0);
  });
});
