import type { DiamondLog, DiamondLogArgs, RawLog } from '../../../core/domain/diamond-log.js';
import { interpretLogs } from '../../../core/domain/interpret-logs.js';
import { mayHoldOutcome } from '../../../core/domain/unaccounted.js';

const TRADER = '0x00000000000000000000000000000000000000aa';
const OTHER = '0x00000000000000000000000000000000000000bb';
const trade = {
  user: TRADER,
  index: 5,
  pairIndex: 0,
  leverage: 10_000,
  long: true,
  collateralIndex: 3,
  collateralAmount: 100n,
  openPrice: 7n,
  tp: 0n,
  sl: 0n,
};
const stored = (tradeType: number, index: number) => ({
  user: TRADER,
  index,
  trade: { ...trade, index, tradeType },
  tradeInfo: { maxSlippageP: 1_000 },
});
const orderId = { user: TRADER, index: 9 } as const;

type Given = readonly [DiamondLog['name'], object];
const place = (logIndex: number) => ({ txHash: '0x01', blockHash: '0x02', blockNumber: 7n, logIndex, at: 9 });
const logsOf = (given: readonly Given[]): DiamondLog[] =>
  given.map(([name, args], at) => ({ name, args: args as DiamondLogArgs[typeof name], place: place(at) }) as DiamondLog);

const eventsOf = (given: readonly Given[], isUnread = true) =>
  interpretLogs({ logs: logsOf(given), tradeOf: () => null, precisionOf: () => null, isUnread });

const INCREASED = { orderId, trader: TRADER, index: 5n, collateralIndex: 3, cancelReason: 0, oraclePrice: 1n, collateralDelta: 1n };
const values = { positionSizeCollateralDelta: 1n, priceImpact: { positionSizeToken: 1n, priceAfterImpact: 1n } };
const increase: Given = ['PositionSizeIncreaseExecuted', { ...INCREASED, collateralPriceUsd: 1n, values }];
const closed: Given = ['PendingOrderClosed', { orderId }];

describe('what a transaction did, where one of its logs has another topic', () => {
  it('is unknown for a change whose figures are missing, though the contract says that it was executed', () => {
    expect(eventsOf([increase, closed])).toEqual([
      { kind: 'unexplained', trader: TRADER, orderKey: 'request:9', tradeIndex: null, place: place(0) },
    ]);
  });

  it('is unknown for a resting order whose slot was closed', () => {
    expect(
      eventsOf([
        ['TradeClosed', { user: TRADER, index: 5 }],
        ['TradeStored', stored(0, 6)],
      ]),
    ).toMatchObject([{ kind: 'unexplained', trader: TRADER, orderKey: 'resting:5' }]);
  });

  it.each<[string, Given]>([
    ['canceled', ['OpenLimitCanceled', { trader: TRADER, index: 5, pairIndex: 0 }]],
    ['executed', ['LimitExecuted', { orderId, user: TRADER, index: 6, limitIndex: 5, orderType: 2, t: trade, amountSentToTrader: 0n }]],
  ])('is known for a resting order that was %s', (_what, outcome) => {
    const events = eventsOf([['TradeClosed', { user: TRADER, index: 5 }], outcome]);
    expect(events.map(({ kind, orderKey }) => [kind, orderKey])).toEqual([[expect.stringMatching(/withdrawn|executed/), 'resting:5']]);
  });

  it('is a resting order, if only `OpenOrderPlaced` is missing', () => {
    expect(eventsOf([['TradeStored', stored(1, 5)]])).toMatchObject([{ kind: 'rested', type: 'limit', orderKey: 'resting:5' }]);
  });

  it('is a request, if only `PendingOrderStored` is missing', () => {
    const pendingOrder = { trade: { ...trade, tradeType: 0 }, user: TRADER, index: 9, orderType: 0, maxSlippageP: 1_000 };
    const asked: Given = ['PriceRequested', { collateralIndex: 3, pairIndex: 0n, pendingOrder, positionSizeCollateral: 1n }];
    const request = { kind: 'requested', action: 'open', orderKey: 'request:9' };
    expect(eventsOf([asked])).toMatchObject([request]);
    expect(eventsOf([['PendingOrderStored', { pendingOrder }], asked])).toMatchObject([{ ...request, place: place(0) }]);
  });

  it('is nothing for a request that was closed among known logs', () => {
    expect(eventsOf([closed], false)).toMatchObject([{ kind: 'refused', reason: 'NO_TRADE', orderKey: 'request:9' }]);
  });
});

describe('a log that cannot be read', () => {
  const unknown = (data: string): RawLog => ({ logIndex: 3, topics: ['0x0f'], data: `0x${data}` });
  const named = (trader: string) => unknown(trader.slice(2).padStart(64, '0'));
  it.each<[boolean, string, readonly Given[], RawLog]>([
    [true, 'that names the trader of a request without an outcome', [closed], named(TRADER)],
    [true, 'that names the trader in capitals', [closed], named(`0x${TRADER.slice(2).toUpperCase()}`)],
    [false, 'that names another trader', [closed], named(OTHER)],
    [false, 'that names none', [closed], unknown('')],
    [true, 'beside an executed change without its figures', [increase, closed], unknown('')],
    [false, 'beside logs that leave nothing open', [['TradeTpUpdated', { user: TRADER, index: 5, newTp: 1n }]], named(TRADER)],
  ])('holds an outcome (%s) %s', (expected, _what, given, raw) => {
    expect(mayHoldOutcome({ logs: logsOf(given), unreadable: [raw] })).toBe(expected);
  });
});
