import type { Hex } from '../../core/types.js';
import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode } from '../../core/ports/relayer.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { createShiftedClock, type ShiftedClock } from '../harness/time/shifted-clock.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { relayBench, requestOf, whenHealed, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { expectRelayInvariants, openPurse } from '../harness/checks/relay-invariants.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** What a lane makes of a node that counts more transactions of its wallet than were sent from here. */

const SLUG = 'arbitrum-sepolia';
const LONG_MS = 60_000;

let sandbox: TestVenue;
let chain: ChainControls;
let store: RelayStore;
let running: RunningRelayer[] = [];

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  store = sandbox.gateway.store.relay;
});
afterEach(async () => {
  await Promise.all(running.map((relayer) => relayer.stop()));
  running = [];
});
afterAll(() => sandbox.stop());

function start(bench: RelayBench, parts: Parameters<RelayBench['start']>[0] = {}): RunningRelayer {
  const relayer = bench.start({ ...parts, waits: { stuckMs: 300, patienceMs: 300, ...parts.waits } });
  running.push(relayer);
  return relayer;
}

const whenIn = (id: bigint, ...states: RelayJob['state'][]): Promise<RelayJob | null> =>
  eventually(
    () => store.job(SLUG, id),
    (job) => job !== null && states.includes(job.state),
  );

const whenBlocked = async (relayer: RunningRelayer, bench: RelayBench): Promise<string> => {
  const problem = await eventually(
    () => relayer.laneProblem(bench.wallet),
    (found) => found !== null,
  );
  return problem?.reason ?? '';
};

/** The count is believed: what comes from now on is sent with nonces from there. */
const whenBelieved = (bench: RelayBench, nonce: number): Promise<unknown> =>
  eventually(
    () => store.lane(SLUG, bench.wallet),
    ({ nextNonce }) => nextNonce === nonce,
  );

interface BoastingNode {
  readonly node: RelayNode;
  more: number;
  /** Answers since the count is right. */
  right: number;
}

/** A node that counts `more` transactions too many. */
function boasting({ node }: RelayBench, more: number): BoastingNode {
  const boast = { more, node, right: 0 };
  boast.node = {
    ...node,
    account: async (wallet) => {
      const account = await node.account(wallet);
      if (boast.more === 0) boast.right += 1;
      return { ...account, nonce: account.nonce + boast.more, pending: account.pending + boast.more };
    },
  };
  return boast;
}

/** The count is right again, and has been for so long that the wrong one is not doubted any more. */
async function standDown(boast: BoastingNode, clock: ShiftedClock): Promise<void> {
  [boast.more, boast.right] = [0, 0];
  // What was counted before is judged before the node is asked again.
  await eventually(
    () => Promise.resolve(boast.right),
    (answers) => answers > 1,
  );
  clock.move(LONG_MS);
}

describe('a database that may have lost commits', () => {
  it('has nothing signed for it until it is known, and requests meanwhile wait with the reason', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const doubt = 'it is being checked whether the database lost commits';
    const world: { doubt: string | null } = { doubt: null };
    const continuity = { ...sandbox.gateway.store.continuity, doubt: () => world.doubt };
    const relayer = start(bench, { continuity });
    const before = await relayer.send(await requestOf(bench));
    await whenIn(before.job.id, 'mined');
    world.doubt = doubt;
    const { job } = await relayer.send(await requestOf(bench));
    expect(await whenBlocked(relayer, bench)).toBe(doubt);
    expect([await store.job(SLUG, job.id), await bench.nonce()]).toEqual([expect.objectContaining({ state: 'queued', nonce: null }), 1]);
    world.doubt = null;
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 1 });
    await whenHealed(relayer, bench);
  });
});

describe('a node that counts more transactions than were sent from here', () => {
  it('is not believed at once: what is queued waits, and is sent when the count is right again, without a single no-op', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const clock = createShiftedClock();
    const boast = boasting(bench, 400);
    const relayer = start(bench, { clock, node: boast.node, waits: { doubtMs: LONG_MS } });
    const { job } = await relayer.send(await requestOf(bench));
    expect(await whenBlocked(relayer, bench)).toBe('its node counts 400 transactions of its wallet that were not sent from here');
    expect(await store.job(SLUG, job.id)).toMatchObject({ state: 'queued', nonce: null });
    expect((await store.lane(SLUG, bench.wallet)).nextNonce).toBeNull();
    await standDown(boast, clock);
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 0 });
    expect(await bench.nonce()).toBe(1);
    await whenHealed(relayer, bench);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('is not believed by a lane that works, either', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const clock = createShiftedClock();
    const boast = boasting(bench, 0);
    const relayer = start(bench, { clock, node: boast.node, waits: { doubtMs: LONG_MS } });
    const before = await relayer.send(await requestOf(bench));
    await whenIn(before.job.id, 'mined');
    boast.more = 6;
    await whenBlocked(relayer, bench);
    const { job } = await relayer.send(await requestOf(bench));
    await standDown(boast, clock);
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 1 });
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('is believed at once where it is a handful', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const strangers: Hex[] = [];
    for (let nonce = 0; nonce < 5; nonce += 1) strangers.push(await bench.outside(nonce));
    await eventually(
      () => bench.nonce(),
      (nonce) => nonce === 5,
    );
    // As it is in a copy of the database from before a lane was used: what waited in it may have been sent.
    await store.storeLaneProblem(SLUG, bench.wallet, null);
    const waited = await store.queue({ ...(await requestOf(bench)), chain: SLUG, wallet: bench.wallet }, 0);
    const relayer = start(bench, { waits: { doubtMs: LONG_MS } });
    expect(await whenIn(waited.id, 'refused')).toMatchObject({
      nonce: null,
      note: "the relayer's wallet sent transactions that its database does not know, and this order may be one of them",
    });
    await whenBelieved(bench, 5);
    const { job } = await relayer.send(await requestOf(bench));
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 5 });
    await expectRelayInvariants(purse, { slug: SLUG, store, strangers });
  });

  it('is believed when it has said so for a while: the wallet was used before this database knew it', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const strangers: Hex[] = [];
    for (let nonce = 0; nonce < 6; nonce += 1) strangers.push(await bench.outside(nonce));
    await eventually(
      () => bench.nonce(),
      (nonce) => nonce === 6,
    );
    const clock = createShiftedClock();
    const relayer = start(bench, { clock, waits: { doubtMs: LONG_MS } });
    const waited = await relayer.send(await requestOf(bench));
    expect(await whenBlocked(relayer, bench)).toBe('its node counts 6 transactions of its wallet that were not sent from here');
    clock.move(LONG_MS);
    expect(await whenIn(waited.job.id, 'mined')).toMatchObject({ nonce: 6 });
    const { job } = await relayer.send(await requestOf(bench));
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 7 });
    await whenHealed(relayer, bench);
    await expectRelayInvariants(purse, { slug: SLUG, store, strangers });
  });

  it('and was believed for too long costs no more than a few no-ops: the lane is blocked instead', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const boast = boasting(bench, 21);
    await store.storeLaneProblem(SLUG, bench.wallet, null);
    const relayer = start(bench, { node: boast.node, waits: { doubtMs: 0 } });
    await whenBelieved(bench, 21);
    const { job } = await relayer.send(await requestOf(bench));
    expect(await whenIn(job.id, 'accepted')).toMatchObject({ nonce: 21 });
    boast.more = 0;
    expect(await whenBlocked(relayer, bench)).toBe("more than 20 nonces are missing between the chain's 0 and its own 21");
    const next = await relayer.send(await requestOf(bench, { notAfter: Date.now() + 100 }));
    expect((await next.handedOver).note).toMatch(/^its time was over before it could be sent: more than 20 nonces are missing/);
    expect(await bench.nonce()).toBe(0);
    expect((await store.open(SLUG, bench.wallet)).map(({ id }) => id)).toEqual([job.id]);
  });

  it('and was believed for too long is made up for where few are missing', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const boast = boasting(bench, 20);
    await store.storeLaneProblem(SLUG, bench.wallet, null);
    const relayer = start(bench, { node: boast.node, waits: { doubtMs: 0 } });
    await whenBelieved(bench, 20);
    const { job } = await relayer.send(await requestOf(bench));
    await whenIn(job.id, 'accepted');
    boast.more = 0;
    expect(await whenIn(job.id, 'mined')).toMatchObject({ nonce: 20 });
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });
});
