import fc from 'fast-check';
import { createStore, type KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import { aggregate, MINUTE_MS } from '../../../../core/domain/candle.js';
import type { MinuteCandle } from '../../../../core/ports/stores/candles.js';
import { createTestDatabase, type TestDatabase } from '../../../harness/database/test-database.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';

let database: TestDatabase;
let store: KnexStore | undefined;
let other: KnexStore | undefined;
const log = createRecordedLog();

beforeAll(async () => {
  database = await createTestDatabase();
  store = createStore({ log, url: database.url });
  other = createStore({ log, url: database.url });
});
afterAll(async () => {
  await store?.close();
  await other?.close();
  await database.drop();
});
beforeEach(async () => {
  await store?.db('candles').del();
});

const DAY = Date.UTC(2026, 0, 6);

interface Tick {
  readonly at: number;
  readonly price: bigint;
}

/** What a recorder stores for the ticks it received. */
function minutesOf(pairIndex: number, ticks: readonly Tick[]): MinuteCandle[] {
  const minutes = new Map<number, MinuteCandle>();
  for (const { at, price } of [...ticks].sort((a, b) => a.at - b.at)) {
    const time = at - (at % MINUTE_MS);
    const known = minutes.get(time) ?? { pairIndex, time, open: price, high: price, low: price, close: price, openAt: at, closeAt: at };
    const [high, low] = [price > known.high ? price : known.high, price < known.low ? price : known.low];
    minutes.set(time, { ...known, high, low, close: price, closeAt: at });
  }
  return [...minutes.values()];
}

const read = async (pairIndex: number, sizeMs = MINUTE_MS) =>
  (await store?.candles.read({ chain: 'base', pairIndex, from: DAY, to: DAY + 86_400_000, sizeMs })) ?? [];
const plain = (candles: readonly { time: number; open: bigint; high: bigint; low: bigint; close: bigint }[]) =>
  candles.map(({ time, open, high, low, close }) => ({ time, open, high, low, close }));

const ticks: fc.Arbitrary<Tick[]> = fc.uniqueArray(
  fc.record({ at: fc.integer({ min: 0, max: 10 * MINUTE_MS }).map((ms) => DAY + ms), price: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }) }),
  { selector: ({ at }) => at, minLength: 1, maxLength: 40 },
);

describe('minutes written by several gateways', () => {
  it('are as if one gateway had received every tick, in any order and however often they are written', async () => {
    let pair = 0;
    await fc.assert(
      fc.asyncProperty(ticks, fc.array(fc.nat(2), { minLength: 40, maxLength: 40 }), fc.boolean(), async (all, receivers, reverse) => {
        pair += 1;
        const [first, second] = [0, 1].map((who) => all.filter((_, at) => receivers[at] === who || receivers[at] === 2));
        const writes = [minutesOf(pair, first ?? []), minutesOf(pair, second ?? []), minutesOf(pair, first ?? [])];
        for (const batch of reverse ? writes.reverse() : writes) await store?.candles.merge('base', batch);
        expect(plain(await read(pair))).toEqual(plain(minutesOf(pair, all)));
      }),
      { numRuns: 60 },
    );
  });

  it('neither lose nor deadlock when they are written at the same time', async () => {
    const everything = Array.from({ length: 300 }, (_, pairIndex) =>
      minutesOf(pairIndex, [
        { at: DAY + 1_000, price: BigInt(pairIndex + 10) },
        { at: DAY + 2_000, price: BigInt(pairIndex + 5) },
      ]),
    ).flat();
    const late = everything.map((minute) => ({
      ...minute,
      high: minute.high + 100n,
      close: minute.high + 100n,
      openAt: DAY + 1_500,
      closeAt: DAY + 3_000,
    }));
    await Promise.all(
      Array.from({ length: 6 }, async (_, turn) =>
        (turn % 2 === 0 ? store : other)?.candles.merge('base', turn < 3 ? everything : [...late].reverse()),
      ),
    );
    for (const pairIndex of [0, 150, 299]) {
      const price = BigInt(pairIndex);
      expect(plain(await read(pairIndex))).toEqual([
        { time: DAY, open: price + 10n, high: price + 110n, low: price + 5n, close: price + 110n },
      ]);
    }
  });

  it('are kept apart by chain', async () => {
    await store?.candles.merge('base', minutesOf(1, [{ at: DAY, price: 5n }]));
    await store?.candles.merge('polygon', minutesOf(1, [{ at: DAY, price: 7n }]));
    expect((await read(1)).map(({ open }) => open)).toEqual([5n]);
  });
});

describe('stored minutes', () => {
  it('are read as candles of any length, with the number of minutes in them and gaps left open', async () => {
    const list = minutesOf(
      3,
      [0, 1, 4, 5, 31, 61].map((minute) => ({ at: DAY + minute * MINUTE_MS, price: BigInt(minute + 1) })),
    );
    await store?.candles.merge('base', list);
    for (const sizeMs of [1, 5, 15, 30, 60, 240, 1440].map((size) => size * MINUTE_MS))
      expect(plain(await read(3, sizeMs))).toEqual(aggregate(plain(list), sizeMs));
    expect((await read(3, 5 * MINUTE_MS)).map(({ minutes }) => minutes)).toEqual([3, 1, 1, 1]);
  });

  it('are deleted when they are old', async () => {
    await store?.candles.merge(
      'base',
      minutesOf(4, [
        { at: DAY, price: 1n },
        { at: DAY + MINUTE_MS, price: 2n },
      ]),
    );
    await store?.candles.prune('base', DAY + MINUTE_MS);
    expect((await read(4)).map(({ open }) => open)).toEqual([2n]);
  });
});
