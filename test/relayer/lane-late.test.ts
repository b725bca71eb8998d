import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode, SendVerdict } from '../../core/ports/relayer.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { createShiftedClock } from '../harness/time/shifted-clock.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const SLUG = 'arbitrum-sepolia';
const HOUR_MS = 3_600_000;
const GWEI = 1_000_000_000n;

let sandbox: TestVenue;
let chain: ChainControls;
let store: RelayStore;
let running: RunningRelayer[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  store = sandbox.gateway.store.relay;
});
afterEach(async () => {
  await Promise.all(running.map((relayer) => relayer.stop()));
  running = [];
});
afterAll(() => sandbox.stop());

function start(bench: RelayBench, parts?: Parameters<RelayBench['start']>[0]): RunningRelayer {
  const relayer = bench.start(parts);
  running.push(relayer);
  return relayer;
}

const when = (id: bigint, holds: (job: RelayJob) => boolean): Promise<RelayJob | null> =>
  eventually(
    () => store.job(SLUG, id),
    (job) => job !== null && holds(job),
  );
const whenIn = (id: bigint, ...states: RelayJob['state'][]): Promise<RelayJob | null> => when(id, ({ state }) => states.includes(state));

/** Says this of every transaction until it is healed. */
function ailing(node: RelayNode, verdict: SendVerdict['verdict']): { node: RelayNode; heal: () => void } {
  let isIll = true;
  return {
    node: { ...node, send: (raw) => (isIll ? Promise.resolve({ verdict, note: verdict }) : node.send(raw)) },
    heal: () => void (isIll = false),
  };
}

describe('an order whose time is over', () => {
  it('gives its nonce away when the empty wallet is filled at last, and the lane goes on', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const clock = createShiftedClock();
    const { node, heal } = ailing(bench.node, 'no-funds');
    const relayer = start(bench, { clock, node });
    const late = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 5_000 }));
    await whenIn(late.job.id, 'unknown');
    clock.move(HOUR_MS);
    await when(late.job.id, ({ attempts }) => attempts.at(-1)?.isNoOp === true);
    heal();
    const next = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 60_000 }));
    expect((await whenIn(next.job.id, 'mined'))?.nonce).toBe(1);
    await whenIn(late.job.id, 'replaced');
    expect(await bench.trader.trades()).toHaveLength(1);
  });

  it('gives its nonce away although its fee was the highest allowed', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const clock = createShiftedClock();
    const { node, heal } = ailing(bench.node, 'underpriced');
    const dear: RelayNode = { ...node, fees: () => Promise.resolve({ baseFee: 15n * GWEI, priorityFee: 0n }) };
    const relayer = start(bench, { clock, node: dear, maxFeePerGas: 20n * GWEI });
    const late = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 5_000 }));
    await whenIn(late.job.id, 'unknown');
    clock.move(HOUR_MS);
    heal();
    const next = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 60_000 }));
    await whenIn(next.job.id, 'mined');
    await whenIn(late.job.id, 'replaced');
    expect(await bench.trader.trades()).toHaveLength(1);
  });

  it('is not sent by the process that finds it with a nonce and without a signature', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const clock = createShiftedClock();
    // The first process hangs for ever, as a dead one does, and holds nothing.
    const leased: RelayStore = { ...store, lease: () => Promise.resolve({ isHeld: () => true, release: () => Promise.resolve() }) };
    const hanging = bench.start({ store: { ...leased, addAttempt: () => new Promise(() => undefined) } });
    const { job } = await hanging.send(await requestOf(bench, { notAfter: clock.now() + 5_000 }));
    await whenIn(job.id, 'assigned');
    hanging.abandon();
    clock.move(HOUR_MS);
    start(bench, { clock, store: leased });
    await whenIn(job.id, 'replaced');
    expect(await bench.trader.trades()).toHaveLength(0);
    expect(await bench.nonce()).toBe(1);
  });

  it('is not sent again after the node that had it forgot it', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const clock = createShiftedClock();
    let isForgetful = true;
    const forgetful: RelayNode = {
      ...bench.node,
      send: (raw) => (isForgetful ? Promise.resolve({ verdict: 'accepted', note: null }) : bench.node.send(raw)),
    };
    const relayer = start(bench, { clock, node: forgetful, waits: { stuckMs: 60_000 } });
    const { job } = await relayer.send(await requestOf(bench, { notAfter: clock.now() + 5_000 }));
    await whenIn(job.id, 'accepted');
    isForgetful = false;
    clock.move(HOUR_MS);
    await whenIn(job.id, 'replaced');
    expect(await bench.trader.trades()).toHaveLength(0);
  });
});

describe('a lane', () => {
  it('goes on past a job that cannot be judged', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const poison = await requestOf(bench);
    const relayer = start(bench, {
      reencode: (_action, job) =>
        job.data === poison.data ? Promise.reject(new RangeError('poison')) : Promise.resolve([job.context as `0x${string}`]),
    });
    const stuck = await relayer.send(poison);
    const next = await relayer.send(await requestOf(bench));
    await whenIn(next.job.id, 'mined');
    expect((await store.job(SLUG, stuck.job.id))?.state).toBe('queued');
    expect(await bench.nonce()).toBe(1);
  });

  it('brings back a transaction whose block is gone although nothing else is to be sent', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench, { waits: { stuckMs: 300 } });
    const { job } = await relayer.send(await requestOf(bench));
    const over = await whenIn(job.id, 'mined');
    await reorgAway(chain, bench.client, over?.mined?.blockNumber ?? 0n);
    await eventually(
      () => bench.trader.trades(),
      (trades) => trades.length === 1,
    );
    await whenIn(job.id, 'mined');
  });
});

describe('a caller that waits for a hand-over', () => {
  it('gets its answer when the relayer stops', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench, { node: { ...bench.node, account: () => Promise.reject(new Error('no node')) } });
    const { handedOver } = await relayer.send(await requestOf(bench));
    await relayer.stop();
    expect((await handedOver).state).toBe('queued');
  });
});
