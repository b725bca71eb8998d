import type pg from 'pg';
import type { RelayNode } from '../../core/ports/relayer.js';
import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { SwitchStore } from '../../core/ports/stores/switches.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { createManualClock, type ManualClock } from '../harness/time/manual-clock.js';
import { eventually, until } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

/** A replica that owns the lane of its wallet while looks at what is due get no answer: a table that only they need is locked. */

const SLUG = 'arbitrum-sepolia';

let sandbox: TestVenue;
let chain: ChainControls;
let store: RelayStore;
let switches: SwitchStore;
let database: pg.Client;
let bench: RelayBench;
let clock: ManualClock;
let relayer: ReturnType<RelayBench['start']>;
/** When checks of the chain began, and how many of them are over. */
let checksBegan: number[] = [];
let checksOver = 0;
/** So many reads of the switches get no answer until `answerAll`. */
let unanswered = 0;
let answerAll = (): void => undefined;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  ({ relay: store, switches } = sandbox.gateway.store);
  database = await venueDatabase(sandbox);
});
beforeEach(async () => {
  bench = await relayBench(chain, sandbox.gateway);
  clock = createManualClock(Date.now());
  [checksBegan, checksOver] = [[], 0];
  const account: RelayNode['account'] = (wallet) => {
    checksBegan.push(clock.now());
    return bench.node.account(wallet);
  };
  // A check asks the node and then reads the open jobs again.
  const open: RelayStore['open'] = (...asked) => {
    const begun = checksBegan.length;
    return store.open(...asked).finally(() => (checksOver = Math.max(checksOver, begun)));
  };
  const all: SwitchStore['all'] = async (slug) => {
    if (unanswered > 0) {
      unanswered -= 1;
      await new Promise<void>((resolve) => (answerAll = resolve));
    }
    return switches.all(slug);
  };
  relayer = bench.start({ clock, switches: { ...switches, all }, node: { ...bench.node, account }, store: { ...store, open } });
  const { job } = await relayer.send(await requestOf(bench));
  await whenIn(job.id, 'mined');
  await whenIdle();
  await database.query('begin');
  await database.query('lock table scheduled_cancels in access exclusive mode');
});
afterEach(async () => {
  answerAll();
  await database.query('rollback');
  await switches.set(SLUG, bench.wallet, { mode: 'running', reason: null }, Date.now());
  await relayer.stop();
});
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

const seconds = (count: number): Promise<void> => clock.pass(count * 1_000);

/** Time passes while the condition is polled. */
const passUntil = <Value>(read: () => Value | Promise<Value>, holds: (value: Value) => boolean): Promise<Value> =>
  eventually(async () => {
    await seconds(1);
    return read();
  }, holds);

/** Longer than a lane looks for its last job in new blocks. */
const LOOK_BACK_S = 130;
/** Less than the 15 s after which an idle lane checks the chain again, by what the steps of the clock are late. */
const IDLE_AT_LEAST_MS = 14_000;
/** Right after a check of an idle lane: for the next 15 s it has no reason of its own to read the store. */
async function whenIdle(): Promise<void> {
  await seconds(LOOK_BACK_S);
  for (let isIdle = false; !isIdle;) {
    const before = checksBegan.length;
    await passUntil(
      () => checksBegan.length,
      (count) => count > before,
    );
    await until(() => checksOver === checksBegan.length);
    const [last = 0, previous = 0] = checksBegan.slice(-2).reverse();
    isIdle = last - previous >= IDLE_AT_LEAST_MS;
  }
}

const whenIn = (id: bigint, state: RelayJob['state']): Promise<RelayJob | null> =>
  passUntil(
    () => store.job(SLUG, id),
    (job) => job?.state === state,
  );

/** As another replica does it: this one is not called. */
const queueBeside = async (): Promise<RelayJob> =>
  store.queue({ ...(await requestOf(bench)), chain: SLUG, wallet: bench.wallet }, clock.now());

describe('the owner of a lane, without looks', () => {
  it('sends what other replicas store, sooner than its next check of the chain', async () => {
    const { id } = await queueBeside();
    await seconds(5);
    await eventually(
      () => store.job(SLUG, id),
      (job) => job !== null && job.state !== 'queued',
    );
    await whenIn(id, 'mined');
  });

  it('obeys a pause that another replica stored', async () => {
    await switches.set(SLUG, bench.wallet, { mode: 'paused', reason: null }, clock.now());
    await passUntil(
      () => relayer.walletMode(bench.wallet).mode,
      (mode) => mode === 'paused',
    );
    const job = await queueBeside();
    expect(await whenIn(job.id, 'refused')).toMatchObject({ note: expect.stringContaining('paused by its operator'), nonce: null });
  });

  it('obeys a pause although one read of the switches is never answered', async () => {
    unanswered = 1;
    await switches.set(SLUG, bench.wallet, { mode: 'paused', reason: null }, clock.now());
    await passUntil(
      () => relayer.walletMode(bench.wallet).mode,
      (mode) => mode === 'paused',
    );
    expect(unanswered).toBe(0);
  });
});
