import type { CreateOrderRequest } from '../../client/src/api.js';
import { ClientError } from '../../client/src/errors.js';
import type { Limits } from '../../client/src/verify-context.js';
import { ORDER, fakeClient, fakeNode, openCall, price, reply, transactionOf, type FakeNode, type Route, type Trade } from './fake-venue.js';
import type { AnyCall } from './lying-gateway.js';

const MARKET: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };

/** The outcome of verifying what was prepared: `accepted`, or why not. */
const outcome = (verified: Promise<unknown>): Promise<string> =>
  verified.then(
    () => 'accepted',
    (error: unknown) => (error instanceof Error && 'reason' in error ? String(error.reason) : String(error)),
  );

describe('a market order', () => {
  /** A gateway that says that bitcoin costs 100 times as much, in its prices and in the transaction. */
  const dear = openCall({ tradeType: 0, openPrice: price(5_000_000), collateralAmount: 10_000_000_000n });
  const lying: Route = ({ path }) =>
    path === '/orders'
      ? reply({ order: { ...ORDER, type: 'market' }, transaction: transactionOf(dear) }, 201)
      : reply({ data: [{ market: 'BTC/USD', mark: '5000000' }] });

  const tried = (own: Limits | undefined, ofClient?: Limits, order = MARKET) => {
    const client = fakeClient(fakeNode(), lying, { limits: ofClient });
    return outcome(client.prepare('createOrder', order, { limits: own }).then((prepared) => client.verify(prepared)));
  };

  it('is refused without a bound, before anything is asked for', async () => {
    let asked = 0;
    const client = fakeClient(fakeNode(), (request) => {
      asked += 1;
      return lying(request);
    });
    const refused = client.execute('createOrder', MARKET);
    await expect(refused).rejects.toBeInstanceOf(ClientError);
    await expect(refused).rejects.toThrow(/give limits\.maxCollateral, limits\.price or price.*limits\.trustPrices: true/);
    expect(asked).toBe(0);
  });

  it.each<readonly [string, string, Limits | undefined, Limits | undefined]>([
    ['the collateral', 'SIZE', { maxCollateral: '200' }, undefined],
    ['the price', 'PRICE', { price: '50000' }, undefined],
    ['the collateral of every order', 'SIZE', undefined, { maxCollateral: '200' }],
    ['the price, and an own bound that is undefined', 'PRICE', { price: undefined }, { price: '50000' }],
    ['nothing: the prices are trusted', 'accepted', { trustPrices: true }, undefined],
    ['the collateral, although the prices are trusted', 'SIZE', { trustPrices: true }, { maxCollateral: '200' }],
  ])('at a price that is 100 times too high, with a bound of %s: %s', async (_what, expected, own, ofClient) => {
    expect(await tried(own, ofClient)).toBe(expected);
  });

  it('is bound by the price of its own', async () => {
    expect(await tried(undefined, undefined, { ...MARKET, price: '50000' })).toBe('PRICE');
  });

  it('is refused where one without a bound is verified that was prepared with trust', async () => {
    const client = fakeClient(fakeNode(), lying);
    const prepared = await client.prepare('createOrder', MARKET, { limits: { trustPrices: true } });
    await expect(client.verify({ ...prepared, limits: {} })).rejects.toBeInstanceOf(ClientError);
  });
});

describe('an order or position that the caller saw', () => {
  const resting = { ...ORDER, status: 'open' as const };
  const cancelling = (index: number) =>
    fakeClient(withTrades({ 7: {}, 8: { collateralAmount: 10_000_000_000n } }), ({ method }) =>
      reply(
        method === 'DELETE' ? { order: resting, transaction: transactionOf({ functionName: 'cancelOpenOrder', args: [index] }) } : resting,
      ),
    );

  it('is not cancelled instead of another of the same price and another size', async () => {
    const cancel = async (index: number) => {
      const client = cancelling(index);
      return client.verify(await client.prepare('cancelOrder', { id: '1' }, { expect: resting }));
    };
    expect(await outcome(cancel(8))).toBe('INDEX');
    expect(await outcome(cancel(7))).toBe('accepted');
  });

  it('is not closed instead of another of the same price and another collateral', async () => {
    const position = { market: 'BTC/USD', side: 'long', entryPrice: '50000', leverage: '10', collateralSymbol: 'USDC' } as const;
    const node = withTrades({ 7: { tradeType: 0 }, 8: { tradeType: 0, collateralAmount: 10_000_000_000n } });
    const close = async (index: number) => {
      const transaction = transactionOf({ functionName: 'closeTradeMarket', args: [index, price(50_000)] });
      const client = fakeClient(node, () => reply({ order: ORDER, transaction }), { limits: { price: '50000' } });
      return client.verify(await client.prepare('closePosition', { id: '5' }, { expect: { ...position, collateral: '100' } }));
    };
    expect(await outcome(close(8))).toBe('INDEX');
    expect(await outcome(close(7))).toBe('accepted');
  });
});

function withTrades(trades: Readonly<Record<number, Partial<Trade>>>): FakeNode {
  const node = fakeNode();
  node.trades = trades;
  return node;
}

describe('a pair after a split', () => {
  const LIMIT: CreateOrderRequest = { market: 'TSLA/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' };
  const opening = async (pairIndex: number, pairs: readonly string[]) => {
    const node = fakeNode();
    node.pairs = pairs;
    const client = fakeClient(node, () =>
      reply({ order: { ...ORDER, market: 'TSLA/USD' }, transaction: transactionOf(openCall({ pairIndex })) }, 201),
    );
    return client.verify(await client.prepare('createOrder', LIMIT));
  };

  it('is opened on the newest one only', async () => {
    expect(await outcome(opening(0, ['TSLA']))).toBe('accepted');
    expect(await outcome(opening(0, ['TSLA', 'TSLA_1']))).toBe('MARKET');
    expect(await outcome(opening(1, ['TSLA', 'TSLA_1']))).toBe('accepted');
    expect(await outcome(opening(1, ['TSLA', 'TSLA_1', 'TSLA_2']))).toBe('MARKET');
  });
});

describe('a reduction of two positions', () => {
  const reduce: CreateOrderRequest = { market: 'BTC/USD', side: 'short', type: 'market', size: '0.03', reduceOnly: true };
  const whole = (index: number): AnyCall => ({ functionName: 'closeTradeMarket', args: [index, price(50_000)] });
  const half = (index: number): AnyCall => ({ functionName: 'decreasePositionSize', args: [index, 50_000_000n, 0, price(50_000)] });
  const reducing = async (...calls: readonly AnyCall[]) => {
    const order = { ...ORDER, side: 'short', type: 'market', reduceOnly: true };
    const client = fakeClient(
      withTrades({ 7: { tradeType: 0 }, 8: { tradeType: 0 } }),
      () => reply({ order, transaction: transactionOf(...calls) }, 201),
      { limits: { price: '50000' } },
    );
    return client.verify(await client.prepare('createOrder', reduce));
  };

  it('closes only the last one in part', async () => {
    expect(await outcome(reducing(whole(7), half(8)))).toBe('accepted');
    expect(await outcome(reducing(half(7), whole(8)))).toBe('SIZE');
  });
});

describe('less leverage', () => {
  const position = { market: 'BTC/USD', side: 'long', entryPrice: '50000', leverage: '10', collateralSymbol: 'USDC' } as const;
  const changing = async (maxCollateral: string) => {
    const transaction = transactionOf({ functionName: 'updateLeverage', args: [7, 5_000] });
    const client = fakeClient(withTrades({ 7: { tradeType: 0 } }), () => reply({ order: ORDER, transaction }), {
      limits: { maxCollateral },
    });
    return client.verify(await client.prepare('updatePosition', { id: '5', leverage: '5' }, { expect: position }));
  };

  it('takes no more collateral than allowed', async () => {
    expect(await outcome(changing('99'))).toBe('SIZE');
    expect(await outcome(changing('100'))).toBe('accepted');
  });
});
