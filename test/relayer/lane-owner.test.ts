import type { Lease } from '../../core/ports/stores/tracking.js';
import type { LaneProblem, RelayStore } from '../../core/ports/stores/relay.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { LOOK_MS } from '../../core/trading/due-work.js';
import type { Store } from '../../core/ports/store.js';
import { NOTHING_DUE } from '../harness/database/nothing-due.js';
import { relayBench, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { createManualClock, type ManualClock } from '../harness/time/manual-clock.js';
import { eventually, until } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** A replica whose wallet another replica sends for knows why that one cannot send. Looks at what is due come only from the tests. */

const PROBLEM: LaneProblem = { reason: 'gas is dear', since: 1 };

let sandbox: TestVenue;
let chain: ChainControls;
let bench: RelayBench;
let clock: ManualClock;
/** The other replica's. */
let lease: Lease | null;
let [reads, looks] = [0, 0];
/** Whether looks at what is due are answered, and tries for the lane. */
let areLooksAnswered: boolean;
let areTriesAnswered: boolean;
let relayer: ReturnType<RelayBench['start']>;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
});
beforeEach(async () => {
  [areLooksAnswered, areTriesAnswered] = [true, true];
  const { store, bus } = sandbox.gateway;
  const due: Store['due'] = async (...asked) => {
    if (!areLooksAnswered) throw new Error('timeout');
    return store.due(...asked).finally(() => (looks += 1));
  };
  bench = await relayBench(chain, { bus, store: { ...store, due } });
  lease = await bench.store.lease(chain.definition.slug, bench.wallet);
  [clock, reads, looks] = [createManualClock(), 0, 0];
  const lane: RelayStore['lane'] = (...asked) => {
    reads += 1;
    return bench.store.lane(...asked);
  };
  const tryLease: RelayStore['lease'] = (...asked) => (areTriesAnswered ? bench.store.lease(...asked) : Promise.reject(new Error('cut')));
  await bench.store.storeLaneProblem(chain.definition.slug, bench.wallet, { ...PROBLEM, cause: 'fees' });
  relayer = bench.start({ clock, store: { ...bench.store, lane, lease: tryLease } });
});
afterEach(async () => {
  await relayer.stop();
  await lease?.release();
});
afterAll(() => sandbox.stop());

const problem = (): LaneProblem | null => relayer.laneProblem(bench.wallet);
const untilKnown = () => eventually(problem, (known) => known !== null);
const passUntil = (holds: (known: LaneProblem | null) => boolean): Promise<LaneProblem | null> =>
  eventually(async () => {
    await clock.pass(1_000);
    return problem();
  }, holds);
const look = (askedAt: number, stored: LaneProblem | null): void => {
  const laneProblems = stored === null ? [] : [{ ...stored, wallet: bench.wallet }];
  relayer.onDue({ askedAt, due: { ...NOTHING_DUE, laneProblems } });
};

describe('a replica that does not own the lane of its wallet', () => {
  it('reads once why the lane cannot send, and learns the rest from the look at what is due', async () => {
    expect(await untilKnown()).toEqual(PROBLEM);
    await bench.store.storeLaneProblem(chain.definition.slug, bench.wallet, null);
    for (let answered = 0; answered < 10; answered += 1) {
      const before = looks;
      clock.advance(LOOK_MS);
      await until(() => looks > before);
    }
    await eventually(problem, (known) => known === null);
    expect(reads).toBe(1);
  });

  it('does not believe an older look rather than a newer one', async () => {
    await untilKnown();
    const now = clock.monotonic();
    look(now + 2, { ...PROBLEM, reason: 'it is stuck' });
    look(now + 1, null);
    expect(problem()?.reason).toBe('it is stuck');
    look(now + 2, null);
    expect(problem()).toBeNull();
  });

  it('reads the row again while no look is answered', async () => {
    await untilKnown();
    areLooksAnswered = false;
    await bench.store.storeLaneProblem(chain.definition.slug, bench.wallet, null);
    await passUntil((known) => known === null);
  });

  it('says that it cannot send when it cannot try for the lane, whatever the owner stored before', async () => {
    await untilKnown();
    await bench.store.storeLaneProblem(chain.definition.slug, bench.wallet, null);
    await passUntil((known) => known === null);
    areTriesAnswered = false;
    await passUntil((known) => known !== null);
    areTriesAnswered = true;
    await passUntil((known) => known === null);
  });

  it('believes no look at all once it owns the lane', async () => {
    await untilKnown();
    await lease?.release();
    await passUntil((known) => known === null);
    look(clock.monotonic() + 1, PROBLEM);
    expect(problem()).toBeNull();
  });
});
