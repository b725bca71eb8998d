import { getBytes } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import { tagsIn } from '../../core/trading/encode-intent.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { eventually } from '../harness/time/eventually.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
/** The agent of another trader. */
let other: AgentTrader;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  agent = await newAgentTrader(sandbox, chain, { usdc: '100000' });
  other = await newAgentTrader(sandbox, chain, { usdc: '50000' });
});
afterAll(() => sandbox.stop());

const market = (changes: Json = {}): Json => ({
  market: 'BTC/USD',
  side: 'long',
  type: 'market',
  size: '0.05',
  leverage: '10',
  ...changes,
});

describe('an order that is prepared', () => {
  it('is answered with everything that was asked for and the transaction that places it', async () => {
    const { status, body } = await agent.create(market({ market: 'btc-usd', tp: '90000', slippage: '2' }));
    expect(status).toBe(201);
    expect(body['order']).toMatchObject({ market: 'BTC/USD', size: '0.05', price: null, tp: '90000', slippage: '2', status: 'prepared' });
    const { to, data, value, gas, chainId } = prepared({ status, body, headers: new Headers() });
    expect([to, value, chainId]).toEqual([chain.definition.diamond, '0', chain.definition.chainId]);
    expect(Number(gas)).toBeGreaterThan(100_000);
    expect(tagsIn(data)).toHaveLength(1);
    expect(getBytes(data)).toHaveLength(676 + 8 + 16);
  });

  it('is filled with the figures of the chain once an ordinary wallet has sent it', async () => {
    const order = await agent.place(market(), 'filled');
    expect(order).toMatchObject({ side: 'long', size: '0.05', reason: null });
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
    const position = await agent.position();
    expect((order['fill'] as Json)['positionId']).toBe(position['id']);
    expect((order['fill'] as Json)['price']).toBe(position['entryPrice']);
  });

  it.each([
    ['limit', '40000'],
    ['stop', '80000'],
  ])('rests when it is a %s, with the stop loss of the prepared order', async (type, price) => {
    const created = done(await agent.create(market({ type, price, sl: '100', leverage: '50' })));
    if (created.transaction === null) throw new Error('there is nothing to send');
    expect(Number(created.order['sl'])).toBeGreaterThan(Number(price) * 0.98);
    await agent.send(created.transaction);
    const order = await agent.reaches(String(created.order['id']), 'open');
    expect(order).toMatchObject({ type, price, size: '0.05', sl: created.order['sl'] });
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });
});

describe('a clientId', () => {
  it('names one order, however often and however it is spelt', async () => {
    const first = done(await agent.create(market({ clientId: 'one' })));
    const again = done(
      await agent.create(market({ clientId: 'one', market: 'btc-usd', size: '0.050', slippage: '1.0', reduceOnly: false })),
    );
    expect(again).toEqual(first);
    expect(done(await agent.create(market({ clientId: 'one', collateral: 'usdc' })))).toEqual(first);
    const [written, leftOut] = [market({ clientId: 'written', collateral: 'USDC' }), market({ clientId: 'written' })];
    expect(done(await agent.create(written))).toEqual(done(await agent.create(leftOut)));
    expect(refusal(await agent.create({ ...leftOut, collateral: 'DAI' }))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    const conflict = await agent.create(market({ clientId: 'one', size: '0.06' }));
    expect(refusal(conflict)).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    expect(conflict.body['details']).toEqual({ clientId: 'one', id: first.order['id'] });
  });

  it('names one order of many that ask at once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.create(market({ clientId: 'crowd' }))));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map((answer) => done(answer).order['id'])).size).toBe(1);
    expect(new Set(answers.map((answer) => prepared(answer).data)).size).toBe(1);
    const mixed = await Promise.all(['0.05', '0.06'].map((size) => agent.create(market({ clientId: 'mixed', size }))));
    expect(mixed.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  it('gives its transaction away no more once it was sent', async () => {
    const limit = market({ type: 'limit', price: '41000', clientId: 'sent' });
    const { order, transaction } = done(await agent.create(limit));
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    const open = await agent.reaches(String(order['id']), 'open');
    expect(done(await agent.create(limit))).toEqual({ order: open, transaction: null });
  });

  it('belongs to its trader alone', async () => {
    const mine = done(await agent.create(market({ clientId: 'shared' })));
    const theirs = done(await other.create(market({ clientId: 'shared' })));
    expect(theirs.order['id']).not.toBe(mine.order['id']);
    expect(refusal(await other.call('getOrder', 'GET', `/orders/${String(mine.order['id'])}`))).toEqual([404, 'ORDER_NOT_FOUND']);
  });
});

describe('an order of a trader who is its own agent', () => {
  it('is the bare call, sent by the trader', async () => {
    const self = await newAgentTrader(sandbox, chain, { self: true });
    const answer = await self.create(market({ type: 'limit', price: '40000' }));
    expect(prepared(answer).data).toMatch(/^0x5bfcc4f8/);
    await self.send(prepared(answer));
    await self.reaches(String(done(answer).order['id']), 'open');
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, self.trader);
  });
});

describe('an order that only reduces', () => {
  const opposite = (changes: Json = {}): Json => ({
    market: 'ETH/USD',
    side: 'short',
    type: 'market',
    size: '1',
    reduceOnly: true,
    ...changes,
  });
  const long = (size: string): Json => market({ market: 'ETH/USD', size });
  const openSizes = async (): Promise<string[]> => (await other.positions()).map(({ size }) => Number(size).toFixed(4));

  it('needs something to reduce', async () => {
    expect(refusal(await other.create(opposite()))).toEqual([422, 'UNSUPPORTED']);
  });

  it('takes a part off the oldest position, then the rest of it, and leaves the younger one alone', async () => {
    await other.place(long('2'), 'filled');
    await other.place(long('3'), 'filled');
    const [oldest] = await openSizes();
    const part = await other.place(opposite({ clientId: 'part' }), 'filled');
    expect(part).toMatchObject({ side: 'short', reduceOnly: true, leverage: '10', clientId: 'part', type: 'market', price: null });
    expect(await openSizes()).toEqual([(Number(oldest) - 1).toFixed(4), expect.anything()]);
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, other.trader);
    const [{ size } = { size: '' }] = await other.positions();
    await other.place(opposite({ size }), 'filled');
    expect(await openSizes()).toHaveLength(1);
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, other.trader);
  });

  it('closes several positions, oldest first and the last in part, each as an order of one transaction', async () => {
    for (const size of ['2', '1']) await other.place(long(size), 'filled'); // beside the one of 3
    const sizes = (await other.positions()).map(({ size }) => Number(size));
    const [first = 0, second = 0] = sizes;
    const size = (first + second - 1).toFixed(8);
    const asked = opposite({ size, clientId: 'all' });
    const answer = await other.create(asked);
    const { order } = done(answer);
    const others = answer.body['others'] as Json[];
    expect([order, ...others].map(({ clientId }) => clientId)).toEqual(['all', null]);
    expect([order, ...others].reduce((sum, { size: part }) => sum + Number(part), 0)).toBeCloseTo(Number(size), 6);
    expect(done(await other.create(asked))).toEqual(done(answer));
    const again = await other.create(asked);
    expect([again.body['transaction'], again.body['others']]).toEqual([answer.body['transaction'], others]);
    await other.send(prepared(answer));
    for (const { id } of [order, ...others]) expect(await other.reaches(String(id), 'filled')).toMatchObject({ reduceOnly: true });
    const left = await eventually(
      () => other.positions(),
      ({ length }) => length === 2,
    );
    expect(Number(left[0]?.['size'])).toBeCloseTo(1, 4);
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, other.trader);
    expect((await other.openOrders()).filter(({ reduceOnly }) => reduceOnly)).toEqual([]);
  });

  it('never opens: more than all positions, the same side, another collateral and a resting one are refused', async () => {
    for (const changes of [
      { size: '100' },
      { side: 'long' },
      { collateral: 'DAI' },
      { type: 'limit', price: '9000', size: '0.7' },
      { type: 'stop', price: '1000', size: '0.7' },
    ])
      expect([changes, refusal(await other.create(opposite(changes)))]).toEqual([changes, [422, 'UNSUPPORTED']]);
  });

  it('is refused with the order that keeps the position busy, and when that can be reclaimed', async () => {
    chain.setOraclePolicy(1, { mode: 'hold' });
    const first = done(await other.create(opposite({ size: '0.5' })));
    if (first.transaction === null) throw new Error('there is nothing to send');
    await other.send(first.transaction);
    await other.reaches(String(first.order['id']), 'pending');
    const busy = await other.create(opposite({ size: '0.5' }));
    expect(refusal(busy)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(busy.body['details']).toMatchObject({ id: first.order['id'], status: 'pending', reclaimableAt: expect.any(Number) });
    chain.setOraclePolicy(1, { mode: 'auto' });
    await other.reaches(String(first.order['id']), 'filled');
  });
});
