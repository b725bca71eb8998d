import fc from 'fast-check';
import type { AdmissionStore, SubjectCount } from '../../../core/ports/stores/access.js';
import { createStore, type KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { createIpLimits, MERGE_MS, type IpLimits } from '../../../core/access/limits.js';
import { createTestDatabase, type TestDatabase } from '../../harness/database/test-database.js';
import { until } from '../../harness/time/eventually.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createManualClock, type ManualClock } from '../../harness/time/manual-clock.js';

type AddCounts = (...rest: Parameters<AdmissionStore['addCounts']>) => Promise<readonly number[]>;

const START = Date.UTC(2026, 0, 6, 15);
const log = createRecordedLog();
let serial = 0;
const newAddress = (): string => `198.51.${(serial >> 8) % 256}.${(serial += 1) % 256}`;

describe('limits by address', () => {
  let database: TestDatabase;
  let store: KnexStore;
  beforeAll(async () => {
    database = await createTestDatabase();
    store = createStore({ url: database.url, log, poolSize: 4 });
  });
  afterAll(async () => {
    await store.close();
    await database.drop();
  });

  /** A replica whose merges a test can await. */
  const replica = (
    clock: ManualClock,
    limit: number,
    addCounts: AddCounts = (window, counts) => store.admission.addCounts(window, counts),
  ) => {
    const merges: number[] = [];
    const state = { settled: 0 };
    const limits = createIpLimits({
      limit,
      clock,
      log,
      store: {
        addCounts: async (window: number, counts: readonly SubjectCount[]) => {
          merges.push(counts.length);
          return addCounts(window, counts).finally(() => void (state.settled += 1));
        },
      },
    });
    const merged = async (): Promise<void> => {
      const before = state.settled;
      clock.advance(MERGE_MS);
      await until(() => state.settled > before);
      await new Promise(setImmediate);
    };
    return { ...limits, merges, merged };
  };

  const take = ({ count }: Pick<IpLimits, 'count'>, address: string, times: number): number =>
    Array.from({ length: times }, () => count(address)).filter(({ isExceeded }) => !isExceeded).length;

  it('let exactly the limit through in each minute, each address for itself', () => {
    const clock = createManualClock(START + 30_000);
    const one = replica(clock, 5);
    expect(take(one, '1.1.1.1', 9)).toBe(5);
    expect(take(one, '2.2.2.2', 9)).toBe(5);
    clock.advance(29_999);
    expect(one.count('1.1.1.1')).toEqual({ scope: 'ip', limit: 5, remaining: 0, resetSeconds: 1, isExceeded: true });
    clock.advance(1);
    expect(one.count('1.1.1.1')).toEqual({ scope: 'ip', limit: 5, remaining: 4, resetSeconds: 60, isExceeded: false });
  });

  it('count the requests of other replicas from the next merge on', async () => {
    const clock = createManualClock(START);
    const address = newAddress();
    const [one, two] = [replica(clock, 10), replica(clock, 10)];
    take(one, address, 6);
    await one.merged();
    expect(two.count(address).remaining).toBe(9);
    await two.merged();
    expect(two.count(address).remaining).toBe(2);
    expect(take(two, address, 5)).toBe(2);
    await two.merged();
    expect(take(one, address, 1)).toBe(1);
    await one.merged();
    expect(take(one, address, 5)).toBe(0);
  });

  it('write all addresses in one statement, at most ten times a second, and nothing without requests', async () => {
    const clock = createManualClock(START);
    const one = replica(clock, 10);
    for (let index = 0; index < 300; index += 1) one.count(newAddress());
    clock.advance(MERGE_MS - 1);
    expect(one.merges).toEqual([]);
    clock.advance(1);
    await until(() => clock.pending === 0);
    await clock.pass(5_000);
    expect(one.merges).toEqual([300]);
  });

  it('go on alone while the database is down, say so once, and merge what was missed', async () => {
    const clock = createManualClock(START);
    const address = newAddress();
    let isDown = true;
    const flaky = replica(clock, 10, (window, counts) =>
      isDown ? Promise.reject(new Error('down')) : store.admission.addCounts(window, counts),
    );
    const said = log.entries.length;
    expect(take(flaky, address, 4)).toBe(4);
    await flaky.merged();
    await flaky.merged();
    expect(take(flaky, address, 10)).toBe(6);
    isDown = false;
    await flaky.merged();
    expect(log.entries.slice(said).map(({ event }) => event)).toEqual(['limits.not-merged', 'limits.merged-again']);
    const other = replica(clock, 10);
    other.count(address);
    await other.merged();
    expect(other.count(address).isExceeded).toBe(true);
  });

  it('merge no more once stopped', () => {
    const clock = createManualClock(START);
    const one = replica(clock, 10);
    one.count(newAddress());
    one.stop();
    clock.advance(10 * MERGE_MS);
    one.count(newAddress());
    clock.advance(10 * MERGE_MS);
    const idle = replica(clock, 10);
    idle.stop();
    idle.count(newAddress());
    clock.advance(10 * MERGE_MS);
    expect([...one.merges, ...idle.merges]).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('are overshot by no more than what other replicas let through between two merges', async () => {
    const bursts = fc.array(fc.record({ replica: fc.nat({ max: 1 }), requests: fc.integer({ min: 1, max: 8 }) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), bursts, async (limit, steps) => {
        const clock = createManualClock(START);
        const address = newAddress();
        const replicas = [replica(clock, limit), replica(clock, limit)] as const;
        const passed: [number, number] = [0, 0];
        let largestBurst = 0;
        for (const { replica: index, requests } of steps) {
          const one = replicas[index === 0 ? 0 : 1];
          const through = take(one, address, requests);
          passed[index === 0 ? 0 : 1] += through;
          largestBurst = Math.max(largestBurst, through);
          if (through > 0) await one.merged();
        }
        expect(Math.max(...passed)).toBeLessThanOrEqual(limit);
        expect(passed[0] + passed[1]).toBeLessThanOrEqual(limit + largestBurst);
      }),
      { numRuns: 30 },
    );
  });
});
