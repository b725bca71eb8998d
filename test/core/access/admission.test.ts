import fc from 'fast-check';
import type { Admitted } from '../../../core/access/admission.js';
import type { AdmissionEntry, AdmissionStore, AdmissionVerdict } from '../../../core/ports/stores/access.js';
import { createAdmission } from '../../../core/access/admission.js';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { windowStart } from '../../../core/access/limits.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock } from '../../harness/time/manual-clock.js';

const log = createRecordedLog();
const START = Date.UTC(2026, 0, 6, 15);
let serial = 0;
/** A credential that no other test uses, so that tests do not share counters. */
const newAgent = (): string => `0x${(serial += 1).toString(16).padStart(40, '0')}`;

const entry = (changes: Partial<AdmissionEntry> = {}): AdmissionEntry => ({
  chain: 'base',
  credential: newAgent(),
  nonce: '1',
  keepUntil: START + 60_000,
  isWrite: false,
  ...changes,
});

const isIn = ({ isFresh, windows }: Admitted): boolean => isFresh === true && windows.every(({ isExceeded }) => !isExceeded);

describe('admission', () => {
  let database: TestDatabase;
  let stores: [KnexStore, KnexStore];
  beforeAll(async () => {
    database = await createTestDatabase();
    const open = (): KnexStore => createStore({ url: database.url, log, poolSize: 4 });
    stores = [open(), open()];
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
  });

  const admissionAt = (
    store: Pick<AdmissionStore, 'admit' | 'release'>,
    limits = { agent: 300, 'agent-writes': 60 },
    clock = createManualClock(START),
  ) => createAdmission({ store, clock, limits });

  /** The real store, with the size of each batch it received. */
  const counting = (store: KnexStore) => {
    const batches: number[] = [];
    const admit = async (window: number, entries: readonly AdmissionEntry[]): Promise<readonly AdmissionVerdict[]> => {
      batches.push(entries.length);
      return store.admission.admit(window, entries);
    };
    const release = (entries: readonly AdmissionEntry[]): Promise<void> => store.admission.release(entries);
    return { admit, release, batches };
  };

  it('lets exactly one of many identical requests through, wherever they arrive', async () => {
    const twin = entry();
    const admissions = [admissionAt(stores[0].admission), admissionAt(stores[1].admission), admissionAt(stores[0].admission)];
    const answers = await Promise.all(Array.from({ length: 20 }, () => admissions.map(({ admit }) => admit(twin))).flat());
    expect(answers.filter((answer) => answer.isFresh === true)).toHaveLength(1);
    expect(answers.filter((answer) => answer.isFresh === false)).toHaveLength(59);
  });

  it('recognises a used nonce after a restart and on another replica', async () => {
    const used = entry();
    expect(await admissionAt(stores[0].admission).admit(used)).toMatchObject({ isFresh: true });
    expect(await admissionAt(stores[0].admission).admit(used)).toMatchObject({ isFresh: false });
    expect(await admissionAt(stores[1].admission).admit(used)).toMatchObject({ isFresh: false });
  });

  it('keeps nonces apart by chain, by agent and by every digit', async () => {
    const first = entry({ nonce: (2n ** 256n - 1n).toString() });
    const others: AdmissionEntry[] = [
      { ...first, chain: 'arbitrum' },
      { ...first, credential: newAgent() },
      { ...first, nonce: (2n ** 256n - 2n).toString() },
      { ...first, nonce: '0' },
    ];
    const answers = await Promise.all([first, ...others].map((each) => admissionAt(stores[0].admission).admit(each)));
    expect(answers.map(({ isFresh }) => isFresh)).toEqual([true, true, true, true, true]);
  });

  it('asks the database once for all requests that arrive while it is being asked', async () => {
    const { admit, release, batches } = counting(stores[0]);
    const { admit: ask } = admissionAt({ admit, release });
    await Promise.all(Array.from({ length: 200 }, () => ask(entry())));
    expect(batches).toEqual([1, 199]);
  });

  it('does not count requests whose nonce was used before', async () => {
    const credential = newAgent();
    const { admit } = admissionAt(stores[0].admission, { agent: 2, 'agent-writes': 2 });
    await admit(entry({ credential, nonce: '1' }));
    for (let turn = 0; turn < 5; turn += 1) expect(await admit(entry({ credential, nonce: '1' }))).toMatchObject({ isFresh: false });
    const last = await admit(entry({ credential, nonce: '2' }));
    expect(last.windows).toEqual([{ scope: 'agent', limit: 2, remaining: 0, resetSeconds: 60, isExceeded: false }]);
  });

  it('leaves the nonce unused when the limit is known to be reached, so that the same request may come again', async () => {
    const clock = createManualClock(START + 45_000);
    const credential = newAgent();
    const { admit } = admissionAt(stores[0].admission, { agent: 1, 'agent-writes': 1 }, clock);
    await admit(entry({ credential, nonce: '1' }));
    const refused = await admit(entry({ credential, nonce: '2' }));
    expect(refused).toMatchObject({ isFresh: null, windows: [{ scope: 'agent', isExceeded: true, resetSeconds: 15 }] });
    clock.advance(15_000);
    expect(isIn(await admit(entry({ credential, nonce: '2' })))).toBe(true);
  });

  it('leaves the nonces unused that a burst brought after the limit was reached', async () => {
    const clock = createManualClock(START + 45_000);
    const credential = newAgent();
    const { admit } = admissionAt(stores[0].admission, { agent: 3, 'agent-writes': 3 }, clock);
    const burst = Array.from({ length: 8 }, (_, at) => entry({ credential, nonce: String(at) }));
    const answers = await Promise.all(burst.map(admit));
    const refused = burst.filter((_, at) => answers[at] !== undefined && !isIn(answers[at]));
    expect(refused).toHaveLength(5);
    clock.advance(15_000);
    const again = admissionAt(stores[1].admission, { agent: 300, 'agent-writes': 300 }, clock);
    expect((await Promise.all(refused.map(again.admit))).every(isIn)).toBe(true);
    const used = burst.filter((each) => !refused.includes(each));
    expect((await Promise.all(used.map(again.admit))).map(({ isFresh }) => isFresh)).toEqual([false, false, false]);
  });

  it('counts writes twice: among all requests and among writes', async () => {
    const credential = newAgent();
    const { admit } = admissionAt(stores[0].admission, { agent: 5, 'agent-writes': 2 });
    const windows = [];
    for (const [nonce, isWrite] of [true, false, true, true, false].entries())
      windows.push(
        (await admit(entry({ credential, nonce: String(nonce), isWrite }))).windows.map((w) => (w.isExceeded ? 'full' : w.remaining)),
      );
    expect(windows).toEqual([[4, 1], [3], [2, 0], [1, 'full'], [1]]);
  });

  it('never lets more than the limit through in a window, whatever callers and replicas do', async () => {
    const cases = fc.record({
      agent: fc.integer({ min: 1, max: 12 }),
      writes: fc.integer({ min: 1, max: 6 }),
      areReads: fc.boolean(),
      requests: fc.array(fc.record({ replica: fc.nat({ max: 1 }), isWrite: fc.boolean(), nonce: fc.nat({ max: 15 }) }), { maxLength: 40 }),
      pauses: fc.array(fc.nat({ max: 40 }), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ agent, writes, areReads, requests, pauses }) => {
        const credential = newAgent();
        const admissions = stores.map((store) => admissionAt(store.admission, { agent, 'agent-writes': writes }));
        const answers: { admitted: Admitted; isWrite: boolean; nonce: number }[] = [];
        let pending: Promise<void>[] = [];
        for (const [index, { replica, nonce, ...request }] of requests.entries()) {
          const isWrite = !areReads && request.isWrite;
          const asked = admissions[replica]?.admit(entry({ credential, isWrite, nonce: String(nonce) }));
          if (asked) pending.push(asked.then((admitted) => void answers.push({ admitted, isWrite, nonce })));
          if (pauses.includes(index)) pending = [(await Promise.all(pending), Promise.resolve())];
        }
        await Promise.all(pending);
        const passed = answers.filter(({ admitted }) => isIn(admitted));
        expect(answers).toHaveLength(requests.length);
        expect(passed.length).toBeLessThanOrEqual(agent);
        expect(passed.filter(({ isWrite }) => isWrite).length).toBeLessThanOrEqual(writes);
        expect(new Set(passed.map(({ nonce }) => nonce)).size).toBe(passed.length);
        // No request is refused below the limit: with reads alone, all distinct nonces up to the limit pass.
        const distinct = new Set(requests.map(({ nonce }) => nonce)).size;
        if (areReads) expect(passed.length).toBe(Math.min(agent, distinct));
      }),
      { numRuns: 40 },
    );
  });

  it('counts each request once, up to the limit exactly', async () => {
    const credential = newAgent();
    const admissions = stores.map((store) => admissionAt(store.admission, { agent: 50, 'agent-writes': 50 }));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        admissions.map(({ admit }, replica) => admit(entry({ credential, nonce: `${index}${replica}` }))),
      ).flat(),
    );
    const places = answers.flatMap((answer) => (isIn(answer) ? [answer.windows[0]?.remaining] : []));
    expect(places.sort((a = 0, b = 0) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('does not deadlock when replicas count the same agents in opposite order', async () => {
    const agents = Array.from({ length: 30 }, newAgent);
    const batch = (nonce: string, order: string[]): AdmissionEntry[] => order.map((credential) => entry({ credential, nonce }));
    const rounds = Array.from({ length: 12 }, (_, round) => [
      stores[0].admission.admit(windowStart(START), batch(`a${round}`, agents)),
      stores[1].admission.admit(windowStart(START), batch(`b${round}`, [...agents].reverse())),
      stores[1].admission.admit(windowStart(START), batch(`a${round}`, [...agents].reverse())),
    ]).flat();
    const fresh = (await Promise.all(rounds)).flat().filter(({ isFresh }) => isFresh);
    expect(fresh).toHaveLength(12 * 2 * 30);
  });

  it('returns the current version of an agent, and whether an API key exists', async () => {
    const agent = newAgent();
    const [store] = stores;
    const ask = async (nonce: string | null, credential: string): Promise<bigint | null> =>
      (await admissionAt(stores[1].admission).admit(entry({ credential, nonce }))).version;
    expect(await ask('1', agent)).toBeNull();
    await store.db('agents').insert({ chain: 'base', agent, trader: agent, name: '', mode: 'self', permissions: 'trade', created_at: 1 });
    const [row] = await store.db('agents').where({ agent }).select<{ version: bigint }[]>('version');
    expect(await ask('2', agent)).toBe(row?.version);
    await store.db('agents').where({ agent }).update({ revoked_at: 5, version: 2 });
    expect(await ask('3', agent)).toBe(2n);

    expect(await ask(null, 'c0ffee')).toBeNull();
    await store.db('api_keys').insert({ chain: 'base', key_hash: 'c0ffee', trader: agent, label: 'x', created_at: 1 });
    expect(await ask(null, 'c0ffee')).toBe(0n);
    expect(await ask(null, 'c0ffee')).toBe(0n);
  });

  it('fails for every request while the database is down, and works again afterwards', async () => {
    let isDown = true;
    const { admit } = admissionAt({
      admit: (window, entries) =>
        isDown ? Promise.reject(new Error('Connection terminated')) : stores[0].admission.admit(window, entries),
      release: (entries) => stores[0].admission.release(entries),
    });
    const nonce = entry();
    const answers = await Promise.allSettled([admit(nonce), admit(nonce), admit(entry())]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    isDown = false;
    expect(isIn(await admit(nonce))).toBe(true);
  });

  it('refuses a request that waited so long that its nonce might be pruned', async () => {
    const clock = createManualClock(START);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const store = {
      admit: async (window: number, entries: readonly AdmissionEntry[]) => {
        await held;
        return stores[0].admission.admit(window, entries);
      },
      release: (entries: readonly AdmissionEntry[]) => stores[0].admission.release(entries),
    };
    const { admit } = admissionAt(store, { agent: 5, 'agent-writes': 5 }, clock);
    const [first, second] = [admit(entry()), admit(entry())];
    clock.advance(15_001);
    release();
    await expect(first).resolves.toMatchObject({ isFresh: true });
    await expect(second).rejects.toMatchObject({ code: 'NOT_READY' });
  });

  it('prunes nonces a minute after they expired, and windows that are over, but nothing sooner', async () => {
    const [store] = stores;
    const credential = newAgent();
    const left = async (): Promise<(string | number)[]> => [
      ...(await store.db('nonces').where({ agent: credential }).orderBy('nonce').pluck<string[]>('nonce')),
      (await store.db('request_counts').where({ subject: `base:${credential}` })).length,
    ];
    const at = (nonce: string, keepUntil: number): AdmissionEntry => entry({ credential, nonce, keepUntil });
    await store.admission.admit(windowStart(START), [at('1', START + 1_000), at('2', START + 2_000)]);
    await store.admission.prune(START + 61_000);
    expect(await left()).toEqual(['1', '2', 1]);
    await store.admission.prune(START + 61_001);
    expect(await left()).toEqual(['2', 1]);
    await store.admission.prune(START + 180_000);
    expect(await left()).toEqual([0]);
  });

  it('prunes more than one batch in one call', async () => {
    const [store] = stores;
    await store.db.raw(
      `insert into nonces (chain, agent, nonce, expires_at) select 'base', 'many', n::text, 1 from generate_series(1, 12000) n`,
    );
    await Promise.all(stores.map(({ admission }) => admission.prune(START)));
    expect(await store.db('nonces').where({ agent: 'many' })).toEqual([]);
  });
});
