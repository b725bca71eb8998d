import { keccak256, toBytes } from 'viem';
import { createClient } from '../../client/src/create-client.js';
import { ChainError, ClientError, GatewayError } from '../../client/src/errors.js';
import type { CreateOrderRequest, Order, Position } from '../../client/src/api.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { tradingVenue } from '../harness/venue/trading-venue.js';
import { newClientTrader, type ClientTrader } from './client-trader.js';

const MARKET: CreateOrderRequest = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };
const LIMIT: CreateOrderRequest = { ...MARKET, type: 'limit', price: '50000' };

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
});
afterAll(() => sandbox.stop());

/** Places an order and answers where it came to rest. */
async function place({ client }: Pick<ClientTrader, 'client'>, input: CreateOrderRequest): Promise<Order> {
  const order = await client.execute('createOrder', input);
  if (order === null) throw new Error('there is no order');
  return order;
}

async function onlyPosition({ client }: Pick<ClientTrader, 'client'>): Promise<Position> {
  const [only] = await eventually(
    async () => (await client.listPositions()).data,
    ({ length }) => length === 1,
  );
  if (only === undefined) throw new Error('there is no position');
  return only;
}

describe('a trader with the client', () => {
  it('opens, protects, changes and closes a position, each transaction verified and signed by its agent', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    const opened = await place(trader, { ...MARKET, sl: '55000', tp: '70000', clientId: 'first' });
    expect(opened).toMatchObject({ status: 'filled', clientId: 'first', trader: trader.trader });
    const { id } = await onlyPosition(trader);

    expect(await client.execute('updatePosition', { id, sl: '57000', tp: '66000' })).toBeNull();
    const protectedOne = await eventually(
      () => onlyPosition(trader),
      ({ sl }) => sl === '57000',
    );
    expect(protectedOne.tp).toBe('66000');
    expect(await client.execute('updatePosition', { id, leverage: '8' })).toMatchObject({ status: 'filled' });
    expect(await client.execute('updatePosition', { id, collateral: { action: 'add', amount: '20' } })).toMatchObject({ status: 'filled' });
    expect(await client.execute('updatePosition', { id, collateral: { action: 'remove', amount: '15' } })).toMatchObject({
      status: 'filled',
    });
    expect(await client.execute('closePosition', { id, size: '0.005' })).toMatchObject({ status: 'filled', size: '0.005' });
    expect(await client.execute('closePosition', { id, slippage: '2' })).toMatchObject({ status: 'filled' });
    expect((await client.listPositions()).data).toEqual([]);
    expect(trader.signed()).toBe(7);
  });

  it('adds to a position and takes profit out of it', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    await place(trader, { ...MARKET, leverage: '7.777' });
    const { id } = await onlyPosition(trader);
    for (const increase of [{ size: '0.003' }, { size: '0.002', leverage: '5', price: '60000', slippage: '0.8' }])
      expect(await client.execute('updatePosition', { id, increase })).toMatchObject({ status: 'filled', size: increase.size });
    try {
      sandbox.controls.prices.jump(0, '63000');
      for (const withdrawPnl of [{ amount: '12.5' }, {}])
        expect(await client.execute('updatePosition', { id, withdrawPnl })).toMatchObject({ status: 'filled', side: 'long', size: '0' });
      const [{ realizedPnl } = { realizedPnl: '0' }] = (await client.listPositions()).data;
      expect(Number(realizedPnl)).toBeGreaterThan(40);
    } finally {
      sandbox.controls.prices.jump(0, '60000');
    }
  });

  it('places, changes and cancels a limit order', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    const { id, status } = await place(trader, { ...LIMIT, sl: '48000' });
    expect(status).toBe('open');
    expect(await client.execute('updateOrder', { id, sl: '48500', slippage: '2' })).toMatchObject({ sl: '48500', slippage: '2' });
    expect(await client.execute('updateOrder', { id, price: '51000' })).toMatchObject({ id, price: '51000', size: '0.02' });
    expect(await client.execute('updateOrder', { id, size: '0.03' })).toMatchObject({ id, size: '0.03' });
    expect(await client.execute('cancelOrder', { id })).toMatchObject({ id, status: 'canceled' });
  });

  it('reduces by market, limit and stop, and moves and removes what rests', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    await place(trader, MARKET);
    await place(trader, { ...MARKET, size: '0.03' });
    const positions = await eventually(
      async () => (await client.listPositions()).data,
      ({ length }) => length === 2,
    );
    const [older] = [...positions].sort((a, b) => a.openedAtBlock - b.openedAtBlock);
    if (older === undefined) throw new Error('there is no position');
    const reduce = { market: 'BTC/USD', side: 'short', reduceOnly: true, size: older.size } as const;
    const profit = await place(trader, { ...reduce, type: 'limit', price: '65000' });
    const stop = await place(trader, { ...reduce, type: 'stop', price: '55000', slippage: '3' });
    expect([profit.status, stop.status]).toEqual(['open', 'open']);
    expect(await client.execute('updateOrder', { id: stop.id, price: '56000' })).toMatchObject({ price: '56000' });
    expect(await client.execute('cancelOrder', { id: profit.id })).toMatchObject({ status: 'canceled' });
    const closed = await place(trader, { ...reduce, type: 'market', size: '0.04' });
    expect(closed.status).toBe('filled');
    const left = await eventually(
      async () => (await client.listPositions()).data,
      ({ length }) => length === 1,
    );
    expect(Number(left[0]?.size)).toBeCloseTo(0.01, 4);
  });

  it('takes its collateral back from a request that the oracle did not answer', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    chain.setOraclePolicy(null, { mode: 'hold' });
    try {
      const sent = await client.send(await client.prepare('createOrder', MARKET));
      const id = sent.order?.id ?? '';
      await eventually(
        () => client.getOrder({ id }),
        ({ status }) => status === 'pending',
      );
      await eventually(
        async () => {
          await chain.mine(50);
          return client.getOrder({ id });
        },
        ({ status }) => status === 'timed_out',
      );
      expect(await client.wait(id)).toMatchObject({ status: 'timed_out' });
      expect(await client.execute('cancelOrder', { id })).toMatchObject({ status: 'canceled' });
    } finally {
      chain.setOraclePolicy(null, { mode: 'auto', delayMs: 10 });
    }
  });

  it.each([
    ['an increase', { increase: { size: '0.1' } }, '3000'],
    ['a withdrawal of profit', { withdrawPnl: {} }, '3300'],
  ])('takes %s back that the oracle did not answer, on any market', async (_what, change, price) => {
    const trader = await newClientTrader(sandbox, chain);
    const { client } = trader;
    sandbox.controls.prices.jump(1, '3000');
    await place(trader, { ...MARKET, market: 'ETH/USD', size: '0.4' });
    const { id } = await onlyPosition(trader);
    sandbox.controls.prices.jump(1, price);
    chain.setOraclePolicy(null, { mode: 'hold' });
    try {
      const { order } = await client.send(await client.prepare('updatePosition', { id, ...change }));
      const stuck = await eventually(
        async () => {
          await chain.mine(50);
          return client.getOrder({ id: order?.id ?? '' });
        },
        ({ status }) => status === 'timed_out',
      );
      expect(await client.execute('cancelOrder', { id: stuck.id })).toMatchObject({ status: 'canceled' });
    } finally {
      chain.setOraclePolicy(null, { mode: 'auto', delayMs: 10 });
    }
  });

  it('trades with its own key, without a delegation', async () => {
    const trader = await newClientTrader(sandbox, chain, { self: true });
    expect(await place(trader, MARKET)).toMatchObject({ status: 'filled' });
  });

  it('sends ten orders at once without losing a nonce', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const prices = Array.from({ length: 10 }, (_, at) => String(50_000 + at));
    const orders = await Promise.all(prices.map((price) => place(trader, { ...LIMIT, price })));
    expect(orders.map(({ status, price }) => [status, price])).toEqual(prices.map((price) => ['open', price]));
  });

  it('names its own referrer, and none of the gateway', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const prepared = await trader.client.prepare('createOrder', MARKET);
    expect(prepared.asked.input).toMatchObject({ referrer: '0x0000000000000000000000000000000000000000' });
    const referrer = '0x00000000000000000000000000000000000000aa';
    const own = trader.at({ referrer });
    const { calls } = await own.verify(await own.prepare('createOrder', MARKET));
    const [call] = calls;
    expect(call?.functionName === 'openTrade' && call.args[2].toLowerCase()).toBe(referrer);
  });

  it('verifies a prepared transaction against another wish, and refuses it', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const prepared = await client.prepare('createOrder', LIMIT);
    await expect(client.verify(prepared)).resolves.toMatchObject({ calls: [{ functionName: 'openTrade' }] });
    await expect(client.verify(prepared, { operation: 'createOrder', input: { ...LIMIT, leverage: '11' } })).rejects.toMatchObject({
      reason: 'LEVERAGE',
      asked: '11000',
      found: '10000',
    });
  });
});

describe('the client', () => {
  it('signs a request of the caller over its exact bytes', async () => {
    const { client, trader } = await newClientTrader(sandbox, chain);
    const path = `/v1/arbitrum-sepolia/account/${trader}/positions`;
    const headers = await client.sign({ operation: 'listPositions', method: 'GET', path });
    expect(await sandbox.get(path, { ...headers })).toMatchObject({ status: 200, body: { data: [] } });
    const body = JSON.stringify(LIMIT);
    const signed = await client.sign({
      operation: 'createOrder',
      method: 'POST',
      path: '/v1/arbitrum-sepolia/orders',
      body: toBytes(body),
    });
    const wrong = await sandbox.post('/v1/arbitrum-sepolia/orders', { ...LIMIT, size: '0.03' }, { ...signed });
    expect(wrong).toMatchObject({ status: 401 });
    expect(keccak256('0x')).toBe((await client.getChainInfo()).signing.emptyBodyHash);
  });

  it('follows the clock of the gateway when its own is wrong by a minute, and says so when it is wrong by an hour', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const off = (ms: number) => trader.at({ clock: () => Date.now() + ms });
    expect(await off(-60_000).listPositions()).toEqual({ data: [] });
    expect(await place({ client: off(60_000) }, MARKET)).toMatchObject({ status: 'filled' });
    await expect(off(3_600_000).listPositions()).rejects.toThrow("set this machine's clock");
  });

  it('reads with an API key, and writes nothing with it', async () => {
    const client = createClient({
      url: sandbox.url,
      chain: 'arbitrum-sepolia',
      apiKey: 'no-such-key',
      trader: '0x00000000000000000000000000000000000000aa',
    });
    await expect(client.listPositions()).rejects.toMatchObject({ name: 'GatewayError', code: 'API_KEY_UNKNOWN', status: 401 });
    await expect(client.createOrder(LIMIT)).rejects.toThrow('createOrder needs an agent: an API key only reads.');
    await expect(client.execute('createOrder', LIMIT)).rejects.toBeInstanceOf(ClientError);
    expect((await client.getMarket({ symbol: 'BTC-USD' })).pairIndex).toBe(0);
    expect((await client.getCandles({ symbol: 'BTC/USD', interval: '1m' })).data.length).toBeGreaterThanOrEqual(0);
  });

  it('does not verify or send without a node of its own', async () => {
    const trader = await newClientTrader(sandbox, chain);
    const client = trader.at({ rpc: undefined });
    const prepared = await client.prepare('createOrder', LIMIT);
    await expect(client.send(prepared)).rejects.toThrow('Verifying and sending need `rpc`');
  });

  it('says what is wrong with an address that is not one of a gateway', async () => {
    const at = (url: string) => createClient({ url, chain: 'arbitrum-sepolia' });
    expect(() => at(`${sandbox.url}/v1`)).toThrow('The address of a gateway has no path');
    await expect(at('http://127.0.0.1:1').getPrices()).rejects.toThrow('No gateway answers at http://127.0.0.1:1.');
    await expect(at(chain.rpcUrl).getPrices()).rejects.toMatchObject({ code: 'UNREADABLE' });
    expect(() => createClient({ url: sandbox.url, chain: 'ethereum' as 'arbitrum' })).toThrow('No chain is called ethereum');
  });

  it('passes refusals on with their code and details', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    await expect(client.createOrder({ ...LIMIT, market: 'NO/USD' })).rejects.toMatchObject({
      name: 'GatewayError',
      status: 404,
      code: 'MARKET_NOT_FOUND',
    });
    await expect(client.getOrder({ id: '999999' })).rejects.toBeInstanceOf(GatewayError);
    await expect(client.createOrder({ ...LIMIT, size: '0' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  it('reports a node that does not answer, and signs nothing', async () => {
    const trader = await newClientTrader(sandbox, chain);
    await expect(trader.at({ rpc: 'http://127.0.0.1:1' }).execute('createOrder', LIMIT)).rejects.toBeInstanceOf(ChainError);
    expect(trader.signed()).toBe(0);
  });

  it('stops waiting when its signal aborts, or when the time is over', async () => {
    const { client } = await newClientTrader(sandbox, chain);
    const { order } = await client.prepare('createOrder', LIMIT);
    await expect(client.wait(order?.id ?? '', { timeoutMs: 1 })).rejects.toThrow('Waited 1 ms');
    await expect(client.wait(order?.id ?? '', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow();
  });
});
