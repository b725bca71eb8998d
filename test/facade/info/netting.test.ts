import fc from 'fast-check';
import { decimal, floorToLot, formatDecimal } from '../../../core/domain/decimal.js';
import type { ValuedTrade } from '../../../facade/info/account-state.js';
import { netPositions } from '../../../facade/info/clearinghouse.js';
import { formatTick, formatExact, withPoint } from '../../../facade/format.js';
import { unitsFor, type Asset } from '../../../facade/universe.js';

const E18 = 10n ** 18n;
const E10 = 10n ** 10n;
const ASSET: Asset = {
  id: 0,
  coin: 'BTC',
  pair: null,
  symbol: 'BTC/USD',
  szDecimals: 5,
  multiplier: 1n,
  maxLeverage: 150,
  isDelisted: false,
};

const trade = (changes: Partial<ValuedTrade> = {}): ValuedTrade => ({
  tradeIndex: 0,
  pairIndex: 0,
  long: true,
  base: E18,
  entry: 60_000n * E10,
  mark: 61_000n * E10,
  collateralUsd: 6_000n * E18,
  notionalUsd: 60_000n * E18,
  pnlUsd: 1_000n * E18,
  fundingUsd: 0n,
  realizedUsd: 0n,
  liquidation: 55_000n * E10,
  ...changes,
});
const net = (trades: readonly ValuedTrade[]) => netPositions([ASSET], trades, new Map())[0];

const anyTrade: fc.Arbitrary<ValuedTrade> = fc
  .record({
    long: fc.boolean(),
    base: fc.bigInt(1n, 100n * E18),
    entry: fc.bigInt(50_000n * E10, 70_000n * E10),
    mark: fc.bigInt(59_000n * E10, 61_000n * E10),
    collateralUsd: fc.bigInt(E18, 100_000n * E18),
    pnlUsd: fc.bigInt(-1_000n * E18, 1_000n * E18),
    liquidation: fc.bigInt(1n, 90_000n * E10),
  })
  .map((changes) => trade(changes));

describe('netting', () => {
  it('leaves no row where the trades of a market cancel each other out', () => {
    expect(net([trade(), trade({ long: false, pnlUsd: -1_000n * E18 })])).toBeUndefined();
    expect(net([])).toBeUndefined();
  });

  it('shows less than a lot as one lot, so that it can be closed', () => {
    expect(net([trade(), trade({ long: false, base: E18 - 7n * 10n ** 9n })])?.szi).toBe(10n ** 13n);
    expect(floorToLot(-3n * 10n ** 8n, 10n ** 13n)).toBe(-(10n ** 13n));
    expect(floorToLot(-3n, 10n ** 13n)).toBe(0n);
  });

  it('values each trade at the mark of its own collateral, whichever comes first', () => {
    const trades = [trade({ mark: 61_000n * E10 }), trade({ base: 3n * E18, mark: 61_400n * E10 })];
    expect(net(trades)?.valueUsd).toBe(4n * 61_300n * E18);
    expect(net(trades)).toEqual(net([...trades].reverse()));
  });

  it('takes the liquidation that comes first on the side that is left', () => {
    const trades = [trade(), trade({ liquidation: 57_000n * E10 }), trade({ long: false, base: E18 / 2n, liquidation: 90_000n * E10 })];
    expect(net(trades)?.liquidation).toBe(57_000n * E10);
    const shorts = [trade({ long: false, liquidation: 65_000n * E10 }), trade({ long: false, liquidation: 63_000n * E10 })];
    expect(net(shorts)?.liquidation).toBe(63_000n * E10);
    expect(net([trade({ liquidation: 0n })])?.liquidation).toBeNull();
  });

  it('adds up for an isolated position as the venue it imitates adds up', () => {
    // As the venue answered it once: raw -95.059824 and a value of 100.02765 make a margin of 4.967826.
    const position = netPositions(
      [ASSET],
      [
        trade({
          base: E18 / 1_000n,
          entry: 1_000_598_240_000_000n,
          mark: 1_000_276_500_000_000n,
          collateralUsd: 5n * E18,
          pnlUsd: -32_174_000_000_000_000n,
        }),
      ],
      new Map([[0, { leverage: 5, isCross: false }]]),
    )[0];
    expect(position?.rawUsd).toBe(-95_059_824_000_000_000_000n);
    expect(position?.valueUsd).toBe(100_027_650_000_000_000_000n);
    expect(position?.marginUsd).toBe(4_967_826_000_000_000_000n);
  });

  it('does not depend on the order of the trades, and its size never exceeds their sum', () =>
    fc.assert(
      fc.property(fc.array(anyTrade, { minLength: 1, maxLength: 8 }), (trades) => {
        const [there, back] = [net(trades), net([...trades].reverse())];
        expect(there).toEqual(back);
        const exact = trades.reduce((sum, { long, base }) => sum + (long ? base : -base), 0n);
        // What divisions leave behind, below ten decimals, is no position.
        const isNoise = exact < 10n ** 8n && exact > -(10n ** 8n);
        if (!there) return expect(isNoise).toBe(true);
        const distance = exact - there.szi;
        expect((exact < 0n ? -distance : distance) < 10n ** 13n).toBe(true);
        expect(there.szi < 0n).toBe(exact < 0n);
        const entries = trades.filter(({ long }) => long === exact > 0n).map(({ entry }) => entry);
        expect(entries.some((entry) => entry <= there.entry) && entries.some((entry) => entry >= there.entry)).toBe(true);
        expect(there.pnlUsd).toBe(trades.reduce((sum, { pnlUsd }) => sum + pnlUsd, 0n));
      }),
    ));
});

describe('numbers on the wire', () => {
  it.each([
    [60_000n * E10, 5, '60000.0'],
    [612_345_678_901_234n, 5, '61235.0'],
    [30_012_600_000_000n, 4, '3001.3'],
    [10_800_000_000n, 1, '1.0800'],
    [1_513_200_000_000n, 3, '151.32'],
    [84_500_000n, 0, '0.008450'],
    [1_234_567n * E10, 0, '1234567.0'],
    [0n, 0, '0.0'],
  ])('a price of %p on the tick of %p size decimals is %p', (price, szDecimals, text) =>
    expect(formatTick(price, szDecimals, 'half-up')).toBe(text),
  );

  it('always show a point, and never an exponent', () =>
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.integer({ min: 0, max: 18 }), (units, scale) => {
        const text = withPoint(decimal(units, scale));
        expect(text).toMatch(/^-?(?:0|[1-9]\d*)\.\d+$/);
        expect(Number(text)).toBeCloseTo(Number(formatDecimal(decimal(units, scale))), 5);
      }),
    ));

  it('of a price on the tick parse back to a price that the tick rule takes', () =>
    fc.assert(
      fc.property(fc.bigInt(1n, 10n ** 17n), (price) => {
        const { szDecimals, multiplier } = unitsFor(price);
        const text = formatTick(price * BigInt(multiplier), szDecimals, 'half-up');
        const digits = text.replace('.', '').replace(/^0+/, '').replace(/0+$/, '');
        const [whole = '', part = ''] = text.split('.');
        expect(part.replace(/0+$/, '').length).toBeLessThanOrEqual(6 - szDecimals);
        expect(digits.length <= 5 || /^0*$/.test(part)).toBe(true);
        expect(whole.length).toBeGreaterThan(0);
      }),
    ));

  it.each([
    [60_000n * E10, 5, 1],
    [3_000n * E10, 4, 1],
    [10_842_000_000n, 1, 1],
    [1_513_200_000_000n, 3, 1],
    [8_000_000_000n, 0, 1],
    [84_500n, 0, 1000],
    [100_000_000n, 0, 1],
    [99_999_999n, 1, 1000],
  ])('a market first priced at %p is counted with %p size decimals in units of %p', (price, szDecimals, multiplier) =>
    expect(unitsFor(price)).toEqual({ szDecimals, multiplier }),
  );

  it('of an executed price keep what was executed', () => expect(formatExact(600_120_487_492_199n)).toBe('60012.04874922'));
});
