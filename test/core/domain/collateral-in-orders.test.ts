import fc from 'fast-check';
import { collateralInOrders } from '../../../core/domain/collateral-in-orders.js';
import type { TradeStruct } from '../../../core/domain/diamond-log.js';

const [DAI, USDC] = [1, 3];
const USER = '0x00000000000000000000000000000000000000aa';

const trade = (changes: Partial<TradeStruct> = {}): TradeStruct => ({
  user: USER,
  index: 0,
  pairIndex: 0,
  leverage: 10_000,
  long: true,
  isOpen: true,
  collateralIndex: USDC,
  tradeType: 0,
  collateralAmount: 100n,
  openPrice: 1n,
  tp: 0n,
  sl: 0n,
  isCounterTrade: false,
  positionSizeToken: 0n,
  ...changes,
});
/** As the contract stores it: only an opening names its collateral. */
const request = (orderType: number, changes: Partial<TradeStruct> = {}) => ({
  orderType,
  trade: trade({ collateralIndex: orderType === 0 ? USDC : 0, ...changes }),
});
const held = (asked: Partial<Parameters<typeof collateralInOrders>[0]>): [number, bigint][] => [
  ...collateralInOrders({ resting: [], pending: [], targets: [], ...asked }),
];

describe('collateral in orders', () => {
  it('is that of resting orders and openings, by collateral', () => {
    const resting = [trade({ tradeType: 1 }), trade({ tradeType: 2, collateralIndex: DAI, collateralAmount: 7n })];
    expect(held({ resting, pending: [request(0, { collateralAmount: 30n })] })).toEqual([
      [USDC, 130n],
      [DAI, 7n],
    ]);
  });

  it.each([
    ['a size increase holds what it adds', 8, { leverage: 50_000 }, 40n],
    ['a size increase by leverage alone holds nothing', 8, { collateralAmount: 0n }, null],
    ['a lower leverage holds what it adds', 7, { leverage: 5_000 }, 40n],
    ['a higher leverage holds nothing: its collateral is still in the trade', 7, { leverage: 20_000 }, null],
    ['a close holds nothing', 1, {}, null],
    ['a partial close holds nothing', 9, {}, null],
    ['a withdrawal of profit holds nothing', 11, {}, null],
    ["a keeper's trigger holds nothing: the order it is about rests", 2, {}, null],
  ] as const)('of a request about a trade: %s', (_title, orderType, changes, amount) => {
    const pending = [request(orderType, { collateralAmount: 40n, index: 4, ...changes })];
    const targets = [trade({ index: 3, collateralIndex: USDC }), trade({ index: 4, collateralIndex: DAI })];
    expect(held({ pending, targets })).toEqual(amount === null ? [] : [[DAI, amount]]);
  });

  it('is still that of a request whose trade was closed meanwhile', () => {
    const pending = [request(8, { index: 4, collateralAmount: 40n })];
    expect(held({ pending, targets: [trade({ index: 4, isOpen: false })] })).toEqual([[USDC, 40n]]);
  });

  it('does not depend on the order of what is read, and no order changes what another one holds', () => {
    const anyRequest = fc
      .record({
        orderType: fc.constantFrom(0, 1, 7, 8, 9, 11),
        index: fc.nat(3),
        collateralAmount: fc.bigInt(0n, 1_000n),
        leverage: fc.nat(20_000),
      })
      .map(({ orderType, ...changes }) => request(orderType, changes));
    const targets = [0, 1, 2, 3].map((index) => trade({ index, collateralIndex: index % 2 === 0 ? DAI : USDC }));
    const sum = (pending: readonly ReturnType<typeof request>[]): bigint =>
      held({ pending, targets }).reduce((total, [, amount]) => total + amount, 0n);
    fc.assert(
      fc.property(fc.array(anyRequest), (pending) => {
        expect(new Map(held({ pending, targets }))).toEqual(new Map(held({ pending: pending.toReversed(), targets })));
        expect(sum(pending)).toBe(pending.reduce((total, one) => total + sum([one]), 0n));
      }),
    );
  });
});
