import { getBytes } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import { tagsIn } from '../../core/orders/tag.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/agent-trader.js';
import { expectViewEqualsChain } from '../harness/chain-checker.js';
import { startTestSandbox, type TestSandbox } from '../harness/sandbox.js';

let sandbox: TestSandbox;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  sandbox = await startTestSandbox();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  agent = await newAgentTrader(sandbox, chain, { usdc: '100000' });
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

  it('rests when it is a limit', async () => {
    const order = await agent.place(market({ type: 'limit', price: '40000', sl: '1' }), 'open');
    expect(order).toMatchObject({ type: 'limit', price: '40000', size: '0.05' });
    await expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
  });
});

describe('an order that is refused', () => {
  it.each([
    ['a market nobody lists', { market: 'NOPE/USD' }, 404, 'MARKET_NOT_FOUND'],
    ['a digit too many', { size: '0.123456789' }, 422, 'PRECISION_ERROR'],
    ['too much leverage', { leverage: '151' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['too little money', { size: '0.0001' }, 422, 'SIZE_BELOW_MINIMUM'],
    ['a collateral nobody takes', { collateral: 'DOGE' }, 422, 'COLLATERAL_NOT_SUPPORTED'],
    ['a take profit on the wrong side', { tp: '100' }, 422, 'SIMULATION_REVERTED'],
  ])('for %s says so', async (_why, changes, status, code) => {
    expect(refusal(await agent.create(market(changes)))).toEqual([status, code]);
  });
});

describe('a clientId', () => {
  it('names one order, however often it is asked for', async () => {
    const first = done(await agent.create(market({ clientId: 'one' })));
    const again = done(await agent.create(market({ clientId: 'one', size: '0.050' })));
    expect(again).toEqual(first);
    expect(refusal(await agent.create(market({ clientId: 'one', size: '0.06' })))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
  });
});
