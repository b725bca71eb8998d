import { createConfigState } from '../../../../core/adapters/backend/config-state.js';
import { ShapeError } from '../../../../core/adapters/backend/wire.js';
import { collateral, tradingVariables, type Wire } from './wire-fixtures.js';

const NOW = Date.UTC(2026, 0, 6, 15, 1);
const loaded = (snapshot: Wire = tradingVariables()) => {
  const state = createConfigState(() => false);
  state.replace(snapshot, NOW);
  return state;
};
/** Loaded, with how often something was read in it. */
function counted(snapshot: Wire) {
  let reads = 0;
  const handler: ProxyHandler<object> = {
    get(target, key) {
      reads += 1;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'object' && value !== null ? new Proxy(value, handler) : value;
    },
  };
  return { state: loaded(new Proxy(snapshot, handler) as Wire), reads };
}
const without = (...keys: readonly string[]): Wire =>
  Object.fromEntries(Object.entries(tradingVariables()).filter(([key]) => !keys.includes(key)));
const configOf = (state: ReturnType<typeof loaded>) => {
  const config = state.config();
  if (!config) throw new Error('no configuration');
  return config;
};

describe('a snapshot of the trading variables', () => {
  it('keeps every market at its index, with the blank slot in the middle as null', () => {
    const { pairs } = configOf(loaded());
    expect(pairs.map((pair) => pair?.from ?? null)).toEqual(['P0', 'P1', null, 'P3', 'P4', 'P5', 'P6']);
    expect(pairs.map((pair) => pair?.index ?? null)).toEqual([0, 1, null, 3, 4, 5, 6]);
  });

  it('reads a column that is too short as unset, not as its neighbour', () => {
    const snapshot = tradingVariables();
    (snapshot['pairInfos'] as Wire)['maxLeverages'] = [0, 4000];
    const { pairs, collaterals } = configOf(loaded(snapshot));
    expect(pairs.map((pair) => pair?.customMaxLeverage ?? null)).toEqual([0n, 4000n, null, 0n, 0n, 0n, 0n]);
    expect(collaterals.map(({ pairs: known }) => [known.length, known[6] ?? null])).toEqual([
      [6, null],
      [6, null],
      [6, null],
    ]);
  });

  it('keeps the units of the contract', () => {
    const config = configOf(loaded());
    expect(config.pairs[0]).toMatchObject({
      spreadP: 400000000n,
      groupIndex: 0,
      depth: { above: { totalUsd: 10000000n }, below: { totalUsd: 9000000n } },
      liquidation: { startLiqThresholdP: 900000000000n },
      windows: [{ id: 40n, oiLongUsd: 7n, oiShortUsd: 8n }],
    });
    expect(config.collaterals[2]).toMatchObject({ index: 3, symbol: 'USDC', decimals: 6, priceUsd: 99996100n });
    expect(config.collaterals[0]?.pairs[0]).toMatchObject({
      maxOi: 10n ** 17n,
      funding: { accFundingFeeLongP: -5n, lastFundingRatePerSecondP: -17n },
      borrowing: { borrowingRatePerSecondP: 2777n, accBorrowingFeeP: 9n },
    });
    expect(config.bandOffsets[0]).toBe(500n);
    expect(config).toMatchObject({ tradingState: 'active', marketOrdersTimeoutBlocks: 200, negPnlCumulVolMultiplier: 10n ** 10n });
  });

  it('takes integers as numbers and as strings alike', () => {
    const snapshot = tradingVariables();
    const asNumbers = JSON.parse(JSON.stringify(snapshot), (_, value: unknown) =>
      typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value,
    ) as Wire;
    expect(configOf(loaded(asNumbers))).toEqual(configOf(loaded(snapshot)));
  });

  it('takes the raw isActive of a collateral', () => {
    const inactive = collateral(3, 6, { isActive: false });
    expect(configOf(loaded({ ...tradingVariables(), collaterals: [inactive] })).collaterals[0]?.isActive).toBe(false);
  });

  it.each([
    ['pairs', 1, { from: 'P1', to: 'USD', spreadP: 'x', groupIndex: '1', feeIndex: '0' }],
    ['pairs', 1, 'garbage'],
    ['pairs', 1, { from: 'P1', to: 'USD', spreadP: '1', groupIndex: '99', feeIndex: '0' }],
    ['groups', 1, null],
    ['oiWindows', 1, 5],
    ['counterTradeSettings', 1, { maxLeverage: -1, feeRateMultiplier: 1 }],
  ])('loses one market, and no other, to a bad element of %s', (key, at, bad) => {
    const snapshot = tradingVariables();
    (snapshot[key] as unknown[])[at] = bad;
    const { pairs } = configOf(loaded(snapshot));
    const lost = pairs.flatMap((pair, index) => (pair === null && index !== 2 ? [index] : []));
    expect(lost).toEqual(key === 'groups' ? [1, 6] : [1]);
  });

  it('counts what it could not read', () => {
    const snapshot = tradingVariables();
    (snapshot['pairs'] as unknown[])[1] = 'garbage';
    ((snapshot['pairInfos'] as Wire)['pairDepthBands'] as unknown[])[3] = {
      aboveSlot1: (2n ** 256n).toString(),
      aboveSlot2: '0',
      belowSlot1: '0',
      belowSlot2: '0',
    };
    const problems = createConfigState(() => false).replace(snapshot, NOW);
    expect(problems).toMatchObject({ count: 2, places: ['pairs[1]', 'pairDepthBands[3]'] });
  });

  it('of production size is read without holding up the process: twice as much takes twice as many reads', () => {
    const [usual, double] = [
      tradingVariables({ slots: 377, known: 223, collaterals: 4 }),
      tradingVariables({ slots: 754, known: 446, collaterals: 4 }),
    ];
    expect(JSON.stringify(usual).length).toBeGreaterThan(1_250_000);
    const { state, reads } = counted(usual);
    expect(configOf(state).pairs).toHaveLength(377);
    expect(counted(double).reads).toBeLessThanOrEqual(2 * reads);
  });

  it.each([
    ['null', null],
    ['an array', []],
    ['text', 'x'],
    ['nothing in it', {}],
    ['no pairs', { ...tradingVariables(), pairs: undefined }],
    ['pairs that are no list', { ...tradingVariables(), pairs: {} }],
    ['a hundred thousand pairs', { ...tradingVariables(), pairs: Array.from({ length: 100_000 }, () => null) }],
    ['an unknown trading state', { ...tradingVariables(), tradingState: 7 }],
    ['windows of no length', { ...tradingVariables(), oiWindowsSettings: { startTs: 0, windowsDuration: 0, windowsCount: 4 } }],
    ['a flag that is no flag', { ...tradingVariables(), isForexOpen: 'yes' }],
    ['collaterals that are no list', { ...tradingVariables(), collaterals: 'x' }],
  ])('with %s is refused and the old one stays', (_, bad) => {
    const state = loaded();
    const before = configOf(state);
    expect(() => state.replace(bad, NOW + 1)).toThrow(ShapeError);
    expect(state.config()).toBe(before);
  });

  it('that is older than the one at hand is passed over', () => {
    const state = loaded(tradingVariables({ lastRefreshed: NOW - 1000 }));
    const before = configOf(state);
    expect(state.replace(tradingVariables({ lastRefreshed: NOW - 5000, slots: 3, known: 3 }), NOW)).toBeNull();
    expect(state.config()).toBe(before);
  });

  it('is not passed over because of events that came since it was rebuilt', () => {
    const state = loaded(tradingVariables({ lastRefreshed: NOW - 5000 }));
    state.merge({ isForexOpen: false }, NOW);
    expect(state.refreshedAt()).toBe(NOW);
    expect(state.replace(tradingVariables({ lastRefreshed: NOW - 1000, slots: 3, known: 3 }), NOW + 1000)).not.toBeNull();
    expect(configOf(state).pairs).toHaveLength(3);
  });

  it('stamped in the future does not make the next one look old', () => {
    const state = loaded(tradingVariables({ lastRefreshed: NOW + 10 ** 9 }));
    expect(() => state.replace(tradingVariables({ lastRefreshed: NOW + 1000 }), NOW + 2000)).not.toThrow();
    expect(state.refreshedAt()).toBe(NOW + 1000);
  });

  it('without the newer keys reads them as the contract before them behaved', () => {
    const config = configOf(loaded(without('depthBandsMapping', 'negPnlCumulVolMultiplier')));
    expect(config.bandOffsets).toEqual(Array.from({ length: 30 }, () => 0n));
    expect(config.negPnlCumulVolMultiplier).toBe(10n ** 10n);
  });

  it('without the flags asks the calendar', () => {
    const state = createConfigState((hours) => hours === 'forex');
    state.replace({ ...without('isForexOpen'), isStocksOpen: false }, NOW);
    expect(configOf(state).openClasses).toEqual({ forex: true, stocks: false, indices: true, commodities: true });
  });
});

describe('a frame of the event stream', () => {
  it('with some of the variables changes those and leaves the others', () => {
    const state = loaded();
    const before = configOf(state);
    state.merge({ isForexOpen: false, pairInfos: { maxLeverages: [1] } }, NOW);
    const after = configOf(state);
    expect(after.openClasses).toEqual({ ...before.openClasses, forex: false });
    expect(after.pairs[0]?.customMaxLeverage).toBe(1n);
    expect(after.pairs[0]?.depth).toEqual(before.pairs[0]?.depth);
    expect(after.collaterals).toEqual(before.collaterals);
  });

  it('with all of the variables replaces all of them', () => {
    const state = loaded();
    state.merge({ ...tradingVariables({ slots: 3, known: 3, collaterals: 1 }) }, NOW);
    expect(configOf(state)).toMatchObject({ pairs: { length: 3 }, collaterals: { length: 1 } });
  });

  it('with one unreadable key changes nothing', () => {
    const state = loaded();
    const before = configOf(state);
    expect(() => state.merge({ isForexOpen: false, pairs: 5 }, NOW)).toThrow('pairs');
    expect(state.config()).toBe(before);
  });

  it('before the first snapshot is not mistaken for one', () => {
    const state = createConfigState(() => false);
    state.merge({ isForexOpen: false }, NOW);
    state.event('openInterestPairUpdated', {});
    expect(state.config()).toBeNull();
  });

  it('about open interest moves that pair in that collateral only', () => {
    const state = loaded();
    const before = configOf(state);
    const oi = {
      beforeV10: { long: '1', short: '2', max: '3' },
      collateral: { oiLongCollateral: '4', oiShortCollateral: '5' },
      token: { oiLongToken: '6', oiShortToken: '7' },
    };
    expect(state.event('openInterestPairUpdated', { collateralIndex: '3', pairIndex: '1', pairBorrowingFees: oi })).toBe('changed');
    const after = configOf(state);
    expect(after.collaterals[2]?.pairs[1]).toMatchObject({
      maxOi: 3n,
      oiBeforeV10: { long: 1n, short: 2n },
      oiCollateral: { long: 4n, short: 5n },
      oiToken: { long: 6n, short: 7n },
    });
    expect(after.collaterals[2]?.pairs[0]).toBe(before.collaterals[2]?.pairs[0]);
    expect(before.collaterals[2]?.pairs[1]?.maxOi).toBe(10n ** 17n);
  });

  it('about funding and borrowing keeps the parameters beside the new state', () => {
    const state = loaded();
    state.event('pendingAccFundingFeesStored', {
      collateralIndex: '1',
      pairIndex: '0',
      pairData: { accFundingFeeLongP: '-11', accFundingFeeShortP: '12', lastFundingRatePerSecondP: '-13', lastFundingUpdateTs: '14' },
    });
    state.event('pendingAccBorrowingFeesStored', {
      collateralIndex: '1',
      pairIndex: '0',
      pairData: { accBorrowingFeeP: '15', lastBorrowingUpdateTs: '16' },
    });
    expect(configOf(state).collaterals[0]?.pairs[0]).toMatchObject({
      funding: { accFundingFeeLongP: -11n, lastFundingRatePerSecondP: -13n, lastFundingUpdateTs: 14n },
      borrowing: { borrowingRatePerSecondP: 2777n, accBorrowingFeeP: 15n, lastBorrowingUpdateTs: 16n },
      fundingParams: { fundingFeesEnabled: true },
    });
  });

  it('about a volume window replaces that window', () => {
    const state = loaded();
    state.event('oiWindowUpdated', { pairIndex: '0', windowId: '40', newOi: { oiLongUsd: '70', oiShortUsd: '80' } });
    state.event('oiWindowUpdated', { pairIndex: '0', windowId: '41', newOi: { oiLongUsd: '1', oiShortUsd: '0' } });
    expect(configOf(state).pairs[0]?.windows).toEqual([
      { id: 40n, oiLongUsd: 70n, oiShortUsd: 80n },
      { id: 41n, oiLongUsd: 1n, oiShortUsd: 0n },
    ]);
  });

  it('about windows never keeps more than a bounded number of them', () => {
    const state = loaded();
    for (let id = 0; id < 1000; id += 1)
      state.event('oiWindowUpdated', { pairIndex: 0, windowId: id, newOi: { oiLongUsd: '1', oiShortUsd: '0' } });
    expect(configOf(state).pairs[0]?.windows).toHaveLength(64);
  });

  it.each([
    ['oiWindowUpdated', { windowId: '40', newOi: { oiLongUsd: '1', oiShortUsd: '1' } }, 'refetch'],
    ['openInterestPairUpdated', { collateralIndex: '9', pairIndex: '0', pairBorrowingFees: {} }, 'refetch'],
    ['openInterestPairUpdated', 'garbage', 'refetch'],
    ['pendingAccFundingFeesStored', { collateralIndex: '1', pairIndex: '0' }, 'refetch'],
    ['deepReorg', null, 'refetch'],
    ['collateralBalances', {}, 'ignored'],
    ['toString', {}, 'ignored'],
    ['__proto__', {}, 'ignored'],
  ])('called %s with %j is answered with %s', (name, value, outcome) => {
    expect(loaded().event(name, value)).toBe(outcome);
  });
});
