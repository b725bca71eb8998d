import fc from 'fast-check';
import { createConfigState } from '../../../../core/adapters/backend/config-state.js';
import { createPriceBook, readPriceFrame } from '../../../../core/adapters/backend/price-book.js';
import { EVENT_NAMES } from '../../../../core/adapters/backend/wire-shape.js';
import { until } from '../../../harness/time/eventually.js';
import { createRig } from './harness.js';
import { tradingVariables, type Wire } from './wire-fixtures.js';

const NOW = Date.UTC(2026, 0, 6, 15, 1);
const pairIndex = fc.integer({ min: 0, max: 65_535 });
const cents = fc.integer({ min: 1, max: 10 ** 11 });
const ticks = fc.uniqueArray(fc.tuple(pairIndex, cents), { selector: ([pair]) => pair, minLength: 1, maxLength: 40 });
const flat = (list: readonly (readonly [number, number])[]): number[] => list.flatMap(([pair, price]) => [pair, price / 100]);
const expected = (list: readonly (readonly [number, number])[]) =>
  list.map(([pair, price]) => ({ pairIndex: pair, price: BigInt(price) * 10n ** 8n }));
/** As it crosses the wire. */
const sent = (frame: unknown): unknown => JSON.parse(JSON.stringify(frame));

describe('every version of a price frame', () => {
  it('v3: a flat array is marks', () => {
    fc.assert(
      fc.property(ticks, (list) => {
        expect(readPriceFrame(sent(flat(list)))).toEqual({ kind: 'v3', marks: expected(list), indexes: [], sentAt: null, dropped: 0 });
      }),
    );
  });

  it('v4: marks and indices apart, either may be missing, whatever else is in the frame', () => {
    fc.assert(
      fc.property(fc.option(ticks), fc.option(ticks), fc.integer({ min: 1 }), (m, i, t) => {
        fc.pre(m !== null || i !== null);
        const frame = { ...(m && { m: flat(m) }), ...(i && { i: flat(i) }), t, v: 5, s: 'x' };
        expect(readPriceFrame(sent(frame))).toEqual({
          kind: 'v4',
          marks: expected(m ?? []),
          indexes: expected(i ?? []),
          sentAt: t,
          dropped: 0,
        });
      }),
    );
  });

  it('a heartbeat moves no price', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 48 }), (at) => {
        const book = createPriceBook();
        book.apply(readPriceFrame([0, 60_000]), NOW);
        expect(book.apply(readPriceFrame(sent([at])), NOW + 1)).toEqual([]);
        expect(book.get(0)).toMatchObject({ mark: 60_000n * 10n ** 10n, heardAt: NOW });
      }),
    );
  });

  it('all of them in any order on one connection leave each pair at its latest price', () => {
    const step = fc.tuple(
      fc.constantFrom('v3', 'v4', 'heartbeat'),
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 100_000, max: 110_000 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const [book, last] = [createPriceBook(), new Map<number, bigint>()];
        for (const [at, [kind, pair, price]] of steps.entries()) {
          const frame = {
            v3: [pair, price / 100],
            v4: { m: [pair, price / 100], i: [pair, price / 100], t: NOW + at },
            heartbeat: [NOW + at],
          }[kind];
          book.apply(readPriceFrame(sent(frame)), NOW + at);
          if (kind !== 'heartbeat') last.set(pair, BigInt(price) * 10n ** 8n);
        }
        expect(new Map([...book.quotes].map(([pair, { mark }]) => [pair, mark]))).toEqual(last);
      }),
    );
  });

  it('anything else is no frame, or its bad parts are dropped', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), fc.array(fc.anything()), fc.record({ m: fc.anything(), i: fc.anything(), t: fc.anything() })),
        (frame) => {
          const { marks, indexes } = readPriceFrame(frame);
          for (const { pairIndex: pair, price } of [...marks, ...indexes]) {
            expect(pair >= 0 && pair < 65_536 && Number.isInteger(pair)).toBe(true);
            expect(price > 0n && price < 2n ** 64n).toBe(true);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

const TRADE = {
  trade: { user: '0x1', index: '0', pairIndex: '0', leverage: '10000', long: true, isOpen: true, collateralIndex: '3' },
  tradeInfo: { createdBlock: '1' },
};
/** One of each, as the protocol writes them; indices are texts. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  currentL1Block: -1,
  registerTrade: TRADE,
  updateTrade: { tradeInfo: {} },
  unregisterTrade: { user: '0x1', index: '0' },
  openTrades: [TRADE],
  liveEvent: { event: 'MarketExecuted', returnValues: [['0x1', '1'], '0x2'] },
  liveEvents: [{ event: 'MarketOrderInitiated', returnValues: [] }],
  unconfirmedEvent: { event: 'LimitExecuted', returnValues: {} },
  event: { event: 'LimitExecuted', returnValues: {} },
  openInterestGroupUpdated: { collateralIndex: '3', groupIndex: '0', groupBorrowingFees: { oiLong: '1', oiShort: '2' } },
  accBorrowingFeesPairUpdated: {
    collateralIndex: '3',
    pairIndex: '0',
    pairBorrowingFees: { accFeeLong: '1', accFeeShort: '1', accLastUpdatedBlock: '5' },
  },
  accBorrowingFeesGroupUpdated: {
    collateralIndex: '3',
    groupIndex: '0',
    groupBorrowingFees: { accFeeLong: '1', accFeeShort: '1', accLastUpdatedBlock: '5' },
  },
  borrowingPairFeePerBlockCapUpdated: { collateralIndex: '3', pairIndex: '0', borrowingFeePerBlockCap: { minP: '1', maxP: '2' } },
  collateralBalances: {},
  feeTiersTraderInfoUpdated: {},
};

describe('every event of the chain stream', () => {
  const loaded = () => {
    const state = createConfigState(() => true);
    state.replace(tradingVariables(), NOW);
    return state;
  };
  const USED = ['tradingVariables', 'currentBlock', 'new-trade-history', 'openInterestPairUpdated', 'oiWindowUpdated', 'deepReorg'];
  const MORE = ['pendingAccFundingFeesStored', 'pendingAccBorrowingFeesStored', 'updateLeverage', 'updatePositionSize'];

  it('is either used or passed over, and none is forgotten here', () => {
    expect([...Object.keys(SAMPLES), ...USED, ...MORE].sort()).toEqual([...EVENT_NAMES].sort());
  });

  it.each([...Object.entries(SAMPLES), ['somethingOfTomorrow', { a: [1] }]] as const)('%s is passed over', (name, value) => {
    const state = loaded();
    const before = state.config();
    expect(state.event(name, value)).toBe('ignored');
    expect(state.config()).toBe(before);
  });

  it.each(['updateLeverage', 'updatePositionSize', 'deepReorg'])('%s is a hint to ask for all of it', (name) => {
    expect(loaded().event(name, { anything: true })).toBe('refetch');
  });

  it('with a value of any shape whatever never breaks the state at hand', () => {
    const state = loaded();
    fc.assert(
      fc.property(fc.constantFrom(...EVENT_NAMES), fc.anything(), (name, value) => {
        state.event(name, value);
        expect(state.config()?.pairs).toHaveLength(7);
      }),
      { numRuns: 500 },
    );
  });

  it('of a partial set of variables changes what it has, whichever keys they are', () => {
    const full = tradingVariables({ slots: 9, known: 4, lastRefreshed: NOW });
    const keys = Object.keys(full);
    fc.assert(
      fc.property(fc.subarray(keys), (some) => {
        const state = loaded();
        const frame = Object.fromEntries(some.map((key) => [key, full[key]]));
        state.merge({ ...frame, keyOfTomorrow: 5 }, NOW);
        const merged = createConfigState(() => true);
        merged.replace({ ...tradingVariables(), ...frame, lastRefreshed: new Date(NOW).toISOString() }, NOW);
        expect({ ...state.config(), refreshedAt: 0 }).toEqual({ ...merged.config(), refreshedAt: 0 });
      }),
      { numRuns: 20 },
    );
  });

  it('of columns of any length never moves a pair to another index', () => {
    const length = fc.integer({ min: 0, max: 12 });
    fc.assert(
      fc.property(length, length, length, (leverages, ois, depths) => {
        const [wide, cut] = [
          tradingVariables({ slots: 9, known: 9 }),
          <Value>(list: unknown, to: number) => (list as Value[]).slice(0, to),
        ];
        const infos = wide['pairInfos'] as Wire;
        const state = createConfigState(() => true);
        state.replace(
          {
            ...wide,
            pairInfos: {
              ...infos,
              maxLeverages: Array.from({ length: leverages }, (_, at) => at * 1000),
              pairDepthBands: cut(infos['pairDepthBands'], depths),
            },
            collaterals: (wide['collaterals'] as Wire[]).map((one) => ({ ...one, pairOis: cut(one['pairOis'], ois) })),
          },
          NOW,
        );
        const { pairs, collaterals } = state.config() ?? { pairs: [], collaterals: [] };
        for (const pair of pairs) {
          if (pair === null) continue;
          expect(pair.from).toBe(`P${pair.index}`);
          expect(pair.customMaxLeverage).toBe(pair.index < leverages ? BigInt(pair.index) * 1000n : 0n);
          expect(pair.depth.above.totalUsd).toBe(pair.index < depths ? 10_000_000n : 0n);
        }
        for (const { pairs: known } of collaterals) expect(known).toHaveLength(Math.min(ois, 9));
      }),
      { numRuns: 40 },
    );
  });
});

describe('a backend whose cache has stopped', () => {
  it('answers, but its data counts as old as its timestamp', async () => {
    const start = { at: 0 };
    const rig = await createRig((now) => tradingVariables({ lastRefreshed: (start.at ||= now) }));
    try {
      await rig.feed.start();
      expect(rig.feed.status()).toMatchObject({ configFrom: 'backend', parts: { config: { state: 'ok' } } });
      await rig.clock.pass(122_000, 1_000);
      const asked = () => rig.upstream.requests.filter((path) => path.startsWith('/trading-variables')).length;
      await until(() => asked() >= 3 && rig.upstream.inFlight.now === 0);
      expect(rig.feed.status()).toMatchObject({ configFrom: null, parts: { config: { state: 'stale' } } });
      expect(rig.feed.status().parts.config.ageMs).toBeGreaterThanOrEqual(122_000);
      expect(rig.feed.status().parts.config.lastError).toBeUndefined();
    } finally {
      await rig.stop();
    }
  });
});
