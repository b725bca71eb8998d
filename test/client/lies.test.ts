import { concatHex, encodeFunctionData, type Hex } from 'viem';
import { decodeCalls } from '../../client/src/decode-calls.js';
import { VerificationError } from '../../client/src/errors.js';
import type { Client } from '../../client/src/create-client.js';
import type { CreateOrderRequest, Order, Position } from '../../client/src/api.js';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../sandbox/controls.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';
import { newClientTrader, type ClientTrader } from './client-trader.js';
import { fakeClient, fakeNode, ORDER, price as wholePrice, reply as answered } from './fake-venue.js';
import { inArgs, inCalls, inTransaction, startLyingServer, type AnyCall, type Lie, type LyingServer } from './lying-gateway.js';

const THIEF: Hex = '0x00000000000000000000000000000000000bad01';

let sandbox: TestVenue;
let chain: ChainControls;
let gateway: LyingServer;
let node: LyingServer;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  [gateway, node] = await Promise.all([startLyingServer(sandbox.url), startLyingServer(chain.rpcUrl)]);
});
afterEach(() => {
  gateway.lie = () => null;
  node.lie = () => null;
});
afterAll(async () => {
  await Promise.all([gateway.stop(), node.stop()]);
  await sandbox.stop();
});

interface Lied extends ClientTrader {
  /** Behind the lying gateway. */
  readonly client: Client;
}

const newTrader = async (): Promise<Lied> => {
  const trader = await newClientTrader(sandbox, chain);
  return { ...trader, client: trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 }) };
};

const rawTransactions = (): number => node.asked.filter(({ body }) => body.includes('eth_sendRawTransaction')).length;

/** The reason of the refusal; nothing was signed, and nothing reached the node. */
async function refusal({ signed }: Pick<Lied, 'signed'>, act: () => Promise<unknown>): Promise<string> {
  const [before, sent] = [signed(), rawTransactions()];
  const outcome = await act().then(
    () => 'was sent',
    (error: unknown) => error,
  );
  expect([signed(), rawTransactions()]).toEqual([before, sent]);
  if (outcome instanceof VerificationError) return outcome.reason;
  throw new Error(`no lie was noticed: ${String(outcome)}`);
}

const opened = (change: Partial<Extract<AnyCall, { functionName: 'openTrade' }>['args'][0]>): Lie =>
  inArgs('openTrade', ([trade, slippage, referrer]) => [{ ...trade, ...change }, slippage, referrer]);

const withoutTransaction: Lie = (_request, reply) => (reply['transaction'] === undefined ? null : { ...reply, transaction: null });

const price = (text: string): bigint => BigInt(text) * 10n ** 10n;

describe('an order that a lying gateway prepares is not signed', () => {
  const LIMIT: CreateOrderRequest = {
    ...{ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000', sl: '48000', tp: '70000' },
    slippage: '0.5',
    collateral: 'USDC',
  };
  const extra: AnyCall = { functionName: 'closeTradeMarket', args: [0, price('60000')] };
  const lies: readonly (readonly [string, string, Lie])[] = [
    ['goes to another contract', 'TO', inTransaction((sent) => ({ ...sent, to: THIEF }))],
    ['has a value', 'VALUE', inTransaction((sent) => ({ ...sent, value: '1000000000000000' }))],
    ['is for another chain', 'CHAIN_ID', inTransaction((sent) => ({ ...sent, chainId: 42161 }))],
    ['may burn all gas of a block', 'GAS', inTransaction((sent) => ({ ...sent, gas: '900000000' }))],
    ['may burn much more gas than it needs', 'GAS', inTransaction((sent) => ({ ...sent, gas: '14000000' }))],
    ['runs out of gas', 'GAS', inTransaction((sent) => ({ ...sent, gas: '60000' }))],
    ['has expired', 'EXPIRED', inTransaction((sent) => ({ ...sent, expiresAt: 1 }))],
    ['has no data', 'FUNCTION', inTransaction((sent) => ({ ...sent, data: '0x' }))],
    [
      'calls an unknown function',
      'FUNCTION',
      inTransaction((sent) => ({ ...sent, data: `0xdeadbeef${(sent['data'] as string).slice(10)}` })),
    ],
    [
      "changes the agent's own delegate",
      'FUNCTION',
      inTransaction((sent) => ({
        ...sent,
        data: encodeFunctionData({ abi: diamondAbi, functionName: 'setTradingDelegate', args: [THIEF] }),
      })),
    ],
    ['cancels another order', 'FUNCTION', inCalls(() => [{ functionName: 'cancelOpenOrder', args: [0] }])],
    ['takes profit out', 'FUNCTION', inCalls(() => [{ functionName: 'withdrawPositivePnl', args: [0, 1n] }])],
    [
      'acts for another account',
      'TRADER',
      inTransaction((sent) => {
        const data = sent['data'] as Hex;
        return { ...sent, data: concatHex([data.slice(0, 10) as Hex, `0x${THIEF.slice(2).padStart(64, '0')}`, `0x${data.slice(74)}`]) };
      }),
    ],
    ['opens for another user', 'TRADER', opened({ user: THIEF })],
    ['trades another pair', 'MARKET', opened({ pairIndex: 1 })],
    ['is on the other side', 'SIDE', opened({ long: false })],
    ['is a market order', 'TYPE', opened({ tradeType: 0 })],
    ['has another leverage', 'LEVERAGE', opened({ leverage: 100_000 })],
    ['takes twice the collateral', 'SIZE', opened({ collateralAmount: 200_000_000n })],
    ['takes a hundredth more', 'SIZE', opened({ collateralAmount: 101_000_000n })],
    ['takes another collateral', 'COLLATERAL', opened({ collateralIndex: 1 })],
    ['takes a collateral that does not exist', 'COLLATERAL', opened({ collateralIndex: 99 })],
    ['has another price', 'PRICE', opened({ openPrice: price('65000') })],
    ['has another take profit', 'TP', opened({ tp: price('50001') })],
    ['has no stop loss', 'SL', opened({ sl: 0n })],
    ['has a wider slippage', 'SLIPPAGE', inArgs('openTrade', ([trade, , referrer]) => [trade, 65_535, referrer])],
    ['names a referrer', 'REFERRER', inArgs('openTrade', ([trade, slippage]) => [trade, slippage, THIEF])],
    ['is a counter trade', 'FIELD', opened({ isCounterTrade: true })],
    ['sets a size by itself', 'FIELD', opened({ positionSizeToken: 1n })],
    ['makes a second call', 'CALLS', inCalls((calls) => [...calls, extra])],
    ['opens twice', 'CALLS', inCalls((calls) => [...calls, ...calls])],
    ['nests its calls', 'FUNCTION', inCalls((calls) => [...calls, { functionName: 'multicall', args: [[]] }])],
    ['contains bytes behind the call', 'ENCODING', inTransaction((sent) => ({ ...sent, data: `${sent['data'] as string}00` }))],
    ['belongs to another order', 'ORDER', (_request, reply) => ({ ...reply, order: { ...(reply['order'] as object), market: 'ETH/USD' } })],
  ];

  let trader: Lied;
  beforeAll(async () => {
    trader = await newTrader();
  });

  it.each(lies)('that %s', async (_what, reason, lie) => {
    gateway.lie = (request, reply) => (request.method === 'POST' && request.path.endsWith('/orders') ? lie(request, reply) : null);
    expect(await refusal(trader, () => trader.client.execute('createOrder', LIMIT))).toBe(reason);
  });

  it('that names a referrer, although the gateway says so everywhere', async () => {
    const named = inArgs('openTrade', ([trade, slippage]) => [trade, slippage, THIEF]);
    gateway.lie = (request, reply) => (reply['nativeReferrer'] === undefined ? named(request, reply) : { ...reply, nativeReferrer: THIEF });
    const fresh = trader.at({ url: gateway.url, rpc: node.url });
    expect(await refusal(trader, () => fresh.execute('createOrder', LIMIT))).toBe('REFERRER');
  });

  it('that trades another pair, although the list of markets says so too', async () => {
    const swapped = opened({ pairIndex: 1 });
    gateway.lie = (request, reply) => {
      if (!request.path.endsWith('/markets')) return swapped(request, reply);
      const data = reply['data'] as { readonly pairIndex: number }[];
      return { data: data.map((market) => ({ ...market, pairIndex: [1, 0][market.pairIndex] ?? market.pairIndex })) };
    };
    expect(await refusal(trader, () => trader.client.execute('createOrder', LIMIT))).toBe('MARKET');
  });

  const MARKET: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };

  it('at the market, that expects a price far away', async () => {
    gateway.lie = opened({ openPrice: price('66000') });
    expect(await refusal(trader, () => trader.client.execute('createOrder', MARKET))).toBe('PRICE');
  });

  it('at the market, that is sized at another price', async () => {
    gateway.lie = opened({ collateralAmount: 132_000_000n });
    expect(await refusal(trader, () => trader.client.execute('createOrder', MARKET))).toBe('SIZE');
  });

  it('at the market, when prices are wrong everywhere and the caller knows better', async () => {
    const wrong = opened({ openPrice: price('66000'), collateralAmount: 132_000_000n });
    gateway.lie = (request, reply) => {
      if (!request.path.endsWith('/prices')) return wrong(request, reply);
      return { data: (reply['data'] as object[]).map((each) => ({ ...each, mark: '66000' })) };
    };
    const limits = { price: '60000' };
    expect(await refusal(trader, () => trader.client.execute('createOrder', MARKET, { limits }))).toBe('PRICE');
    expect(await refusal(trader, () => trader.client.execute('createOrder', MARKET, { limits: { maxCollateral: '125' } }))).toBe('SIZE');
  });

  it('at the market, when a price is 100 times too high everywhere, within the bound of the caller', async () => {
    const wrong = opened({ openPrice: price('6000000'), collateralAmount: 12_000_000_000n });
    gateway.lie = (request, reply) => {
      if (!request.path.endsWith('/prices')) return wrong(request, reply);
      return { data: (reply['data'] as object[]).map((each) => ({ ...each, mark: '6000000' })) };
    };
    const unbound = trader.at({ url: gateway.url, rpc: node.url, limits: undefined });
    const before = gateway.asked.length;
    await expect(unbound.execute('createOrder', MARKET)).rejects.toThrow('give limits.maxCollateral, limits.price or price');
    expect(gateway.asked).toHaveLength(before);
    for (const limits of [{ maxCollateral: '200' }, { price: '60000' }])
      expect(await refusal(trader, () => unbound.execute('createOrder', MARKET, { limits }))).toMatch(/^(?:SIZE|PRICE)$/);
    expect(await refusal(trader, () => unbound.execute('createOrder', { ...MARKET, price: '60000' }))).toBe('PRICE');
    // Who trusts the prices has nothing left to compare with.
    const trusting = await unbound.prepare('createOrder', MARKET, { limits: { trustPrices: true } });
    await expect(unbound.verify(trusting)).resolves.toMatchObject({ calls: [{ functionName: 'openTrade' }] });
  });

  it('when the gateway names another Diamond', async () => {
    gateway.lie = (_request, reply) => (reply['diamond'] === undefined ? null : { ...reply, diamond: THIEF });
    const fresh = trader.at({ url: gateway.url, rpc: node.url });
    expect(await refusal(trader, () => fresh.execute('createOrder', LIMIT))).toBe('DOMAIN');
  });

  it('when the gateway names a trader that has not delegated to the agent', async () => {
    gateway.lie = ({ path }, reply) =>
      path.includes('/agents/') ? { ...reply, agent: { ...(reply['agent'] as object), trader: THIEF } } : null;
    const fresh = trader.at({ url: gateway.url, rpc: node.url });
    expect(await refusal(trader, () => fresh.execute('createOrder', LIMIT))).toBe('TRADER');
  });

  it('when the node belongs to another chain', async () => {
    node.lie = (_request, reply) => ({ ...reply, result: '0x1' });
    expect(await refusal(trader, () => trader.client.execute('createOrder', LIMIT))).toBe('CHAIN_ID');
  });

  it('when gas costs more than the caller allows', async () => {
    const thrifty = (fees: object) => trader.at({ url: gateway.url, rpc: node.url, fees });
    expect(await refusal(trader, () => thrifty({ maxFeePerGas: 1n }).execute('createOrder', LIMIT))).toBe('FEE');
    expect(await refusal(trader, () => thrifty({ maxFee: 1n }).execute('createOrder', LIMIT))).toBe('FEE');
  });

  it('but an honest one is', async () => {
    const order = await trader.client.execute('createOrder', LIMIT);
    expect(order).toMatchObject({ status: 'open', price: '50000', size: '0.02' });
    expect(trader.signed()).toBe(1);
  });
});

describe('a change that a lying gateway prepares is not signed', () => {
  let trader: Lied;
  let position: Position;
  let other: Position;
  let resting: Order;
  let second: Order;
  /** An order for each kind of change: while one is prepared, another change of the same order is refused. */
  const restingFor = new Map<string, Order>();
  const tradeIndexOf: Record<string, number> = {};

  /** Index on chain that a call of this name has. */
  const learn = async (name: string, act: () => Promise<{ readonly transaction: { readonly data: Hex } | null }>): Promise<void> => {
    let index = -1;
    gateway.lie = inCalls((calls) => {
      index = Number((calls.at(-1) as { readonly args: readonly unknown[] }).args[0]);
      return calls;
    });
    await act();
    gateway.lie = () => null;
    tradeIndexOf[name] = index;
  };

  beforeAll(async () => {
    trader = await newTrader();
    const { client } = trader;
    const place = async (input: CreateOrderRequest): Promise<Order> => {
      const order = await client.execute('createOrder', input);
      if (order === null) throw new Error('there is no order');
      return order;
    };
    await place({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' });
    await place({ market: 'ETH/USD', side: 'short', type: 'market', size: '0.5', leverage: '10' });
    resting = await place({ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' });
    second = await place({ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '49000' });
    for (const kind of ['sl', 'price', 'size'])
      restingFor.set(kind, await place({ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' }));
    const { data } = await client.listPositions();
    const find = (market: string): Position => {
      const found = data.find((each) => each.market === market);
      if (found === undefined) throw new Error(`there is no position in ${market}`);
      return found;
    };
    [position, other] = [find('BTC/USD'), find('ETH/USD')];
    await learn('other', () => client.prepare('closePosition', { id: other.id }));
    await learn('second', () => client.prepare('cancelOrder', { id: second.id }));
  });

  const index = (name: string): number => tradeIndexOf[name] ?? -1;

  const closes: readonly (readonly [string, string, () => Lie])[] = [
    ['closes another position', 'INDEX', () => inArgs('closeTradeMarket', ([, expected]) => [index('other'), expected])],
    ['closes what is not there', 'INDEX', () => inArgs('closeTradeMarket', ([, expected]) => [77, expected])],
    ['accepts any price', 'PRICE', () => inArgs('closeTradeMarket', ([at]) => [at, 1n])],
    [
      'widens the slippage',
      'SLIPPAGE',
      () =>
        inCalls(([close]) =>
          close === undefined ? [] : [{ functionName: 'updateMaxClosingSlippageP', args: [Number(close.args[0]), 65_535] }, close],
        ),
    ],
    [
      'closes a part only',
      'SIZE',
      () =>
        inCalls((calls) =>
          calls.map((call) =>
            call.functionName === 'closeTradeMarket'
              ? { functionName: 'decreasePositionSize', args: [call.args[0], 1_000_000n, 0, call.args[1]] }
              : call,
          ),
        ),
    ],
    [
      'closes another position besides',
      'CALLS',
      () => inCalls((calls) => [...calls, { functionName: 'closeTradeMarket', args: [index('other'), price('3000')] }]),
    ],
    ['opens a position besides', 'FUNCTION', () => inCalls((calls) => [...calls, { functionName: 'updateLeverage', args: [0, 1] }])],
  ];

  it.each(closes)('of a close that %s', async (_what, reason, lie) => {
    gateway.lie = lie();
    expect(await refusal(trader, () => trader.client.execute('closePosition', { id: position.id }))).toBe(reason);
  });

  it('of a close whose id was said to be another position', async () => {
    gateway.lie = ({ path }, reply) => (path.endsWith('/positions') ? { data: [{ ...other, id: position.id }] } : reply);
    expect(await refusal(trader, () => trader.client.execute('closePosition', { id: position.id }))).toBe('INDEX');
  });

  it('of a close in part that closes more', async () => {
    gateway.lie = inArgs('decreasePositionSize', ([at, delta, leverage, expected]) => [at, delta * 2n, leverage, expected]);
    expect(await refusal(trader, () => trader.client.execute('closePosition', { id: position.id, size: '0.005' }))).toBe('SIZE');
    gateway.lie = inArgs('decreasePositionSize', ([at, delta, , expected]) => [at, delta, 5_000, expected]);
    expect(await refusal(trader, () => trader.client.execute('closePosition', { id: position.id, size: '0.005' }))).toBe('LEVERAGE');
  });

  it('of a reduction that closes another market, or more', async () => {
    const reduce: CreateOrderRequest = { market: 'BTC/USD', side: 'short', type: 'market', size: '0.01', reduceOnly: true };
    gateway.lie = inArgs('decreasePositionSize', ([, delta, leverage, expected]) => [index('other'), delta, leverage, expected]);
    expect(await refusal(trader, () => trader.client.execute('createOrder', reduce))).toBe('MARKET');
    gateway.lie = inCalls((calls) =>
      calls.map((call) =>
        call.functionName === 'decreasePositionSize' ? { functionName: 'closeTradeMarket', args: [call.args[0], call.args[3]] } : call,
      ),
    );
    expect(await refusal(trader, () => trader.client.execute('createOrder', reduce))).toBe('SIZE');
    const stop: CreateOrderRequest = {
      market: 'BTC/USD',
      side: 'short',
      type: 'stop',
      size: position.size,
      price: '55000',
      reduceOnly: true,
    };
    gateway.lie = inArgs('updateSl', ([at]) => [at, price('59900')]);
    expect(await refusal(trader, () => trader.client.execute('createOrder', stop))).toBe('PRICE');
  });

  const levels: readonly (readonly [string, string, () => Lie])[] = [
    ['moves the stop loss elsewhere', 'SL', () => inArgs('updateSl', ([at]) => [at, price('59999')])],
    ['moves the take profit elsewhere', 'TP', () => inArgs('updateTp', ([at]) => [at, price('60001')])],
    ['forgets the stop loss', 'SL', () => inCalls((calls) => calls.filter(({ functionName }) => functionName !== 'updateSl'))],
    ['protects another position', 'CALLS', () => inArgs('updateSl', ([, level]) => [index('other'), level])],
    [
      'changes the slippage',
      'SLIPPAGE',
      () => inCalls((calls) => [{ functionName: 'updateMaxClosingSlippageP', args: [Number(calls[0]?.args[0]), 9] }, ...calls]),
    ],
    ['closes as well', 'FUNCTION', () => inCalls((calls) => [...calls, { functionName: 'closeTradeMarket', args: [0, price('60000')] }])],
  ];

  it.each(levels)('of stop loss and take profit that %s', async (_what, reason, lie) => {
    gateway.lie = lie();
    expect(await refusal(trader, () => trader.client.execute('updatePosition', { id: position.id, sl: '57000', tp: '66000' }))).toBe(
      reason,
    );
  });

  it('of leverage or collateral that is another, or of another position', async () => {
    const act = (input: object) => () => trader.client.execute('updatePosition', { id: position.id, ...input });
    gateway.lie = inArgs('updateLeverage', ([at]) => [at, 50_000]);
    expect(await refusal(trader, act({ leverage: '8' }))).toBe('LEVERAGE');
    expect(await refusal(trader, act({ collateral: { action: 'add', amount: '10' } }))).toBe('LEVERAGE');
    expect(await refusal(trader, act({ collateral: { action: 'remove', amount: '10' } }))).toBe('LEVERAGE');
    gateway.lie = inArgs('updateLeverage', ([, leverage]) => [index('other'), leverage]);
    expect(await refusal(trader, act({ leverage: '8' }))).toBe('INDEX');
  });

  it('of an increase that takes more, at another leverage or price, or of another position', async () => {
    const act = (increase: { size: string; leverage?: string; price?: string; slippage?: string }) => () =>
      trader.client.execute('updatePosition', { id: position.id, increase });
    const changed = (change: readonly [at: 0 | 1 | 2 | 3 | 4, to: bigint | number]): Lie =>
      inArgs('increasePositionSize', (args) => args.map((arg, at) => (at === change[0] ? change[1] : arg)) as unknown as typeof args);
    for (const [lie, reason] of [
      [changed([0, index('other')]), 'INDEX'],
      [changed([1, 900_000_000n]), 'SIZE'],
      [changed([1, 0n]), 'SIZE'],
      [changed([2, 10_002]), 'LEVERAGE'],
      [changed([3, price('70000')]), 'PRICE'],
      [changed([4, 5_000]), 'SLIPPAGE'],
      [inCalls(() => [{ functionName: 'withdrawPositivePnl', args: [0, 1n] }]), 'FUNCTION'],
      [inCalls((calls) => [...calls, ...calls]), 'CALLS'],
      [withoutTransaction, 'CALLS'],
    ] as const) {
      gateway.lie = lie;
      expect(await refusal(trader, act({ size: '0.01' }))).toBe(reason);
    }
    gateway.lie = changed([2, 5_001]);
    expect(await refusal(trader, act({ size: '0.01', leverage: '5' }))).toBe('LEVERAGE');
    gateway.lie = changed([3, price('60001')]);
    expect(await refusal(trader, act({ size: '0.01', price: '60000' }))).toBe('PRICE');
  });

  it('of a withdrawal of another amount, or of another position', async () => {
    const act = (withdrawPnl: { amount?: string }) => () => trader.client.execute('updatePosition', { id: position.id, withdrawPnl });
    sandbox.controls.prices.jump(0, '63000');
    try {
      gateway.lie = inArgs('withdrawPositivePnl', ([at]) => [at, 1n]);
      expect(await refusal(trader, act({ amount: '5' }))).toBe('AMOUNT');
      expect(await refusal(trader, act({}))).toBe('AMOUNT');
      gateway.lie = inArgs('withdrawPositivePnl', ([, amount]) => [index('other'), amount]);
      expect(await refusal(trader, act({ amount: '5' }))).toBe('INDEX');
      gateway.lie = withoutTransaction;
      expect(await refusal(trader, act({ amount: '5' }))).toBe('CALLS');
    } finally {
      sandbox.controls.prices.jump(0, '60000');
    }
  });

  it('of a cancellation of another order, or of none', async () => {
    const cancel = () => trader.client.execute('cancelOrder', { id: resting.id });
    gateway.lie = inArgs('cancelOpenOrder', () => [index('second')]);
    expect(await refusal(trader, cancel)).toBe('INDEX');
    gateway.lie = inCalls(() => [{ functionName: 'cancelOrderAfterTimeout', args: [0] }]);
    expect(await refusal(trader, cancel)).toBe('FUNCTION');
    gateway.lie = inCalls((calls) => [...calls, { functionName: 'cancelOpenOrder', args: [index('second')] }]);
    expect(await refusal(trader, cancel)).toBe('CALLS');
    gateway.lie = (_request, reply) => ({ ...reply, order: { ...second } });
    expect(await refusal(trader, cancel)).toBe('ORDER');
  });

  const changes: readonly (readonly [string, string, object, () => Lie])[] = [
    ['is of another order', 'INDEX', { sl: '48000' }, () => inArgs('updateOpenOrder', ([, ...rest]) => [index('second'), ...rest])],
    ['has another price', 'PRICE', { sl: '48000' }, () => inArgs('updateOpenOrder', ([at, , ...rest]) => [at, price('59000'), ...rest])],
    [
      'has another take profit',
      'TP',
      { sl: '48000' },
      () => inArgs('updateOpenOrder', ([at, trigger, , sl, slippage]) => [at, trigger, price('50001'), sl, slippage]),
    ],
    [
      'has another stop loss',
      'SL',
      { sl: '48000' },
      () => inArgs('updateOpenOrder', ([at, trigger, tp, , slippage]) => [at, trigger, tp, 0n, slippage]),
    ],
    [
      'has another slippage',
      'SLIPPAGE',
      { sl: '48000' },
      () => inArgs('updateOpenOrder', ([at, trigger, tp, sl]) => [at, trigger, tp, sl, 65_535]),
    ],
    ['opens another side', 'SIDE', { price: '51000' }, () => opened({ long: false })],
    ['opens another pair', 'MARKET', { price: '51000' }, () => opened({ pairIndex: 1 })],
    ['opens a bigger one', 'SIZE', { price: '51000' }, () => opened({ collateralAmount: 500_000_000n })],
    ['opens another size', 'SIZE', { size: '0.03' }, () => opened({ collateralAmount: 300_000_000n })],
    ['opens at another price', 'PRICE', { price: '51000' }, () => opened({ openPrice: price('59000') })],
    ['names a referrer', 'REFERRER', { price: '51000' }, () => inArgs('openTrade', ([trade, slippage]) => [trade, slippage, THIEF])],
    ['cancels another one', 'INDEX', { price: '51000' }, () => inArgs('cancelOpenOrder', () => [index('second')])],
    ['does not open again', 'CALLS', { price: '51000' }, () => inCalls((calls) => calls.slice(0, 1))],
  ];

  it.each(changes)('of an order that %s', async (_what, reason, input, lie) => {
    gateway.lie = lie();
    const { id = '' } = restingFor.get(Object.keys(input)[0] ?? '') ?? {};
    expect(await refusal(trader, () => trader.client.execute('updateOrder', { id, ...input }))).toBe(reason);
  });
});

describe('a lying gateway that says that nothing has to be done', () => {
  let trader: Lied;
  let resting: Order;
  let third: Order;
  let level: Order;
  let position: Position;
  const nothing: Lie = ({ path }, reply) =>
    reply['transaction'] == null || path.endsWith('/transactions') ? null : { ...reply, transaction: null };

  beforeAll(async () => {
    trader = await newTrader();
    const { client } = trader;
    const place = async (input: CreateOrderRequest): Promise<Order> => {
      const order = await client.execute('createOrder', input);
      if (order === null) throw new Error('there is no order');
      return order;
    };
    await place({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' });
    resting = await place({ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' });
    third = await place({ market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '50000' });
    const { data } = await client.listPositions();
    const [first] = data;
    if (first === undefined) throw new Error('there is no position');
    position = first;
    level = await place({ market: 'BTC/USD', side: 'short', type: 'stop', size: position.size, price: '56000', reduceOnly: true });
  });

  it('is not believed about a cancel, a stop, a change or a leverage', async () => {
    gateway.lie = nothing;
    const { client } = trader;
    const lies: readonly (() => Promise<unknown>)[] = [
      () => client.execute('cancelOrder', { id: resting.id }),
      () => client.execute('cancelOrder', { id: level.id }),
      () => client.execute('updateOrder', { id: resting.id, sl: '48000' }),
      () => client.execute('updateOrder', { id: third.id, price: '51000' }),
      () => client.execute('updateOrder', { id: level.id, price: '57000' }),
      () => client.execute('updatePosition', { id: position.id, sl: '57000' }),
      () => client.execute('updatePosition', { id: position.id, leverage: '8' }),
      () => client.execute('updatePosition', { id: position.id, collateral: { action: 'add', amount: '10' } }),
    ];
    for (const lie of lies) expect(await refusal(trader, lie)).toBe('CALLS');
    const opened = resting;
    gateway.lie = (request) =>
      request.method === 'POST' && request.path.endsWith('/orders')
        ? { order: { ...opened, price: '49000', clientId: 'a' }, transaction: null }
        : null;
    const again: CreateOrderRequest = {
      market: 'BTC/USD',
      side: 'long',
      type: 'limit',
      size: '0.02',
      leverage: '10',
      price: '49000',
      clientId: 'a',
    };
    // The transaction that the reply names is one of the trader, at another price.
    expect(await refusal(trader, () => client.execute('createOrder', again))).toBe('PRICE');
  });

  it('is believed where the node says so too', async () => {
    const { client } = trader;
    const before = trader.signed();
    await client.execute('updateOrder', { id: resting.id, price: '50000' });
    await client.execute('updatePosition', { id: position.id, leverage: '10' });
    expect(trader.signed()).toBe(before);
    await client.execute('cancelOrder', { id: resting.id });
    expect(trader.signed()).toBe(before + 1);
    gateway.lie = (request, reply) => (request.method === 'DELETE' ? { ...reply, order: resting, transaction: null } : null);
    await client.execute('cancelOrder', { id: resting.id }).catch((error: unknown) => expect(error).not.toBeInstanceOf(VerificationError));
    expect(trader.signed()).toBe(before + 1);
  });

  const PLACED = { market: 'BTC/USD', side: 'long', type: 'limit', size: '0.02', leverage: '10', price: '47000' } as const;
  const placing =
    (order: object): Lie =>
    ({ method, path }) =>
      method === 'POST' && path.endsWith('/orders') ? { order, transaction: null } : null;

  it('is not believed about a request with a client id that it calls done', async () => {
    const { client } = trader;
    const repeated: CreateOrderRequest = { ...PLACED, clientId: 'never' };
    const { order: said } = await client.prepare('createOrder', repeated);
    const { txHash: other } = await client.getOrder({ id: third.id });
    const signedByTrader = `0x${'ab'.repeat(32)}`;
    for (const [status, txHash, reason] of [
      ['filled', null, 'CALLS'],
      ['prepared', null, 'CALLS'],
      ['pending', null, 'CALLS'],
      ['open', null, 'CALLS'],
      ['filled', signedByTrader, 'CALLS'],
      ['pending', signedByTrader, 'CALLS'],
      ['filled', other, 'PRICE'],
      ['open', other, 'PRICE'],
      ['canceled', other, 'PRICE'],
    ] as const) {
      gateway.lie = placing({ ...said, status, txHash });
      expect(await refusal(trader, () => client.execute('createOrder', repeated))).toBe(reason);
    }
    gateway.lie = placing({ ...said, type: 'market', price: null, clientId: 'never-2', status: 'filled', txHash: other });
    const atMarket: CreateOrderRequest = { ...repeated, type: 'market', price: undefined, clientId: 'never-2' };
    expect(await refusal(trader, () => client.execute('createOrder', atMarket))).toBe('TYPE');
  });

  it('but a gateway that has the transaction of the request is', async () => {
    const { client } = trader;
    const requests: readonly CreateOrderRequest[] = [
      { ...PLACED, clientId: 'rests' },
      { ...PLACED, type: 'market', price: undefined, clientId: 'fills' },
      { market: 'BTC/USD', side: 'short', type: 'market', size: '0.01', reduceOnly: true, clientId: 'closes' },
    ];
    const placed: (Order | null)[] = [];
    for (const request of requests) placed.push(await client.execute('createOrder', request));
    const before = trader.signed();
    const later = trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 });
    for (const each of [client, later])
      for (const [at, request] of requests.entries()) expect((await each.execute('createOrder', request))?.id).toBe(placed[at]?.id);
    await client.execute('updateOrder', { id: placed[0]?.id ?? '', price: '46500' });
    expect(await later.execute('createOrder', requests[0] ?? PLACED)).toMatchObject({ id: placed[0]?.id, price: '46500' });
    const changing = trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 });
    for (const [at, each] of [client, changing].entries()) {
      await each.execute('updateOrder', { id: placed[0]?.id ?? '', sl: `4600${at}` });
      expect(await each.execute('createOrder', requests[0] ?? PLACED)).toMatchObject({ id: placed[0]?.id, sl: `4600${at}` });
    }
    expect(trader.signed()).toBe(before + 3);
  });

  it('is not believed that an order is gone which only it describes', async () => {
    const later = trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 });
    const order = await trader.client.getOrder({ id: third.id });
    const gone = { ...order, market: 'ETH/USD', price: '1', txHash: null, status: 'canceled' };
    gateway.lie = ({ method, path }) => {
      if (!path.endsWith(`/orders/${order.id}`)) return null;
      return method === 'DELETE' ? { order: gone, transaction: null } : gone;
    };
    const cancel = (expect?: Order) => () => later.execute('cancelOrder', { id: order.id }, { expect });
    await expect(cancel()()).rejects.toThrow('pass the order as you saw it as `expect`');
    expect(await refusal(trader, cancel())).toBe('CALLS');
    expect(await refusal(trader, cancel(order))).toBe('CALLS');
    expect(await refusal(trader, cancel({ ...order, txHash: null }))).toBe('CALLS');
  });

  it('is not believed that an order is gone which this client only changed in place', async () => {
    const order = await trader.client.execute('createOrder', { ...PLACED, price: '44000' });
    if (order === null) throw new Error('there is no order');
    const later = trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 });
    await later.execute('updateOrder', { id: order.id, sl: '43500' });
    const cancel = () => later.execute('cancelOrder', { id: order.id }, { expect: { ...order, txHash: null } });
    const gone: Lie = ({ method }) => (method === 'DELETE' ? { order: { ...order, status: 'canceled' }, transaction: null } : null);
    gateway.lie = gone;
    expect(await refusal(trader, cancel)).toBe('CALLS');
    gateway.lie = () => null;
    await cancel();
    gateway.lie = gone;
    expect(await cancel()).toMatchObject({ status: 'canceled' });
  });

  it('is believed that a rung of a ladder is gone where the same rung still rests', async () => {
    const { client } = trader;
    const rung: CreateOrderRequest = { ...PLACED, price: '45000' };
    const [first, second] = [await client.execute('createOrder', rung), await client.execute('createOrder', rung)];
    const unsent = await client.prepare('createOrder', rung);
    expect(await client.execute('cancelOrder', { id: unsent.order?.id ?? '' })).toMatchObject({ status: 'expired' });
    await client.execute('cancelOrder', { id: first?.id ?? '' });
    const before = trader.signed();
    const later = trader.at({ url: gateway.url, rpc: node.url, nodeLagMs: 0 });
    gateway.lie = ({ method }) => (method === 'DELETE' ? { order: { ...first, status: 'canceled' }, transaction: null } : null);
    await later.execute('cancelOrder', { id: first?.id ?? '' }, { expect: first ?? undefined });
    expect(await refusal(trader, () => later.execute('cancelOrder', { id: second?.id ?? '' }, { expect: second ?? undefined }))).toBe(
      'ORDER',
    );
    gateway.lie = ({ method }) => (method === 'DELETE' ? { order: { ...second, status: 'canceled' }, transaction: null } : null);
    expect(await refusal(trader, () => later.execute('cancelOrder', { id: second?.id ?? '' }, { expect: second ?? undefined }))).toBe(
      'CALLS',
    );
    expect(trader.signed()).toBe(before);
  });
});

describe('a reply without a transaction', () => {
  const gone: Order = { ...ORDER, type: 'market', price: null, status: 'canceled' };
  const cancel = (node: ReturnType<typeof fakeNode>, order: Order): Promise<unknown> =>
    fakeClient(node, ({ method }) => answered(method === 'DELETE' ? { order, transaction: null } : order)).execute(
      'cancelOrder',
      { id: order.id },
      { expect: order },
    );

  it('is not doubted because of another request in the same market', async () => {
    const node = fakeNode();
    node.trades = { 4: { tradeType: 0, long: true } };
    node.requests = [
      { index: 1, orderType: 1, trade: { index: 4 } },
      { index: 2, orderType: 7, trade: { index: 4 } },
      { index: 3, orderType: 0, trade: { tradeType: 0, long: false } },
    ];
    expect(await cancel(node, gone)).toMatchObject({ status: 'canceled' });
    node.requests = [{ index: 5, orderType: 0, trade: { tradeType: 0, long: true } }];
    const client = fakeClient(node, ({ method }) => answered(method === 'DELETE' ? { order: gone, transaction: null } : gone), {
      nodeLagMs: 0,
    });
    await expect(client.execute('cancelOrder', { id: gone.id }, { expect: gone })).rejects.toThrow('found request 5');
  });

  it('may be a block ahead of the own node', async () => {
    const node = fakeNode();
    const resting: Order = { ...ORDER, status: 'canceled' };
    const trades = { 4: { openPrice: wholePrice(50_000) } };
    Object.defineProperty(node, 'trades', { get: () => (node.blocksSeen < 2 ? trades : {}) });
    expect(await cancel(node, resting)).toMatchObject({ status: 'canceled' });
    expect(node.blocksSeen).toBeGreaterThan(1);
  });
});

it('call data that no function encodes is refused as such, not with an error of a library', () => {
  const dirty: Hex = `0x85886333${'f'.repeat(64)}`;
  expect(() => decodeCalls(dirty, { trader: THIEF, sender: THIEF })).toThrow(VerificationError);
});
