import { EventEmitter, once } from 'node:events';
import { systemClock } from '../../core/adapters/system/clock.js';
import { encodeIntent, wrapFor } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import { JOBS_PER_TRADER, type RelayJob, type RelayStore } from '../../core/ports/stores/relay.js';
import type { RelayNode } from '../../core/ports/relayer.js';
import type { RunningRelayer } from '../../relayer/create-relayer.js';
import type { SignedJob } from '../../relayer/lane-options.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { eventually } from '../harness/time/eventually.js';
import { storeAction } from '../harness/hyperliquid/store-action.js';
import { relayBench, requestOf, type RelayBench } from '../harness/relayer/relayer-bench.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let running: RunningRelayer[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
});
afterEach(async () => {
  await Promise.all(running.map((relayer) => relayer.stop()));
  running = [];
  await chain.pauseMining(false);
  await chain.setBaseFee(1);
});
afterAll(() => sandbox.stop());

function start(bench: RelayBench, parts?: Parameters<RelayBench['start']>[0]): RunningRelayer {
  const relayer = bench.start(parts);
  running.push(relayer);
  return relayer;
}

const SLUG = 'arbitrum-sepolia';

const IS_OVER: ReadonlySet<string> = new Set(['mined', 'reverted', 'refused', 'replaced']);

const whenOver = (bench: RelayBench, ids: readonly bigint[]): Promise<RelayJob[]> =>
  eventually(
    async () => (await Promise.all(ids.map((id) => bench.store.job(SLUG, id)))).flatMap((job) => (job ? [job] : [])),
    (jobs) => jobs.every(({ state }) => IS_OVER.has(state)),
  );

async function inState(bench: RelayBench, id: bigint, state: RelayJob['state']): Promise<RelayJob> {
  const job = await eventually(
    () => bench.store.job(SLUG, id),
    (now) => now?.state === state,
  );
  if (!job) throw new Error('no such job');
  return job;
}

/** The invariant of it all: as many orders on chain as jobs mined, one transaction for each, and not a nonce lost. */
async function expectOnce(bench: RelayBench, jobs: readonly RelayJob[]): Promise<void> {
  const mined = jobs.filter(({ state }) => state === 'mined');
  // Two replicas may have signed the same bytes: they are one transaction.
  expect(new Set(await bench.minedHashes(jobs)).size).toBe(mined.length);
  expect((await bench.trader.trades()).length).toBe(mined.length);
  expect(await bench.nonce()).toBe(mined.length);
}

describe('a lane', () => {
  it('mines every job once, in nonces without a hole', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench);
    const requests = await Promise.all(Array.from({ length: 6 }, () => requestOf(bench)));
    const sent = await Promise.all(requests.map((request) => relayer.send(request)));
    const handedOver = await Promise.all(sent.map((each) => each.handedOver));
    expect(handedOver.every(({ state }) => state === 'accepted' || state === 'mined')).toBe(true);
    const jobs = await whenOver(
      bench,
      sent.map(({ job }) => job.id),
    );
    expect(jobs.map(({ nonce }) => nonce).sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 6 }, (_, at) => at));
    expect(jobs.every(({ mined }) => mined !== null && mined.costWei > 0n)).toBe(true);
    await expectOnce(bench, jobs);
  });

  it('refuses what the signed action does not mean and what comes too late, before a nonce is taken', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench);
    const request = await requestOf(bench);
    const other = await requestOf(bench);
    const foreign = { ...request, trader: other.trader, data: other.data };
    const strange = { ...request, data: '0x604755cf' as const };
    const dear = { ...request, gas: 50_000_000n };
    const orphan = { ...request, parent: (await bench.action()).id + 1_000_000n };
    await expect(relayer.send(orphan)).rejects.toThrow();
    const sent = await Promise.all([foreign, strange, dear].map((each) => relayer.send(each)));
    const jobs = await Promise.all(sent.map((each) => each.handedOver));
    expect(jobs.map(({ state, note }) => [state, note])).toEqual([
      ['refused', 'it is not what the signed action means'],
      ['refused', 'it is no delegated call for its trader'],
      ['refused', 'gas 50000000 is above the cap of 5000000'],
    ]);
    const late = await relayer.send(await requestOf(bench, { notAfter: systemClock.now() - 1 }));
    expect((await late.handedOver).state).toBe('refused');
    expect(await bench.nonce()).toBe(0);
  });

  it('whose wallet has used its budget of the day sends what takes risk away, and nothing that opens', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench, { dailyBudget: 1n });
    const opening = await relayer.send(await requestOf(bench));
    expect(await opening.handedOver).toMatchObject({ state: 'refused', nonce: null, note: expect.stringContaining('budget of 0.0') });
    const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 9 }, bench.trader.account.address);
    const canceling = await relayer.send(await requestOf(bench, { inner }));
    expect(await whenOver(bench, [canceling.job.id])).toMatchObject([{ state: 'reverted' }]);
  });

  it('pays nothing of its budget for what was canceled between the last check and its nonce', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const { baseFee, priorityFee } = await bench.node.fees();
    const first = await requestOf(bench);
    let canceled: bigint | null = null;
    const store: RelayStore = {
      ...bench.store,
      async assignNonces(slug, wallet, ids, atLeast) {
        const [id] = ids;
        if (canceled === null && id !== undefined)
          await bench.store.refuse(slug, (canceled = id), { reason: 'canceled', note: 'it was canceled before it was sent' });
        return bench.store.assignNonces(slug, wallet, ids, atLeast);
      },
    };
    // Enough for one of them at a time.
    const relayer = start(bench, { store, dailyBudget: (first.gas * (2n * baseFee + priorityFee) * 3n) / 2n });
    const { job } = await relayer.send(first);
    await inState(bench, job.id, 'refused');
    expect(canceled).toBe(job.id);
    const next = await relayer.send(await requestOf(bench));
    expect(await whenOver(bench, [next.job.id])).toMatchObject([{ state: 'mined' }]);
  });

  it('sends for a quiet trader while another has filled the queue', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const quiet = await newTrader(chain, { delegate: bench.wallet });
    const relayer = start(bench);
    await chain.pauseMining(true);
    const flood = await Promise.all(
      Array.from({ length: JOBS_PER_TRADER + 2 }, async () => (await relayer.send(await requestOf(bench))).job.id),
    );
    const statesOf = async () => (await bench.store.jobs(SLUG, flood)).map(({ state }) => state);
    await eventually(statesOf, (states) => states.filter((state) => state === 'accepted').length === JOBS_PER_TRADER);
    const trader = quiet.account.address.toLowerCase() as Address;
    const inner = bench.orderCall(trader);
    const action = await bench.action();
    const { id: parent } = await storeAction(sandbox.gateway.store, { ...action, trader });
    const request = { ...(await requestOf(bench, { inner })), trader, parent, data: wrapFor(bench.wallet, trader, inner) };
    const { job, handedOver } = await relayer.send(request);
    expect(await handedOver).toMatchObject({ state: 'accepted', nonce: JOBS_PER_TRADER });
    expect((await statesOf()).filter((state) => state === 'queued')).toHaveLength(2);
    await chain.pauseMining(false);
    const over = await whenOver(bench, [...flood, job.id]);
    expect(over.every(({ state }) => state === 'mined')).toBe(true);
  });
});

describe('transactions behind others that are on their way', () => {
  /** The first is held up until it is let go; the second is signed by then. */
  async function twoInARow(parts: Parameters<RelayBench['start']>[0] = {}, notAfter: number | null = null) {
    const bench = await relayBench(chain, sandbox.gateway);
    const answers = new EventEmitter();
    const sent: Hex[] = [];
    const send: RelayNode['send'] = async (raw) => {
      if (sent.push(raw) === 1) await once(answers, 'given');
      return bench.node.send(raw);
    };
    const relayer = start(bench, { ...parts, node: { ...bench.node, send } });
    const { job: first } = await relayer.send(await requestOf(bench));
    await inState(bench, first.id, 'signed');
    const { job } = await relayer.send(await requestOf(bench, notAfter === null ? {} : { notAfter }));
    const second = await inState(bench, job.id, 'signed');
    expect(sent).toHaveLength(1);
    return { bench, relayer, sent, ids: [first.id, second.id], raw: second.attempts.at(-1)?.raw, letGo: () => answers.emit('given') };
  }

  it('are made ready meanwhile, and sent after them', async () => {
    const { bench, sent, ids, raw, letGo } = await twoInARow();
    letGo();
    const jobs = await whenOver(bench, ids);
    expect(sent.at(1)).toBe(raw);
    await expectOnce(bench, jobs);
  });

  it('are not sent when their time is over by then: they give their nonces away', async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + ahead };
    const { bench, sent, ids, raw, letGo } = await twoInARow({ clock }, systemClock.now() + 60_000);
    ahead = 61_000;
    letGo();
    const [first, second] = await whenOver(bench, ids);
    expect([first?.state, second?.attempts.at(-1)?.isNoOp]).toEqual(['mined', true]);
    expect(sent).not.toContain(raw);
    expect((await bench.trader.trades()).length).toBe(1);
    expect(await bench.nonce()).toBe(2);
  });

  it('are left to the replica that holds the lane by then', async () => {
    let isHeld = true;
    const lease: RelayStore['lease'] = async (slug, wallet) => {
      const real = isHeld ? await sandbox.gateway.store.relay.lease(slug, wallet) : null;
      return real && { ...real, isHeld: () => isHeld && real.isHeld() };
    };
    const { bench, relayer, sent, ids, raw, letGo } = await twoInARow({ store: { ...sandbox.gateway.store.relay, lease } });
    isHeld = false;
    letGo();
    await relayer.stop();
    expect(sent).not.toContain(raw);
    start(bench);
    await expectOnce(bench, await whenOver(bench, ids));
  });

  it('get no nonce while the lane has trouble: the outcome of those before them shows whether it can send', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const answers = new EventEmitter();
    let [sent, isDown] = [0, false];
    const send: RelayNode['send'] = async (raw) => {
      if ((sent += 1) === 1) await once(answers, 'given');
      return bench.node.send(raw);
    };
    const account: RelayNode['account'] = (address) => (isDown ? Promise.reject(new Error('no answer')) : bench.node.account(address));
    const found = new Set<bigint>();
    const queued: RelayStore['queued'] = async (...asked) => {
      const jobs = await bench.store.queued(...asked);
      for (const { id } of jobs) found.add(id);
      return jobs;
    };
    const relayer = start(bench, {
      node: { ...bench.node, send, account },
      store: { ...bench.store, queued },
      waits: { patienceMs: 60_000 },
    });
    const { job: first } = await relayer.send(await requestOf(bench));
    await inState(bench, first.id, 'signed');
    isDown = true;
    await eventually(
      () => Promise.resolve(bench.log.entries),
      (entries) => entries.some(({ event }) => event === 'relay.lane-failed'),
    );
    const { job: second } = await relayer.send(await requestOf(bench));
    await eventually(
      () => Promise.resolve(found),
      (ids) => ids.has(second.id),
    );
    await someTrips(bench);
    expect((await bench.store.job(SLUG, second.id))?.state).toBe('queued');
    isDown = false;
    answers.emit('given');
    await expectOnce(bench, await whenOver(bench, [first.id, second.id]));
  });
});

/** Longer than a lane takes for its next step. */
async function someTrips(bench: RelayBench): Promise<void> {
  for (let trips = 0; trips < 20; trips += 1) await bench.nonce();
}

/** The second look of a lane hangs until it is let go; `again` resolves when it has begun. */
function heldLook(bench: RelayBench) {
  const [answers, asked] = [new EventEmitter(), new EventEmitter()];
  let looks = 0;
  const account: RelayNode['account'] = async (address) => {
    if ((looks += 1) === 2) {
      const answered = once(answers, 'given');
      asked.emit('again');
      await answered;
    }
    return bench.node.account(address);
  };
  return { account, again: once(asked, 'again'), looks: () => looks, letGo: () => answers.emit('given') };
}

describe('a look at the chain', () => {
  it('that takes long keeps nothing from being sent', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const { account, again, letGo } = heldLook(bench);
    const relayer = start(bench, { node: { ...bench.node, account } });
    const first = await relayer.send(await requestOf(bench));
    await again;
    const second = await relayer.send(await requestOf(bench));
    expect((await second.handedOver).state).toBe('accepted');
    letGo();
    await expectOnce(bench, await whenOver(bench, [first.job.id, second.job.id]));
  });

  it('that began before the lane had a problem does not end it', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const { account, again, letGo, looks } = heldLook(bench);
    let isBusy = false;
    const send: RelayNode['send'] = (raw) => (isBusy ? Promise.resolve({ verdict: 'unknown', note: 'busy' }) : bench.node.send(raw));
    const problems: (string | null)[] = [];
    const storeLaneProblem: RelayStore['storeLaneProblem'] = (slug, wallet, problem) => {
      problems.push(problem?.reason ?? null);
      return bench.store.storeLaneProblem(slug, wallet, problem);
    };
    const relayer = start(bench, {
      node: { ...bench.node, account, send },
      store: { ...bench.store, storeLaneProblem },
      waits: { patienceMs: 0 },
    });
    const first = await relayer.send(await requestOf(bench));
    await again;
    isBusy = true;
    const second = await relayer.send(await requestOf(bench));
    const refused = 'its node does not take transactions (busy)';
    await eventually(
      () => Promise.resolve(problems),
      (stored) => stored.includes(refused),
    );
    const before = looks();
    letGo();
    await eventually(looks, (now) => now > before);
    expect(problems.slice(problems.indexOf(refused))).toEqual([refused]);
    isBusy = false;
    await expectOnce(bench, await whenOver(bench, [first.job.id, second.job.id]));
    await eventually(
      () => Promise.resolve(problems),
      (stored) => stored.at(-1) === null,
    );
  });

  it('that fails is not taken again at once', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const failing = new EventEmitter();
    let looks = 0;
    const open: RelayStore['open'] = (slug, wallet) => {
      if ((looks += 1) === 1) return bench.store.open(slug, wallet);
      failing.emit('look');
      return Promise.reject(new Error('no answer'));
    };
    const failed = once(failing, 'look');
    const relayer = start(bench, { store: { ...bench.store, open } });
    await failed;
    const { handedOver } = await relayer.send(await requestOf(bench));
    expect((await handedOver).state).toBe('accepted');
    await eventually(
      () => bench.nonce(),
      (nonce) => nonce === 1,
    );
    const before = looks;
    const started = performance.now();
    await eventually(
      () => Promise.resolve(looks),
      (now) => now >= before + 2,
    );
    expect(performance.now() - started).toBeGreaterThan(500);
  });

  it('leaves alone what is just being begun', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    let see = (): void => undefined;
    const seen = new Promise<void>((resolve) => (see = resolve));
    // The look has begun before the job gets its nonce, and finds it afterwards.
    const numbering = new EventEmitter();
    const numbered = once(numbering, 'numbered');
    let looks = 0;
    const account: RelayNode['account'] = async (address) => {
      if ((looks += 1) === 2) await numbered;
      return bench.node.account(address);
    };
    const assignNonces: RelayStore['assignNonces'] = async (...given) => {
      const assigned = await bench.store.assignNonces(...given);
      numbering.emit('numbered');
      return assigned;
    };
    let signings = 0;
    const addAttempt: RelayStore['addAttempt'] = async (slug, attempts) => {
      if ((signings += 1) === 1) await seen;
      return bench.store.addAttempt(slug, attempts);
    };
    const open: RelayStore['open'] = async (slug, wallet) => {
      const found = await bench.store.open(slug, wallet);
      if (found.some(({ state }) => state === 'assigned')) void someTrips(bench).then(see);
      return found;
    };
    const relayer = start(bench, { node: { ...bench.node, account }, store: { ...bench.store, assignNonces, addAttempt, open } });
    const { job } = await relayer.send(await requestOf(bench));
    const [over] = await whenOver(bench, [job.id]);
    expect(over?.attempts).toHaveLength(1);
    expect(signings).toBe(1);
    await expectOnce(bench, over ? [over] : []);
  });
});

type Step = 'queue' | 'assignNonces' | 'addAttempt' | 'send' | 'accept';

/** Crashes once at a step, before or after the step took effect; every later call hangs, as it does in a crashed process. */
function crashing(bench: RelayBench, step: Step, when: 'before' | 'after'): { node: RelayNode; store: RelayStore; died: Promise<void> } {
  let isDead = false;
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => (die = resolve));
  const never = new Promise<never>(() => undefined);
  const guard =
    <Rest extends unknown[], Result>(name: string, method: (...rest: Rest) => Promise<Result>) =>
    async (...rest: Rest): Promise<Result> => {
      if (isDead) return never;
      if (name !== step) return method(...rest);
      if (when === 'after') await method(...rest);
      isDead = true;
      die();
      return never;
    };
  const { node, store: kept } = bench;
  return {
    died,
    node: { ...node, send: guard('send', (raw: Parameters<RelayNode['send']>[0]) => node.send(raw)) },
    store: {
      ...kept,
      assignNonces: guard('assignNonces', (...rest: Parameters<RelayStore['assignNonces']>) => kept.assignNonces(...rest)),
      addAttempt: guard('addAttempt', (...rest: Parameters<RelayStore['addAttempt']>) => kept.addAttempt(...rest)),
      accept: guard('accept', (...rest: Parameters<RelayStore['accept']>) => kept.accept(...rest)),
      queued: guard('queued', (...rest: Parameters<RelayStore['queued']>) => kept.queued(...rest)),
      open: guard('open', (...rest: Parameters<RelayStore['open']>) => kept.open(...rest)),
      // A crashed process holds no lease: its connection is gone.
      lease: async (...rest) => {
        const lease = await kept.lease(...rest);
        if (lease) void died.then(() => lease.release());
        return lease;
      },
    },
  };
}

/** `npm run test:slow` takes every step, before and after it. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const EVERY_CRASH = (['assignNonces', 'addAttempt', 'send', 'accept'] as const).flatMap((step) => [
  [step, 'before'] as const,
  [step, 'after'] as const,
]);
const CRASHES = isSlow
  ? EVERY_CRASH
  : ([
      ['assignNonces', 'after'],
      ['addAttempt', 'after'],
      ['send', 'after'],
    ] as const);

describe('a process that crashes', () => {
  it.each(CRASHES)('at %s, %s it takes effect, leaves an order that the next process sends exactly once', async (step, when) => {
    const bench = await relayBench(chain, sandbox.gateway);
    const { node, store: crashingStore, died } = crashing(bench, step, when);
    const known: Hex[] = [];
    const onSigned = (signed: readonly SignedJob[]) => Promise.resolve(void known.push(...signed.map(({ hash }) => hash)));
    const crashed = bench.start({ node, store: crashingStore, onSigned });
    const { job } = await crashed.send(await requestOf(bench));
    await died;
    crashed.abandon();
    start(bench, { onSigned });
    const [over] = await whenOver(bench, [job.id]);
    expect(over?.state).toBe('mined');
    // The order gets the hash of a transaction before it can be mined, whichever process signed it.
    expect(known).toContain(over?.mined?.hash);
    await expectOnce(bench, over ? [over] : []);
  });
});

describe('a node that lies', () => {
  const lies: Record<string, (node: RelayNode) => RelayNode> = {
    'accepts and forgets, answers an error after accepting, and falls silent after accepting': (node) => {
      let sent = 0;
      return {
        ...node,
        send: async (raw) => {
          sent += 1;
          if (sent === 1) return { verdict: 'accepted', note: null };
          const answer = await node.send(raw);
          if (sent === 2) return { verdict: 'unknown', note: 'internal error' };
          if (sent === 3) throw new Error('timeout');
          return answer;
        },
      };
    },
    'counts nonces from the past': (node) => ({ ...node, account: async (address) => ({ ...(await node.account(address)), nonce: 0 }) }),
  };

  it.each(Object.keys(lies))('and %s gets every order into the chain once', async (lie) => {
    const bench = await relayBench(chain, sandbox.gateway);
    const faulty = lies[lie];
    if (!faulty) throw new Error(lie);
    const relayer = start(bench, { node: faulty(bench.node), waits: { stuckMs: 300 } });
    const sent = [];
    for (let at = 0; at < 3; at += 1) sent.push(await relayer.send(await requestOf(bench)));
    const jobs = await whenOver(
      bench,
      sent.map(({ job }) => job.id),
    );
    await expectOnce(bench, jobs);
    expect(jobs.map(({ state }) => state)).toEqual(['mined', 'mined', 'mined']);
  });
});

describe('the chain', () => {
  it('that grows dearer gets a replacement with a higher fee, and mines one of the two', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    await chain.pauseMining(true);
    const relayer = start(bench, { waits: { stuckMs: 200 } });
    const { job, handedOver } = await relayer.send(await requestOf(bench));
    expect((await handedOver).state).toBe('accepted');
    await chain.setBaseFee(20);
    await chain.pauseMining(false);
    const [over] = await whenOver(bench, [job.id]);
    expect(over?.state).toBe('mined');
    expect(over?.attempts.length).toBeGreaterThan(1);
    await expectOnce(bench, over ? [over] : []);
  });

  it('gets a forgotten transaction again also when the clock was set back meanwhile', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    let [behind, isForgetful] = [0, true];
    const clock = { ...systemClock, now: () => systemClock.now() - behind };
    const send: RelayNode['send'] = (raw) => (isForgetful ? Promise.resolve({ verdict: 'accepted', note: null }) : bench.node.send(raw));
    const relayer = start(bench, { node: { ...bench.node, send }, clock });
    const { job, handedOver } = await relayer.send(await requestOf(bench));
    expect((await handedOver).state).toBe('accepted');
    [behind, isForgetful] = [3_600_000, false];
    await expectOnce(bench, await whenOver(bench, [job.id]));
  });

  it('that drops a block gets the same transaction again', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const relayer = start(bench, { waits: { stuckMs: 300 } });
    const first = await relayer.send(await requestOf(bench));
    const [over] = await whenOver(bench, [first.job.id]);
    await reorgAway(chain, bench.client, over?.mined?.blockNumber ?? 0n);
    const second = await relayer.send(await requestOf(bench));
    const ids = [first.job.id, second.job.id];
    await eventually(
      () => bench.trader.trades(),
      (trades) => trades.length === ids.length,
    );
    await expectOnce(bench, await whenOver(bench, ids));
  });
});

describe('two replicas', () => {
  it('leave what one of them queues to the one that has the lane, also when that one has had nothing to do', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    let looks = 0;
    const account: RelayNode['account'] = (address) => {
      looks += 1;
      return bench.node.account(address);
    };
    const queuedAt = systemClock.now();
    start(bench, { node: { ...bench.node, account }, clock: { ...systemClock, now: () => queuedAt } });
    // The lane has looked at the chain twice. On this clock it does not do so again by itself.
    await eventually(
      () => looks,
      (count) => count >= 2,
    );
    const { id } = await bench.store.queue({ ...(await requestOf(bench)), chain: SLUG, wallet: bench.wallet }, queuedAt);
    const [job] = await whenOver(bench, [id]);
    expect(job?.state).toBe('mined');
  });

  it('share a lane, and the second takes over when the first is gone', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const first = bench.start();
    const warm = await first.send(await requestOf(bench));
    await warm.handedOver;
    const second = start(bench);
    const sent = [];
    for (let at = 0; at < 2; at += 1) sent.push(await (at % 2 ? first : second).send(await requestOf(bench)));
    await first.stop();
    sent.push(await second.send(await requestOf(bench)));
    const ids = [warm, ...sent].map(({ job }) => job.id);
    const jobs = await whenOver(bench, ids);
    expect(jobs.map(({ state }) => state)).toEqual(ids.map(() => 'mined'));
    await expectOnce(bench, jobs);
  });

  it('send everything once, also where the first loses the lane with a whole batch numbered and not signed', async () => {
    const bench = await relayBench(chain, sandbox.gateway);
    const warm = await sentOnce(bench);
    const { store: slow, lose, isWaiting, goOn } = losing(bench);
    const first = start(bench, { store: slow });
    const requests = await Promise.all(Array.from({ length: 3 }, () => requestOf(bench)));
    const sent = await Promise.all(requests.map((request) => first.send(request)));
    await isWaiting;
    await lose();
    const second = start(bench);
    const later = await second.send(await requestOf(bench));
    const ids = [...sent, later].map(({ job }) => job.id);
    const early = await whenOver(bench, ids);
    goOn();
    await Promise.all(sent.map((each) => each.handedOver));
    const jobs = await whenOver(bench, ids);
    expect(early.map(({ state }) => state)).toEqual(ids.map(() => 'mined'));
    await expectOnce(bench, [warm, ...jobs]);
  });
});

/** A lane that has worked before: its next jobs are found in one batch. */
async function sentOnce(bench: RelayBench): Promise<RelayJob> {
  const relayer = bench.start();
  const { job } = await relayer.send(await requestOf(bench));
  const [over] = await whenOver(bench, [job.id]);
  await relayer.stop();
  if (!over) throw new Error('no job');
  return over;
}

/** A replica that stalls before its first signatures are stored, and whose lease goes to another replica meanwhile. */
function losing(bench: RelayBench) {
  let arrived = (): void => undefined;
  let goOn = (): void => undefined;
  let release = (): Promise<void> => Promise.resolve();
  let isLost = false;
  const isWaiting = new Promise<void>((resolve) => (arrived = resolve));
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const slow: RelayStore = {
    ...bench.store,
    async lease(slug, wallet) {
      if (isLost) return null;
      const lease = await bench.store.lease(slug, wallet);
      if (lease === null) return null;
      release = () => lease.release();
      return { ...lease, isHeld: () => !isLost && lease.isHeld() };
    },
    async addAttempt(slug, attempts) {
      arrived();
      await gate;
      return bench.store.addAttempt(slug, attempts);
    },
  };
  const lose = async (): Promise<void> => {
    isLost = true;
    await release();
  };
  return { store: slow, lose, isWaiting, goOn: () => goOn() };
}
