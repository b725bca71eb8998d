import type { Intent } from '../../core/domain/intent.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import { LANE_WAITS } from '../../core/config/relayer.js';
import { chainBySlug } from '../../core/chains/chains.js';
import type { RelayJob, RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode } from '../../core/ports/relayer.js';
import { createChainReconciler, createInFlightJobs, type ChainReconciler } from '../../relayer/chain-reconciler.js';
import type { Delivery } from '../../relayer/deliver.js';
import { createLaneProblems, type LaneProblems } from '../../relayer/lane-problems.js';
import { isUncompared } from '../../relayer/foreign-transactions.js';
import { createMutex } from '../../relayer/mutex.js';
import { CheckError } from '../../relayer/signer.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../harness/time/manual-clock.js';

const WALLET = `0x${'ab'.repeat(20)}` as const;
const PACE_MS = 2_000;
const LOOK_BACK_MS = 120_000;
/** Pays for an order at the fees below. */
const ENOUGH = 10n ** 18n;

const jobWith = (nonce: number, state: RelayJob['state'] = 'accepted'): RelayJob =>
  ({ id: BigInt(nonce), nonce, state, attempts: [], wallet: WALLET, createdAt: 0 }) as unknown as RelayJob;

interface Lane {
  readonly reconciler: ChainReconciler;
  readonly problems: LaneProblems;
  readonly clock: ManualClock;
  /** What the node, the store and the delivery answer. */
  readonly world: {
    nonce: number;
    pending: number;
    balance: bigint;
    wanting: bigint;
    next: number | null;
    open: RelayJob[];
    standing: bigint[];
    isDown: boolean;
    /** Why a job cannot be pushed, by nonce. */
    failures: ReadonlyMap<number | null, Error>;
    doubt: string | null;
  };
  readonly did: string[];
}

/** A lane whose node and store answer what a test wants. */
function createLane(): Lane {
  const world: Lane['world'] = {
    nonce: 7,
    pending: 0,
    balance: ENOUGH,
    wanting: 0n,
    next: 7,
    open: [],
    standing: [],
    isDown: false,
    failures: new Map(),
    doubt: null,
  };
  const did: string[] = [];
  const clock = createManualClock();
  const log = createRecordedLog();
  const definition = chainBySlug('base');
  const queued = (id: bigint): RelayJob | undefined => world.open.find((each) => each.id === id && each.state === 'queued');
  const store: Partial<RelayStore> = {
    open: () => Promise.resolve(world.open),
    lane: () => Promise.resolve({ nextNonce: world.next, since: null, reason: null }) as ReturnType<RelayStore['lane']>,
    minedBlocks: () => Promise.resolve([]),
    settledIn: () => Promise.resolve([]),
    resetLane: (_chain, _wallet, nonce) => Promise.resolve(void did.push(`reset to ${nonce}`)),
    unusedNonces: (_chain, _wallet, from, below) => {
      const taken = new Set(world.open.map(({ nonce }) => nonce));
      const all = Array.from({ length: below - from }, (_, at) => from + at);
      return Promise.resolve(all.filter((nonce) => !taken.has(nonce)).map((nonce) => ({ nonce, isGivenUp: false })));
    },
    beginLane: (_chain, _wallet, nonce) => {
      world.next ??= nonce;
      return Promise.resolve();
    },
    refuse: (_chain, id, { reason }) => {
      const job = queued(id);
      if (job) did.push(`refused ${id} for ${reason}`);
      world.open = world.open.filter((each) => each !== job);
      return Promise.resolve(job ?? null);
    },
    noteQueued: (_chain, id, note) => {
      const job = queued(id);
      did.push(job === undefined ? `could not note ${id}` : `${id} ${note === null ? 'may go on' : 'waits'}`);
      if (job) world.open = world.open.map((each) => (each === job ? { ...job, note } : each));
      return Promise.resolve(job ?? null);
    },
    giveUpCall: (_chain, id, { reason }) => Promise.resolve((did.push(`gave up ${id} for ${reason}`), jobWith(Number(id)))),
    fillGap: (_chain, _wallet, nonce) => Promise.resolve((did.push(`filled ${nonce}`), jobWith(nonce))),
  };
  const node: Partial<RelayNode> = { account: () => Promise.resolve({ ...world, pending: Math.max(world.nonce, world.pending) }) };
  const fees = { baseFee: 1n, priorityFee: 1n };
  const delivery: Partial<Delivery> = {
    renewFees: () => Promise.resolve(fees),
    currentFees: () => Promise.resolve(fees),
    wanting: () => world.wanting,
    forgetAllBut: () => undefined,
    push({ nonce }) {
      const failure = world.failures.get(nonce);
      return failure === undefined ? Promise.resolve(void did.push(`pushed ${nonce}`)) : Promise.reject(failure);
    },
  };
  const settings = { ...LANE_WAITS, maxFeePerGas: 100n, maxGas: 1_000_000n, reencode: () => Promise.resolve([]) };
  const shared = { store: store as RelayStore, clock, log };
  const problems = createLaneProblems({ ...shared, slug: definition.slug, wallet: WALLET, settings });
  const reconciler = createChainReconciler({
    ...shared,
    definition,
    signer: { address: WALLET },
    check: { forgetAllBut: () => undefined },
    node: node as RelayNode,
    settings,
    onSigned: () => Promise.resolve(),
    onStep: () => undefined,
    onRefused: () => Promise.resolve(),
    standing(jobs) {
      if (world.isDown) return Promise.reject(new Error('the node does not answer'));
      return Promise.resolve(new Map(jobs.map(({ id }) => [id, world.standing.includes(id) ? 'stands' : 'gone'])));
    },
    onForeign: (_wallet, transactions) => Promise.resolve(void did.push(`alert about ${transactions}`)),
    problems,
    delivery: delivery as Delivery,
    nonceMutex: createMutex(),
    inFlight: createInFlightJobs(),
    budget: { refresh: (balance, open) => Promise.resolve(void did.push(`budget of ${balance} with ${open.length} open`)) },
    isOurs: () => true,
    held: () => world.doubt,
    judgeForeign: () => Promise.resolve(),
    paceMs: PACE_MS,
  });
  return { reconciler, problems, clock, world, did };
}

describe('a check of the chain', () => {
  it('gives the balance and the open jobs to the daily budget', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [jobWith(7)];
    await reconciler.reconcile();
    expect(did).toEqual([`budget of ${ENOUGH} with 1 open`, 'pushed 7']);
  });

  it('goes on past a job that cannot be checked, and fails with any other failure', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [jobWith(7), jobWith(8)];
    world.failures = new Map([[7, new CheckError('not checked')]]);
    expect(await reconciler.reconcile()).toBe(true);
    expect(did).toContain('pushed 8');
    world.failures = new Map([[7, new Error('no node')]]);
    await expect(reconciler.reconcile()).rejects.toThrow('no node');
  });

  it('fills the nonces that are missing between the chain and the open jobs, and no others', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [jobWith(8), jobWith(10)];
    await reconciler.reconcile();
    expect(did.filter((step) => step.startsWith('filled'))).toEqual(['filled 7', 'filled 9']);
  });

  it('is due at every pace for a while after the last job, because its block may be reorganised away', async () => {
    const { reconciler, world, clock } = createLane();
    world.open = [jobWith(7)];
    await reconciler.reconcile();
    world.open = [];
    clock.advance(PACE_MS - 1);
    expect(reconciler.isDue(false)).toBe(false);
    clock.advance(1);
    expect(reconciler.isDue(false)).toBe(true);
    clock.advance(LOOK_BACK_MS);
    await reconciler.reconcile();
    clock.advance(PACE_MS);
    expect(reconciler.isDue(false)).toBe(false);
  });
});

describe("a node's count of transactions", () => {
  it('is believed at once up to five above our own, and otherwise after it was doubted for a while', async () => {
    const { reconciler, problems, world, clock } = createLane();
    world.nonce = foreign(world, 5);
    await reconciler.checkChain([]);
    expect([reconciler.minNonce(), problems.has('nonce')]).toEqual([12, false]);
    world.nonce = foreign(world, 6);
    await reconciler.checkChain([]);
    expect([reconciler.minNonce(), problems.has('nonce')]).toEqual([12, true]);
    clock.advance(LANE_WAITS.doubtMs);
    await reconciler.checkChain([]);
    expect([reconciler.minNonce(), problems.has('nonce')]).toEqual([13, false]);
  });

  it('stays doubted although lower ones follow, as of a node that does not see what waits for a block', async () => {
    const { reconciler, problems, world, clock, did } = createLane();
    world.pending = foreign(world, 10);
    await reconciler.checkChain([]);
    for (const pending of [0, foreign(world, 3)]) {
      world.pending = pending;
      await reconciler.checkChain([]);
      clock.advance(LANE_WAITS.doubtMs / 2 - 1);
      await reconciler.checkChain([]);
      expect(problems.has('nonce')).toBe(true);
    }
    expect(did.join()).not.toMatch(/alert|reset/);
    clock.advance(2);
    world.pending = foreign(world, 10);
    await reconciler.checkChain([]);
    expect([problems.has('nonce'), did.includes('alert about 10')]).toEqual([false, true]);
  });

  it.each<[string, (lane: Lane) => void]>([
    ['no answer has shown it for a while', ({ clock }) => clock.advance(LANE_WAITS.doubtMs)],
    ['so many of our own are mined', ({ world }) => (world.nonce = world.next = foreign(world, 10))],
  ])('is doubted no longer when %s', async (_when, change) => {
    const lane = createLane();
    lane.world.pending = foreign(lane.world, 10);
    await lane.reconciler.checkChain([]);
    lane.world.pending = 0;
    change(lane);
    await lane.reconciler.checkChain([]);
    expect([lane.problems.has('nonce'), lane.reconciler.minNonce()]).toEqual([false, lane.world.nonce]);
    expect(lane.did.join()).not.toContain('alert');
  });
});

describe('a database that may have lost commits', () => {
  it('has nothing ended, sent, filled or believed by what it says of the wallet, until it is known', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [jobWith(9)];
    [world.next, world.nonce, world.doubt] = [3, 8, 'it is being checked whether the database lost commits'];
    await expect(reconciler.reconcile()).rejects.toThrow(world.doubt);
    expect([did.filter((step) => !step.startsWith('budget')), reconciler.minNonce(), reconciler.hasChecked()]).toEqual([[], 0, false]);
    world.doubt = null;
    [world.next, world.nonce] = [10, 8];
    await reconciler.reconcile();
    expect(did).toEqual(expect.arrayContaining(['filled 8', 'pushed 9']));
  });
});

describe('transactions of the wallet that are not stored', () => {
  const TRADER = `0x${'12'.repeat(20)}` as const;
  const CLOSE: Intent = { kind: 'close', tradeIndex: 1, expectedPrice: 10n ** 15n, slippageP: null };
  const terms = { type: 'limit', pairIndex: 0, collateralIndex: 1, long: true, leverage: 10_000n, collateralAmount: 1_000_000n } as const;
  const OPEN: Intent = { kind: 'open', ...terms, price: 10n ** 15n, tp: 0n, sl: 0n, slippageP: 1_000n };
  const waiting = (id: number, intent: Intent, nonce: number | null = null): RelayJob => ({
    ...jobWith(id, nonce === null ? 'queued' : 'assigned'),
    nonce,
    purpose: 'action',
    trader: TRADER,
    data: wrapFor(WALLET, TRADER, encodeIntent(intent, TRADER)),
  });

  it('end openings that wait, and closes that the chain does not show; an alert opens', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [waiting(1, OPEN), waiting(2, CLOSE), waiting(3, CLOSE), waiting(4, OPEN, 6)];
    world.standing = [3n];
    world.nonce = foreign(world, 3);
    await reconciler.checkChain(world.open.filter(({ nonce }) => nonce !== null));
    expect(did.slice(1)).toEqual([
      'alert about 3',
      'refused 1 for foreign-transactions',
      'gave up 4 for foreign-transactions',
      'refused 2 for foreign-transactions',
    ]);
  });

  it('end openings also while the chain cannot be asked: closes wait until it is, and the lane does not', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [waiting(1, OPEN), waiting(2, CLOSE), waiting(3, CLOSE), waiting(4, CLOSE, 6)];
    world.standing = [3n];
    world.nonce = foreign(world, 3);
    world.isDown = true;
    await reconciler.checkChain(world.open.filter(({ nonce }) => nonce !== null));
    expect(reconciler.hasChecked()).toBe(true);
    expect(did.slice(1)).toEqual([
      'alert about 3',
      'refused 1 for foreign-transactions',
      '2 waits',
      '3 waits',
      'could not note 4',
      'gave up 4 for foreign-transactions',
    ]);
    expect(world.open.filter(isUncompared).map(({ id }) => id)).toEqual([2n, 3n]);
    world.isDown = false;
    did.length = 0;
    await reconciler.checkChain(world.open);
    expect(did.slice(1)).toEqual(['refused 2 for foreign-transactions', '3 may go on']);
    expect(world.open.some(isUncompared)).toBe(false);
  });

  it('end openings before they are mined, once', async () => {
    const { reconciler, world, did } = createLane();
    world.open = [waiting(1, OPEN)];
    world.pending = foreign(world, 2);
    await reconciler.checkChain([]);
    expect(did).toContain('alert about 2');
    world.open = [waiting(2, OPEN)];
    await reconciler.checkChain([]);
    world.nonce = world.pending;
    await reconciler.checkChain([]);
    expect(did.filter((step) => !/^(budget|reset)/.test(step))).toEqual(['alert about 2', 'refused 1 for foreign-transactions']);
    expect(reconciler.minNonce()).toBe(world.nonce);
  });

  it('let closes wait as long as they wait for a block: until then the chain shows what they close as it was', async () => {
    const { reconciler, world, did } = createLane();
    [world.open, world.standing] = [
      [waiting(1, CLOSE), waiting(2, CLOSE)],
      [1n, 2n],
    ];
    world.pending = foreign(world, 2);
    await reconciler.checkChain(world.open);
    expect(did.filter((step) => !/^(budget|reset)/.test(step))).toEqual(['alert about 2', '1 waits', '2 waits']);
    // A node that does not see them is no proof that they are gone.
    for (const [nonce, pending] of [
      [7, 0],
      [7, 9],
      [8, 9],
      [8, 0],
    ] as const) {
      [world.nonce, world.pending] = [nonce, pending];
      await reconciler.checkChain(world.open);
    }
    expect(world.open.filter(isUncompared)).toHaveLength(2);
    [world.nonce, world.standing, did.length] = [9, [2n], 0];
    await reconciler.checkChain(world.open);
    expect(did).toEqual(expect.arrayContaining(['refused 1 for foreign-transactions', '2 may go on']));
  });

  it.each(['the lane that counted them', 'its next owner'])('are gone when no answer has shown them for a while, for %s', async (owner) => {
    const { reconciler, world, clock } = createLane();
    [world.open, world.standing] = [[waiting(1, CLOSE)], [1n]];
    world.pending = foreign(world, 2);
    await reconciler.checkChain(world.open);
    if (owner === 'its next owner') reconciler.forget();
    for (const pending of [0, 9, 0]) {
      world.pending = pending;
      await reconciler.checkChain(world.open);
      clock.advance(LANE_WAITS.doubtMs - 1);
      await reconciler.checkChain(world.open);
      expect(world.open.filter(isUncompared)).toHaveLength(1);
    }
    clock.advance(1);
    await reconciler.checkChain(world.open);
    expect(world.open.filter(isUncompared)).toHaveLength(0);
  });

  it('are looked for above the nonces that are given since, whatever waited for a block before', async () => {
    const { reconciler, world, did } = createLane();
    world.pending = world.next = 9;
    await reconciler.checkChain([jobWith(7), jobWith(8)]);
    // The commits of both are lost.
    [world.next, world.open] = [7, [waiting(1, OPEN)]];
    await reconciler.checkChain([]);
    expect(did).toContain('refused 1 for foreign-transactions');
  });

  describe('of a wallet that the database did not know', () => {
    it.each([5, 400])('are no reason to refuse what was queued since the start, also if they are %i', async (strangers) => {
      const { reconciler, world, did, clock } = createLane();
      [world.next, world.nonce] = [null, strangers];
      clock.advance(1);
      world.open = [{ ...waiting(1, OPEN), createdAt: clock.now() }];
      await reconciler.checkChain([]);
      clock.advance(LANE_WAITS.doubtMs);
      await reconciler.checkChain([]);
      expect(did.filter((step) => !/^(budget|reset)/.test(step))).toEqual([]);
      expect([world.next, reconciler.minNonce()]).toEqual([strangers, strangers]);
    });

    it('end what was queued before the start: it may be a copy', async () => {
      const { reconciler, world, did } = createLane();
      [world.next, world.nonce] = [null, 5];
      world.open = [{ ...waiting(1, OPEN), createdAt: 0 }];
      await reconciler.checkChain([]);
      expect(did).toEqual(expect.arrayContaining(['alert about 5', 'refused 1 for foreign-transactions']));
    });

    it('end all that waits if this replica has known it: then the database has forgotten it', async () => {
      const { reconciler, world, did, clock } = createLane();
      await reconciler.checkChain([]);
      reconciler.forget();
      [world.next, world.nonce] = [null, 5];
      world.open = [{ ...waiting(1, OPEN), createdAt: clock.now() + 1 }];
      await reconciler.checkChain([]);
      expect(did).toContain('refused 1 for foreign-transactions');
    });
  });
});

/** The count of a node that shows so many transactions more than are stored. */
const foreign = (world: Lane['world'], more: number): number => (world.next ?? 0) + more;

describe('a lack of funds', () => {
  it('ends when no job is unsent and the balance pays for what could not be paid, and not before', async () => {
    const { reconciler, problems, world } = createLane();
    problems.report('funds', 'too little');
    world.wanting = ENOUGH + 1n;
    await reconciler.checkChain([]);
    expect(problems.has('funds')).toBe(true);
    world.wanting = ENOUGH;
    await reconciler.checkChain([jobWith(7, 'unknown')]);
    expect(problems.has('funds')).toBe(true);
    await reconciler.checkChain([]);
    expect(problems.has('funds')).toBe(false);
  });
});

describe('a lane', () => {
  it('is stuck as soon as its next transaction has waited as long as it may', async () => {
    const { reconciler, problems, world, clock } = createLane();
    world.open = [jobWith(7)];
    await reconciler.reconcile();
    clock.advance(LANE_WAITS.jammedMs - 1);
    await reconciler.reconcile();
    expect(problems.has('stuck')).toBe(false);
    clock.advance(1);
    await reconciler.reconcile();
    expect(problems.has('stuck')).toBe(true);
    world.nonce = 8;
    world.open = [];
    await reconciler.reconcile();
    expect(problems.has('stuck')).toBe(false);
  });
});
