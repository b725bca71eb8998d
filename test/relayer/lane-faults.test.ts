import { encodeIntent } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode } from '../../core/ports/relayer.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually, eventuallyOn } from '../harness/time/eventually.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { expectRelayInvariants, openPurse } from '../harness/checks/relay-invariants.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** Everything that chains, nodes and other people do to a wallet's transactions, and the same accounts after each of it. */

const SLUG = 'arbitrum-sepolia';
const GWEI = 1_000_000_000n;
const QUICK = { stuckMs: 300, doubtMs: 400, tooLateMs: 300, patienceMs: 300, jammedMs: 1_000 } as const;

let sandbox: TestVenue;
let chain: ChainControls;
let store: RelayStore;
let running: RunningRelayer[] = [];
/** Of all relayers. */
const clock = createShiftedClock();
/** What a lane rests between two turns. */
const REST_MS = 1_000;

beforeAll(async () => {
  // The sandbox can take back 64 blocks: on a busy machine that has to last for what a test does between two of its steps.
  sandbox = await startOwnVenue({ SANDBOX_BLOCK_MS: '150' });
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  store = sandbox.gateway.store.relay;
});
afterEach(async () => {
  await Promise.all(running.map((relayer) => relayer.stop()));
  running = [];
  await chain.pauseMining(false);
  await chain.setBaseFee(1);
});
afterAll(() => sandbox.stop());

function start(bench: RelayBench, parts: Parameters<RelayBench['start']>[0] = {}): RunningRelayer {
  const relayer = bench.start({ clock, ...parts, waits: { ...QUICK, ...parts.waits } });
  running.push(relayer);
  return relayer;
}

/** For what a lane does only after a rest, or after one of its waits: the time of its clock passes faster meanwhile. */
const soon = eventuallyOn(() => clock);

const soonIn = (id: bigint, state: RelayJob['state']): Promise<RelayJob | null> =>
  soon(
    () => store.job(SLUG, id),
    (job) => job?.state === state,
  );

/** A lane finds that it is well in a round after the one in which its job was mined. */
const whenHealed = (relayer: RunningRelayer, { wallet }: RelayBench): Promise<unknown> =>
  soon(
    () => relayer.laneProblem(wallet),
    (problem) => problem === null,
  );

const whenIn = (id: bigint, ...states: RelayJob['state'][]): Promise<RelayJob | null> =>
  eventually(
    () => store.job(SLUG, id),
    (job) => job !== null && states.includes(job.state),
  );

async function mined(bench: RelayBench, relayer: RunningRelayer): Promise<RelayJob> {
  const { job } = await relayer.send(await requestOf(bench));
  const over = await whenIn(job.id, 'mined');
  if (!over) throw new Error('no such job');
  return over;
}

const receipt = (bench: RelayBench, hash: Hex): Promise<bigint | null> =>
  eventually(
    () =>
      bench.client.getTransactionReceipt({ hash }).then(
        ({ blockNumber }) => blockNumber,
        () => null,
      ),
    (block) => block !== null,
  );

/** Everything from this block on never happened, and what was in it is forgotten. */
async function undoFrom(bench: RelayBench, block: bigint): Promise<void> {
  await chain.pauseMining(true);
  const head = await bench.client.getBlockNumber({ cacheTime: 0 });
  await chain.reorg(Number(head - block) + 1, true);
  await chain.pauseMining(false);
}

/** Lets something happen before the first transaction of ours reaches the node. */
function delayed(node: RelayNode, first: () => Promise<unknown>): RelayNode {
  let waiting: Promise<unknown> | null = null;
  return { ...node, send: async (raw) => (await (waiting ??= first()), node.send(raw)) };
}

/** How long each lane problem lasted, by the relayer's own log. */
const problemDurations = (bench: RelayBench): number[] =>
  bench.log.entries.filter(({ event }) => event === 'relay.lane-unblocked').map(({ fields }) => Number(fields['ms']));

describe('a key that another program uses too', () => {
  it('costs the order whose nonce is gone, reported as not sent, and no other', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    let foreign: Hex = '0x';
    const node = delayed(bench.node, async () => receipt(bench, (foreign = await bench.outside(0))));
    const relayer = start(bench, { node });
    const lost = await relayer.send(await requestOf(bench));
    expect(await soonIn(lost.job.id, 'refused')).toMatchObject({ note: 'its nonce was used by another transaction' });
    expect((await mined(bench, relayer)).nonce).toBe(1);
    expect(await bench.trader.trades()).toHaveLength(1);
    await expectRelayInvariants(purse, { slug: SLUG, store, strangers: [foreign] });
  });

  it('and whose transaction a reorganisation takes back leaves no hole behind', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    await chain.mine(3);
    const purse = await openPurse(bench.client, bench.wallet);
    let foreign: Hex = '0x';
    const node = delayed(bench.node, async () => receipt(bench, (foreign = await bench.outside(0))));
    const relayer = start(bench, { node });
    const lost = await relayer.send(await requestOf(bench));
    await soonIn(lost.job.id, 'refused');
    const next = await mined(bench, relayer);
    await undoFrom(bench, (await receipt(bench, foreign)) ?? 0n);
    await soonIn(lost.job.id, 'replaced');
    await soon(
      () => bench.nonce(),
      (nonce) => nonce === 2,
    );
    await soonIn(next.id, 'mined');
    expect(await bench.trader.trades()).toHaveLength(1);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('and whose transactions we never met leaves no hole either when they are taken back', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    await chain.mine(3);
    const purse = await openPurse(bench.client, bench.wallet);
    const foreign = await bench.outside(0);
    const block = await receipt(bench, foreign);
    await receipt(bench, await bench.outside(1));
    await store.storeLaneProblem(SLUG, bench.wallet, null);
    const relayer = start(bench);
    // What waited before its count was believed would be refused.
    await soon(
      () => store.lane(SLUG, bench.wallet),
      ({ nextNonce }) => nextNonce === 2,
    );
    const own = await mined(bench, relayer);
    expect(own.nonce).toBe(2);
    await undoFrom(bench, block ?? 0n);
    await soon(
      () => bench.nonce(),
      (nonce) => nonce === 3,
    );
    await soonIn(own.id, 'mined');
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('and replaces what already waits for a block costs that order alone', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    await chain.pauseMining(true);
    const relayer = start(bench, { waits: { stuckMs: 60_000 } });
    const lost = await relayer.send(await requestOf(bench));
    await lost.handedOver;
    const foreign = await bench.outside(0, 400n * GWEI);
    await chain.pauseMining(false);
    expect(await soonIn(lost.job.id, 'refused')).toMatchObject({ note: 'its nonce was used by another transaction' });
    await mined(bench, relayer);
    await expectRelayInvariants(purse, { slug: SLUG, store, strangers: [foreign] });
  });
});

describe('a lane that cannot send', () => {
  it('because gas is dearer than allowed takes no nonce, says so, and goes on when it is cheaper', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const relayer = start(bench, { maxFeePerGas: 5n * GWEI });
    await mined(bench, relayer);
    const wellAt = clock.now();
    await chain.setBaseFee(20);
    await soon(
      () => relayer.laneProblem(bench.wallet),
      (problem) => problem !== null,
    );
    expect(relayer.laneProblem(bench.wallet)?.reason).toBe('gas costs 20 gwei, and the most it may pay is 5');
    const waits = await relayer.send(await requestOf(bench));
    const expires = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 100 }));
    clock.pass(REST_MS);
    expect((await expires.handedOver).note).toMatch(/^its time was over before it could be sent: gas costs 20 gwei/);
    expect(await store.job(SLUG, waits.job.id)).toMatchObject({ state: 'queued', nonce: null });
    expect(await relayer.lanes()).toMatchObject([{ state: 'blocked', openJobs: 1, nextNonce: 1, oldestOpenAt: waits.job.createdAt }]);
    await chain.setBaseFee(1);
    await soonIn(waits.job.id, 'mined');
    await whenHealed(relayer, bench);
    expect((await relayer.lanes())[0]).toMatchObject({ state: 'ok', since: null, reason: null });
    expect(problemDurations(bench).every((ms) => ms <= clock.now() - wellAt)).toBe(true);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('because its wallet is empty is blocked on every replica, and heals when the wallet is funded', async () => {
    const bench = await relayBench(chain, sandbox.gateway, { eth: '0' });
    const purse = await openPurse(bench.client, bench.wallet);
    const first = start(bench);
    const replicas = [first, start(bench)];
    const { job } = await first.send(await requestOf(bench));
    await soon(
      () => replicas.map((relayer) => relayer.laneProblem(bench.wallet)?.reason),
      (reasons) => reasons.every((reason) => reason === `its wallet ${bench.wallet} has too little to pay for gas`),
    );
    await chain.faucet.fund(bench.wallet, { eth: '1' });
    await soonIn(job.id, 'mined');
    await Promise.all(replicas.map((relayer) => whenHealed(relayer, bench)));
    await expectRelayInvariants(purse, { slug: SLUG, store, funded: 10n ** 18n });
  });

  it('because its node is gone heals with it', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    let isDown = false;
    const whileUp = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      if (isDown) throw new Error('connection refused');
      return call();
    };
    const node: RelayNode = {
      account: (wallet) => whileUp(() => bench.node.account(wallet)),
      fees: () => whileUp(() => bench.node.fees()),
      send: (raw) => whileUp(() => bench.node.send(raw)),
      receipts: (hashes) => whileUp(() => bench.node.receipts(hashes)),
      blockHashes: (numbers) => whileUp(() => bench.node.blockHashes(numbers)),
      knows: (hash) => whileUp(() => bench.node.knows(hash)),
    };
    const relayer = start(bench, { node });
    await mined(bench, relayer);
    isDown = true;
    const { job } = await relayer.send(await requestOf(bench));
    await soon(
      () => relayer.laneProblem(bench.wallet)?.reason ?? null,
      (reason) => reason !== null,
    );
    isDown = false;
    await soonIn(job.id, 'mined');
    await whenHealed(relayer, bench);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('because no block comes is blocked, and heals with the next one', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const relayer = start(bench);
    await chain.pauseMining(true);
    const { job } = await relayer.send(await requestOf(bench));
    const problem = await soon(
      () => relayer.laneProblem(bench.wallet),
      (found) => found !== null,
    );
    expect(problem?.reason).toBe('its transaction 0 waits for a block');
    await chain.pauseMining(false);
    await soonIn(job.id, 'mined');
    await whenHealed(relayer, bench);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });
});

describe('a transaction', () => {
  it('that reverts is paid for, booked as reverted, and holds no other up', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const relayer = start(bench);
    const nothing = encodeIntent({ kind: 'withdraw', tradeIndex: 77 }, bench.trader.account.address.toLowerCase() as Address);
    const { job } = await relayer.send(await requestOf(bench, { inner: nothing }));
    const over = await whenIn(job.id, 'reverted');
    expect(over?.mined?.costWei).toBeGreaterThan(0n);
    await mined(bench, relayer);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });

  it('is sent once although two replicas both believe that the lane is theirs', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const purse = await openPurse(bench.client, bench.wallet);
    const greedy: RelayStore = { ...store, lease: () => Promise.resolve({ isHeld: () => true, release: () => Promise.resolve() }) };
    const [one, two] = [start(bench, { store: greedy }), start(bench, { store: greedy })];
    const requests = await Promise.all(Array.from({ length: 12 }, () => requestOf(bench)));
    const sent = await Promise.all(requests.map((request, at) => (at % 2 === 0 ? one : two).send(request)));
    for (const { job } of sent) await whenIn(job.id, 'mined');
    expect(await bench.trader.trades()).toHaveLength(sent.length);
    await expectRelayInvariants(purse, { slug: SLUG, store });
  });
});
