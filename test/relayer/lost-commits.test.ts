import { createStore, type KnexStore } from '../../core/adapters/postgres/create-store.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { LaneRecoveryStore } from '../../core/ports/stores/lane-recovery.js';
import type { RelayStore } from '../../core/ports/stores/relay.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { expectRelayInvariants, openPurse } from '../harness/checks/relay-invariants.js';
import { copyTestDatabase, createTestDatabase, type TestDatabase } from '../harness/database/test-database.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { eventually } from '../harness/time/eventually.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** A lane on a database that forgot what it sent, and a process that is killed after each of its writes. */

const GWEI = 1_000_000_000n;
const SLUG = 'arbitrum-sepolia';

let sandbox: TestVenue;
let cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => void (sandbox = await sharedVenue()));
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});
afterAll(() => sandbox.stop());

function open({ url }: TestDatabase): KnexStore {
  const store = createStore({ log: createRecordedLog(), url, clock: systemClock });
  cleanups.push(() => store.close());
  return store;
}

async function database(made: Promise<TestDatabase>): Promise<TestDatabase> {
  const own = await made;
  cleanups.push(() => own.drop());
  return own;
}

const RECOVERY_WRITES = ['release', 'recall', 'keep', 'finish'] as const satisfies readonly (keyof LaneRecoveryStore)[];
const RELAY_WRITES = ['refuse', 'giveUpCall', 'fillGap'] as const satisfies readonly (keyof RelayStore)[];

/** Methods of which the first call is done and not answered, and later ones are neither. */
function killing<Methods extends object>(methods: Methods, names: readonly (keyof Methods)[], life: { isOver: boolean }): Methods {
  const wrapped: Partial<Record<keyof Methods, unknown>> = {};
  for (const name of names) {
    const method = methods[name] as (...given: readonly unknown[]) => Promise<unknown>;
    wrapped[name] = async (...given: readonly unknown[]) => {
      if (!life.isOver) {
        life.isOver = true;
        await method(...given);
      }
      throw new Error('killed');
    };
  }
  return { ...methods, ...wrapped };
}

/** Runs a relayer until the lane is compared with the chain, or the process is killed; true if it was compared. */
async function live(bench: RelayBench, store: KnexStore, startBlock: bigint): Promise<boolean> {
  const life = { isOver: false };
  const venue = sandbox.gateway.venues.get(SLUG);
  if (!venue) throw new Error('the sandbox does not serve the chain');
  // The copy is not indexed: all is found by the counts of earlier blocks.
  const index = { cursor: () => Promise.resolve({ startBlock, number: 2n ** 62n, hash: null }) };
  const relayer = bench.start({
    store: killing(store.relay, RELAY_WRITES, life),
    continuity: store.continuity,
    recovery: { store: killing(store.recovery, RECOVERY_WRITES, life), history: venue.chain.sent, index },
  });
  const isCompared = async (): Promise<boolean> => !life.isOver && (await store.relay.open(SLUG, bench.wallet)).length === 0;
  const isDone = await eventually(
    async () => ({ isOver: life.isOver, isCompared: await isCompared() }),
    (seen) => seen.isOver || seen.isCompared,
  );
  await relayer.stop();
  return isDone.isCompared;
}

describe('a lane whose database forgot what it sent', () => {
  it('books what is mined after it went on', async () => {
    const chain = firstChain(sandbox);
    const venue = sandbox.gateway.venues.get(SLUG);
    if (!venue) throw new Error('the sandbox does not serve the chain');
    const store = open(await database(createTestDatabase()));
    const bench = await relayBench(chain, { store, bus: sandbox.gateway.bus });
    const purse = await openPurse(bench.client, bench.wallet);
    await store.relay.beginLane(SLUG, bench.wallet, 0);
    // It waits for a block, and what would take its place pays less.
    await chain.pauseMining(true);
    const forgotten = await bench.outside(0, 550n * GWEI);
    await store.continuity.prove({ reason: 'a test', at: systemClock.now() });
    const clock = createShiftedClock();
    const cursor = () => Promise.resolve({ startBlock: purse.block, number: 2n ** 62n, hash: null });
    const recovery = { store: store.recovery, history: venue.chain.sent, index: { cursor } };
    const parts = { store: store.relay, continuity: store.continuity, recovery, clock, waits: { doubtMs: 500 } };
    const first = bench.start(parts);
    try {
      await eventually(
        () => {
          clock.move(1_000);
          return store.recovery.lane(SLUG, bench.wallet);
        },
        ({ nextNonce, reconciledLoss }) => nextNonce === 1 && reconciledLoss > 0n,
      );
    } finally {
      await first.stop();
      await chain.pauseMining(false);
    }
    await eventually(
      () => bench.nonce(),
      (nonce) => nonce === 1,
    );
    const second = bench.start(parts);
    cleanups.push(() => second.stop());
    await eventually(
      () => store.relay.jobByHash(SLUG, forgotten),
      (job) => job?.mined != null,
    );
    await second.send(await requestOf(bench));
    await expectRelayInvariants(purse, { slug: SLUG, store: store.relay });
    expect(await bench.nonce()).toBe(2);
  });

  it('tells the operator of nonces that nothing explains', async () => {
    const chain = firstChain(sandbox);
    const store = open(await database(createTestDatabase()));
    const bench = await relayBench(chain, { store, bus: sandbox.gateway.bus });
    await store.relay.beginLane(SLUG, bench.wallet, 0);
    await bench.outside(0);
    await bench.outside(1);
    await store.continuity.prove({ reason: 'a test', at: systemClock.now() });
    const blind = { head: () => bench.client.getBlockNumber(), highestCount: () => bench.nonce(), countAt: () => Promise.resolve(null) };
    const history = { ...blind, ofWallet: () => Promise.resolve([]), inBlocks: () => Promise.resolve([]) };
    const index = { cursor: () => Promise.resolve({ startBlock: 1n, number: 2n ** 62n, hash: null }) };
    const told: unknown[] = [];
    const onUnexplained = (...of: readonly unknown[]): Promise<void> => Promise.resolve(void told.push(of));
    const recovery = { store: store.recovery, history, index };
    const relayer = bench.start({ store: store.relay, continuity: store.continuity, recovery, onUnexplained });
    cleanups.push(() => relayer.stop());
    await eventually(
      () => store.recovery.lane(SLUG, bench.wallet),
      ({ reconciledLoss }) => reconciledLoss > 0n,
    );
    expect(told).toEqual([[bench.wallet, [0, 1]]]);
  });

  it('ends where the chain is, wherever its process is killed', async () => {
    const chain = firstChain(sandbox);
    const source = await database(createTestDatabase());
    const before = open(source);
    const bench = await relayBench(chain, { store: before, bus: sandbox.gateway.bus });
    const purse = await openPurse(bench.client, bench.wallet);
    const { relay } = before;
    await relay.beginLane(SLUG, bench.wallet, 0);
    const queue = async () => relay.queue({ ...(await requestOf(bench)), chain: SLUG, wallet: bench.wallet }, systemClock.now());
    const jobs = [await queue(), await queue(), await queue()];
    const unsent = await queue();
    const copy = await database(copyTestDatabase(source));
    // What the copy does not have: the first three are sent, the last is not, and there is another one.
    await eventually(
      () => relay.refuse(SLUG, unsent.id, { reason: 'canceled', note: 'it was canceled' }).catch(() => null),
      (refused) => refused !== null,
    );
    const sender = bench.start();
    const forgotten = await sender.send(await requestOf(bench));
    await eventually(
      () =>
        relay.jobs(
          SLUG,
          [...jobs, forgotten.job].map(({ id }) => id),
        ),
      (sent) => sent.every(({ state }) => state === 'mined'),
    );
    const { mined } = (await relay.job(SLUG, forgotten.job.id)) ?? {};
    await sender.stop();
    await chain.mine(64);

    const after = open(copy);
    // A nonce that is used, given out again before the loss was noticed.
    await after.relay.assignNonces(SLUG, bench.wallet, [unsent.id], 1);
    await after.continuity.prove({ reason: 'a test', at: systemClock.now() });
    let kills = 0;
    while (!(await live(bench, after, purse.block))) kills += 1;
    // One released, three recalled, one kept, one refused, and the end of it.
    expect(kills).toBe(7);
    const ended = await after.relay.jobs(
      SLUG,
      [...jobs, unsent].map(({ id }) => id),
    );
    expect(ended.map(({ state, nonce }) => [state, nonce])).toEqual([...[0, 1, 2].map((nonce) => ['mined', nonce]), ['refused', null]]);
    expect(ended.at(-1)?.note).toBe('its database lost commits, and this order may have been sent before');
    expect(await after.relay.jobByHash(SLUG, mined?.hash ?? '0x')).toMatchObject({
      purpose: 'no-op',
      trader: null,
      nonce: 3,
      state: 'mined',
      mined,
    });
    expect([await bench.nonce(), (await after.recovery.lane(SLUG, bench.wallet)).nextNonce]).toEqual([4, 4]);
    await expectRelayInvariants(purse, { slug: SLUG, store: after.relay });
    const { total } = await after.gas.costs({ chain: SLUG, by: 'wallet', from: 0, to: 100_000, limit: 1 });
    expect(total.costWei).toBe(purse.balance - (await bench.client.getBalance({ address: bench.wallet })));
  });
});
