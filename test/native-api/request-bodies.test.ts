import { changeOf } from '../../native-api/operations/orders.js';
import type { Request } from 'express';
import type { z } from 'zod';
import type { AgentCaller } from '../../core/access/caller.js';
import type { Collateral, MarketConfig } from '../../core/domain/market.js';
import { GatewayError, type ErrorCode, type Issue } from '../../core/errors.js';
import type { Venue } from '../../core/gateway.js';
import { readChanges } from '../../core/trading/amend-order.js';
import { leverageFor } from '../../core/trading/change-leverage.js';
import { planClose, type CloseRequest } from '../../core/trading/close-position.js';
import type { PositionFigures } from '../../core/trading/find-position.js';
import { orderMarket, readOpening, type OrderChanges, type OrderRequest } from '../../core/trading/order-request.js';
import { planIncrease } from '../../core/trading/increase-position.js';
import { amountOf } from '../../core/trading/withdraw-pnl.js';
import { levelsWanted, type PositionChange } from '../../core/trading/update-position.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { decodeInput } from '../../native-api/wire/codec.js';
import { type UpdatePositionRequest } from '../../native-api/wire/orders.js';
import { goldenMarket, price, storedTrade, USDC, usdc } from '../core/domain/pricing/fixture.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import type { Json } from '../harness/traders/agent-trader.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { orderDraft } from '../harness/traders/order-draft.js';

/** What the bodies of writes are refused for, asked of the functions that decide it: the decoder of requests and the readers of figures. */

const AT = { pairIndex: 0, collateralIndex: 3 };
const TRADER = '0x0000000000000000000000000000000000000001';

const collateral: Collateral = {
  ...USDC,
  index: AT.collateralIndex,
  symbol: 'USDC',
  address: '0x0000000000000000000000000000000000000002',
  isActive: true,
  decimals: 6,
  pairs: [goldenMarket.state],
};
const { pair, group, fees, bandOffsets, oiWindows } = goldenMarket;
const config = {
  pairs: [pair],
  groups: [group],
  fees: [fees],
  collaterals: [collateral],
  bandOffsets,
  oiWindows,
} as unknown as MarketConfig;
const mark = { mark: price(60_000), index: price(60_000), oracle: price(60_000), at: 0 };
const feed = { config: () => config, session: () => 'open', price: () => mark, prices: () => new Map([[0, mark]]) };
const venue = { feed, clock: createManualClock(), referrers: { native: null } } as unknown as Venue;
const caller = { trader: TRADER, scope: EVERYTHING } as unknown as AgentCaller;

const figures = { ...storedTrade({}), ...AT, sizeToken: 0n, tradeIndex: 0, slippageP: 0n } as unknown as PositionFigures;
const { order: resting } = orderDraft('base', TRADER, {
  order: { ...AT, type: 'limit', price: price(50_000), leverage: 10_000n, collateralAmount: usdc(100) },
});

/** What the handler of an operation gets of a body. */
function decoded(id: string, body: unknown): unknown {
  const operation = OPERATIONS.find((row) => row.id === id);
  if (operation === undefined) throw new Error(`there is no ${id}`);
  const sent = { params: { id: '1' }, query: {}, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) };
  return decodeInput(operation, sent as unknown as Request).body;
}

type Refusal = readonly [status: number, code: ErrorCode, details: unknown];

/** null where nothing is refused. */
function refusalOf(read: () => unknown): Refusal | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof GatewayError) return [error.status, error.code, error.details];
    throw error;
  }
}

/** A body that is invalid in this one field. */
const invalidAt = (path: string): Refusal => [
  400,
  'VALIDATION_ERROR',
  { issues: [{ path, message: expect.any(String) as string }] as Issue[] },
];
/** A figure with more decimals than the contracts have. */
const tooExact = (field: string, maxDecimals: number, nearest: string): Refusal => [
  422,
  'PRECISION_ERROR',
  expect.objectContaining({ field, maxDecimals, nearest }),
];

describe('an order', () => {
  const read = (changes: Json) => () => {
    const body = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes };
    const request = decoded('createOrder', body) as OrderRequest;
    return readOpening(venue, orderMarket(venue, request), request);
  };

  it.each([
    {},
    { type: 'limit', price: '50000' },
    { price: '60000', slippage: '0.555', tp: '70000', sl: '55000', clientId: 'x'.repeat(64) },
  ])('takes %j', (changes) => expect(refusalOf(read(changes))).toBeNull());

  it.each([
    ['no leverage', { leverage: undefined }, 'leverage'],
    ['no price, though it is a limit', { type: 'limit' }, 'price'],
    ['no price, though it is a stop', { type: 'stop' }, 'price'],
    ['a size of nothing', { size: '0' }, 'size'],
    ['a negative size', { size: '-1' }, 'size'],
    ['a number where a text belongs', { size: 0.05 }, 'size'],
    ['an exponent', { size: '1e3' }, 'size'],
    ['a side that is neither', { side: 'buy' }, 'side'],
    ['an unknown type', { type: 'iceberg' }, 'type'],
    ['a negative stop loss', { sl: '-1' }, 'sl'],
    ['no slippage at all', { slippage: '0' }, 'slippage'],
    ['more slippage than the contracts can write', { slippage: '65.536' }, 'slippage'],
    ['a price beyond the contracts', { price: '1844674408' }, 'price'],
    ['a size beyond the contracts', { size: `1${'0'.repeat(40)}` }, 'size'],
    ['an empty clientId', { clientId: '' }, 'clientId'],
    ['a clientId that is too long', { clientId: 'x'.repeat(65) }, 'clientId'],
    ['a market that cannot be one', { market: 'BTC' }, 'market'],
    ['null where something may be absent', { price: null }, 'price'],
    ['a stop loss of something that only reduces', { reduceOnly: true, sl: '1' }, 'sl'],
  ])('with %s names the field', (_what, changes, path) => {
    expect(refusalOf(read(changes))).toEqual(invalidAt(path));
  });

  it.each([
    [{ size: '0.000000001' }, tooExact('size', 8, '0.00000001')],
    [{ leverage: '10.0004' }, tooExact('leverage', 3, '10')],
    [{ slippage: '0.5551' }, tooExact('slippage', 3, '0.555')],
    [{ price: '60000.00000000001' }, tooExact('price', 10, '60000')],
    [{ tp: '70000.12345678915' }, tooExact('tp', 10, '70000.1234567892')],
    [{ sl: '50000.00000000009' }, tooExact('sl', 10, '50000.0000000001')],
  ])('because of %j names the nearest valid value', (changes, expected) => {
    expect(refusalOf(read(changes))).toEqual(expected);
  });
});

describe('a change of a resting order', () => {
  const read = (body: Json) => () => readChanges(venue, resting, decoded('updateOrder', body) as OrderChanges);

  it.each([{}, { price: '49000', size: '0.03' }, { sl: '0', tp: '65000', slippage: '0.5' }])('takes %j', (body) =>
    expect(refusalOf(read(body))).toBeNull(),
  );

  it.each([
    ['a size with nine decimals', { size: '0.123456789' }, tooExact('size', 8, '0.12345679')],
    ['a slippage with four decimals', { slippage: '0.1234' }, tooExact('slippage', 3, '0.123')],
    ['a slippage above what the contracts hold', { slippage: '66' }, invalidAt('slippage')],
    ['a price of 0', { price: '0' }, invalidAt('price')],
    ['a negative stop loss', { sl: '-1' }, invalidAt('sl')],
    ['a price no contract can hold', { price: '9999999999' }, invalidAt('price')],
    ['a number', { price: 50000 }, invalidAt('price')],
    ['a size that no wallet can pay', { size: '10000000000000000000000000000' }, invalidAt('size')],
  ])('has not %s', (_what, body, expected) => {
    expect(refusalOf(read(body))).toEqual(expected);
  });
});

describe('a change of a position', () => {
  const read = (body: Json) => () => {
    const change: PositionChange = changeOf(decoded('updatePosition', body) as z.output<typeof UpdatePositionRequest>);
    if ('increase' in change) return planIncrease(venue, figures, change.increase);
    if ('withdrawPnl' in change) return amountOf(venue, figures, change.withdrawPnl);
    if ('collateral' in change) return leverageFor(figures, collateral, change.collateral);
    return 'leverage' in change ? change : levelsWanted(venue, figures, change);
  };

  it.each([
    { sl: '55000', tp: '70000' },
    { leverage: '5' },
    { collateral: { action: 'add', amount: '1.000001' } },
    { increase: { size: '0.00000001' } },
    { increase: { size: '0.1', leverage: '2.001', price: '1', slippage: '65.535' } },
    { withdrawPnl: {} },
    { withdrawPnl: { amount: '0.000001' } },
  ])('takes %j', (body) => expect(refusalOf(read(body))).toBeNull());

  it.each([
    ['nothing at all', {}, invalidAt('')],
    ['two things at once', { leverage: '5', tp: '70000' }, invalidAt('')],
    ['an increase and a withdrawal', { increase: { size: '1' }, withdrawPnl: {} }, invalidAt('')],
    ['an increase and a stop loss', { increase: { size: '1' }, sl: '50000' }, invalidAt('')],
    ['an increase of nothing', { increase: {} }, invalidAt('increase.size')],
    ['an increase by a number', { increase: 1 }, invalidAt('increase')],
    ['an increase of 0', { increase: { size: '0' } }, invalidAt('increase.size')],
    ['an increase with a side', { increase: { size: '1', side: 'long' } }, invalidAt('increase.side')],
    ['an increase with nine decimals', { increase: { size: '0.123456789' } }, tooExact('size', 8, '0.12345679')],
    ['an increase beyond what the contracts hold', { increase: { size: '1', slippage: '66' } }, invalidAt('slippage')],
    ['an increase that no wallet can pay', { increase: { size: '10000000000000000000000000000' } }, invalidAt('size')],
    ['an increase at a leverage with four decimals', { increase: { size: '1', leverage: '1.0001' } }, tooExact('leverage', 3, '1')],
    ['a withdrawal of null', { withdrawPnl: null }, invalidAt('withdrawPnl')],
    ['a withdrawal of 0', { withdrawPnl: { amount: '0' } }, invalidAt('withdrawPnl.amount')],
    ['a withdrawal with seven decimals', { withdrawPnl: { amount: '1.0000001' } }, tooExact('withdrawPnl.amount', 6, '1')],
    ['an unknown action', { collateral: { action: 'take', amount: '1' } }, invalidAt('collateral.action')],
    ['an amount of 0', { collateral: { action: 'add', amount: '0' } }, invalidAt('collateral.amount')],
    ['an amount with seven decimals', { collateral: { action: 'add', amount: '1.0000001' } }, tooExact('collateral.amount', 6, '1')],
    ['a leverage of 0', { leverage: '0' }, invalidAt('leverage')],
    ['a price with eleven decimals', { tp: '70000.12345678901' }, tooExact('tp', 10, '70000.123456789')],
    ['a negative stop loss', { sl: '-1' }, invalidAt('sl')],
  ])('is not %s', (_what, body, expected) => {
    expect(refusalOf(read(body))).toEqual(expected);
  });
});

describe('a close of a position', () => {
  const read = (body: unknown) => () => planClose(venue, caller, figures, decoded('closePosition', body) as CloseRequest);

  it.each([{}, { size: '0.01' }, { size: '0.0012345', slippage: '65.535' }])('takes %j', (body) =>
    expect(refusalOf(read(body))).toBeNull(),
  );

  it.each([
    ['a size of 0', { size: '0' }, invalidAt('size')],
    ['a negative size', { size: '-0.01' }, invalidAt('size')],
    ['a slippage above what the contracts hold', { slippage: '70' }, invalidAt('slippage')],
    ['a slippage with four decimals', { slippage: '0.1234' }, tooExact('slippage', 3, '0.123')],
    ['an array', [], invalidAt('')],
  ])('has not %s', (_what, body, expected) => {
    expect(refusalOf(read(body))).toEqual(expected);
  });
});

describe('the authorisation of an agent', () => {
  const read = (change: Json) => () =>
    decoded('createAgent', {
      trader: TRADER,
      agent: TRADER,
      scope: EVERYTHING,
      timestamp: 1_700_000_000_000,
      signature: '0x12',
      ...change,
    });

  it.each([{}, { name: '🚀'.repeat(32), scope: { ...EVERYTHING, markets: ['BTC/USD'], maxLeverage: '0.1', dailySpendCapUsd: '0' } }])(
    'takes %j',
    (change) => expect(refusalOf(read(change))).toBeNull(),
  );

  it.each([
    ['an unknown field', { leverage: '5' }, 'leverage'],
    ['a name of 33 characters', { name: 'x'.repeat(33) }, 'name'],
    ['a name with a zero byte', { name: 'a\u0000b' }, 'name'],
    ['a name with half a character', { name: 'a\ud800' }, 'name'],
    ['a trader that is no address', { trader: '0x12' }, 'trader'],
    ['an agent whose letters are not its checksum', { agent: '0x52908400098527886E0F7030069857D2E4169Ee7' }, 'agent'],
    ['a timestamp in a text', { timestamp: '1700000000000' }, 'timestamp'],
    ['a timestamp no clock shows', { timestamp: 1e300 }, 'timestamp'],
    ['no scope', { scope: undefined }, 'scope'],
    ['a market in other letters', { scope: { ...EVERYTHING, markets: ['ＢＴＣ/USD'] } }, 'scope.markets.0'],
    ['a leverage of zero', { scope: { ...EVERYTHING, maxLeverage: '0.0' } }, 'scope.maxLeverage'],
    ['a leverage with an exponent', { scope: { ...EVERYTHING, maxLeverage: '1e3' } }, 'scope.maxLeverage'],
    ['a leverage as a number', { scope: { ...EVERYTHING, maxLeverage: 5 } }, 'scope.maxLeverage'],
    ['a negative cap', { scope: { ...EVERYTHING, dailySpendCapUsd: '-1' } }, 'scope.dailySpendCapUsd'],
    ['an expiry of zero, which is how none is signed', { scope: { ...EVERYTHING, expiresAt: 0 } }, 'scope.expiresAt'],
    ['an unknown permission', { scope: { ...EVERYTHING, permissions: 'withdraw' } }, 'scope.permissions'],
  ])('with %s is refused by its path', (_what, change, path) => {
    expect(refusalOf(read(change))).toEqual(invalidAt(path));
  });
});
