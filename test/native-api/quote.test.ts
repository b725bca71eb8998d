import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { createFaultProxy } from '../../sandbox/fault-proxy.js';
import { BUSY_AGENTS, newAgentTrader, refusal, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { operatorOf } from '../harness/venue/operator.js';
import { eventually } from '../harness/time/eventually.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { setClassOpen } from '../harness/venue/market-hours.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

let sandbox: TestVenue;
let chain: ChainControls;
const PATH = '/v1/arbitrum-sepolia/quote';

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  for (const [pair, price] of [
    [0, '60000'],
    [1, '3000'],
  ] as const)
    sandbox.controls.prices.jump(pair, price);
});
afterAll(() => sandbox.stop());

const order = (changes: Json = {}): Json => ({ market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10', ...changes });
const ask = async (changes: Json = {}): Promise<Answer> => {
  const { status, headers, body } = await sandbox.post(PATH, order(changes));
  return { status, headers, body: body as Json };
};
const quote = async (changes: Json = {}): Promise<Record<string, string> & { account: Json | null; reason: string | null }> => {
  const { status, body } = await ask(changes);
  expect([status, body['code']]).toEqual([200, undefined]);
  return body as never;
};
const signed = (agent: AgentTrader, changes: Json = {}): Promise<Answer> => agent.call('quoteOrder', 'POST', '/quote', order(changes));

describe('a quote without credentials', () => {
  it('has price, impact, fees, liquidation and free exposure, and makes no call to a node', async () => {
    const proxy = await createFaultProxy({ target: chain.rpcUrl, clock: systemClock });
    const beside = await startSecondGateway(sandbox, { hosts: { rpcUrls: [proxy.url] } });
    try {
      const body = JSON.stringify(order({ sl: '55000', tp: '70000' }));
      const asked = () => fetch(`${beside.url}${PATH}`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
      await eventually(asked, ({ status }) => status === 200);
      const about: string[] = [];
      proxy.onRequest((body) => {
        about.push(JSON.stringify(body));
        return undefined;
      });
      proxy.set({ mode: 'down' });
      const response = await asked();
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        market: 'BTC/USD',
        session: 'open',
        size: '0.05',
        sl: '55000',
        tp: '70000',
        account: null,
        reason: null,
      });
      expect(about.filter((text) => text.includes('eth_call') || text.includes('eth_estimateGas'))).toEqual([]);
    } finally {
      await beside.stop();
      await proxy.close();
    }
  });

  it('is what the order then gets', async () => {
    const trader = await newAgentTrader(sandbox, chain, { usdc: '50000' });
    sandbox.controls.prices.jump(1, '3000');
    await eventually(
      () => quote({ market: 'ETH/USD', size: '3' }),
      ({ price }) => Number(price) > 2_900 && Number(price) < 3_100,
    );
    const quoted = await quote({ market: 'ETH/USD', size: '3', sl: '2900' });
    const filled = await trader.place(order({ market: 'ETH/USD', size: '3', sl: '2900' }), 'filled');
    const fill = filled['fill'] as Record<string, string>;
    const position = await trader.position();
    const near = (a: unknown, b: unknown): number => Math.abs(Number(a) / Number(b) - 1);
    expect(near(fill['price'], quoted['expectedPrice'])).toBeLessThan(0.002);
    expect(near(position['liquidationPrice'], quoted['liquidationPrice'])).toBeLessThan(0.002);
    expect(near(fill['feeCollateral'], (quoted['fees'] as unknown as Json)['open'])).toBeLessThan(0.002);
    expect(near(fill['collateral'], quoted['collateralNeeded'])).toBeLessThan(0.002);
  });

  it('is for the size that was asked for, whatever price a market order expects', async () => {
    const trader = await newAgentTrader(sandbox, chain);
    const quoted = await quote({ price: '65000' });
    expect(quoted).toMatchObject({
      size: '0.05',
      price: '65000',
      worstPrice: '65650',
      collateralNeeded: (await quote())['collateralNeeded'],
    });
    const filled = await trader.place(order({ price: '65000' }), 'filled');
    expect(filled).toMatchObject({ size: '0.05', price: '65000' });
    const fill = filled['fill'] as Record<string, string>;
    expect(Number(fill['size'])).toBeCloseTo(0.05, 4);
    expect(fill['collateral']).toBe(quoted['collateralNeeded']);
  });

  it('adds its parts up, and lets no worse price through than its slippage', async () => {
    const { impact, price, worstPrice, expectedPrice } = (await quote({ size: '20', slippage: '0.5' })) as never as {
      impact: Record<string, string>;
      price: string;
      worstPrice: string;
      expectedPrice: string;
    };
    const sum = ['spreadPercent', 'volumePercent', 'skewPercent'].reduce((total, part) => total + Number(impact[part]), 0);
    expect(sum).toBeCloseTo(Number(impact['totalPercent']), 8);
    expect(Number(impact['volumePercent'])).toBeGreaterThan(0);
    expect(Number(worstPrice)).toBeCloseTo(Number(price) * 1.005, 4);
    expect(Number(expectedPrice)).toBeGreaterThan(59_000);
  });

  it.each([
    ['SLIPPAGE', { price: '50000' }],
    ['EXPOSURE_LIMITS', { size: '510', leverage: '2', slippage: '60' }],
    ['LIQ_REACHED', { size: '400', leverage: '150', slippage: '60' }],
    [null, {}],
    [null, { type: 'limit', price: '50000' }],
    [null, { type: 'stop', price: '80000', side: 'long' }],
  ])('says that the chain would refuse with %s: %j', async (reason, changes) => {
    expect((await quote(changes)).reason).toBe(reason);
  });

  it('has the session, and MARKET_CLOSED while the market is closed', async () => {
    setClassOpen(sandbox, 9, false);
    const shut = await eventually(
      () => quote({ market: 'EUR/USD', size: '10000' }),
      ({ session }) => session === 'closed',
    );
    expect(shut.reason).toBe('MARKET_CLOSED');
    expect((await quote({ market: 'EUR/USD', size: '10000', type: 'limit', price: '1' })).reason).toBeNull();
    setClassOpen(sandbox, 9, true);
  });

  it('says that trading is paused', async () => {
    const operator = operatorOf(chain);
    const set = (state: number) => operator.control('sandboxSetTradingActivated', [state]);
    await set(1);
    await eventually(
      () => quote(),
      ({ reason }) => reason === 'PAUSED',
    );
    await set(0);
    await eventually(
      () => quote(),
      ({ reason }) => reason === null,
    );
  });

  it.each([
    [{ market: 'NOPE/USD' }, 404, 'MARKET_NOT_FOUND'],
    [{ collateral: 'GOLD' }, 422, 'COLLATERAL_NOT_SUPPORTED'],
    [{ size: '0.123456789' }, 422, 'PRECISION_ERROR'],
    [{ leverage: '151' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    [{ size: '0.0001' }, 422, 'SIZE_BELOW_MINIMUM'],
    [{ tp: '1' }, 422, 'SIMULATION_REVERTED'],
    [{ reduceOnly: true, leverage: undefined }, 422, 'UNSUPPORTED'],
    [{ nonsense: 1 }, 400, 'VALIDATION_ERROR'],
  ])('refuses %j as the order itself would be', async (changes, status, code) => {
    expect(refusal(await ask(changes))).toEqual([status, code]);
  });
});

describe('a quote for an agent', () => {
  it('knows the balance, the allowance, the fee tier and the terms of its trader', async () => {
    const agent = await newAgentTrader(sandbox, chain, { usdc: '10' });
    const operator = operatorOf(chain);
    const { address } = agent.trader.account;
    const plain = await quote();
    await operator.control('sandboxSetTraderTier', [address, 900, false]);
    await operator.control('sandboxSetUserPriceImpact', [address, 0n, 0, 500]);
    const { status, body } = await signed(agent);
    expect(status).toBe(200);
    expect(body['account']).toMatchObject({ balance: '10', isFunded: false, feeTierMultiplier: '0.9', scope: [] });
    expect(Number((body['impact'] as Json)['spreadPercent'])).toBeCloseTo(
      Number((plain['impact'] as never as Json)['spreadPercent']) + 0.25,
      6,
    );
    expect((body['fees'] as Json)['tierMultiplier']).toBe('0.9');
  });

  it('says everything its scope has against the order, also to one that may only read', async () => {
    const bounds = { markets: ['ETH/USD'], maxLeverage: '2', dailySpendCapUsd: '10', permissions: 'read' };
    const agent = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, ...bounds } });
    const { body } = await signed(agent);
    expect(((body['account'] as Json)['scope'] as { code: string }[]).map(({ code }) => code)).toEqual([
      'SCOPE_READ_ONLY',
      'SCOPE_MARKET_NOT_ALLOWED',
      'SCOPE_LEVERAGE_EXCEEDED',
      'SCOPE_SPEND_CAP_EXCEEDED',
    ]);
  });

  it('counts as a write of the agent', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    const before = await signed(agent);
    const after = await signed(agent);
    expect(Number(before.headers.get('RateLimit-Remaining')) - Number(after.headers.get('RateLimit-Remaining'))).toBe(1);
    expect(after.headers.get('RateLimit-Limit')).toBe(BUSY_AGENTS.RATE_LIMIT_AGENT_WRITES);
  });

  it('is refused to wrong credentials: they never count as another agent, nor as no credentials', async () => {
    const stranger = new Wallet(generatePrivateKey());
    const body = new TextEncoder().encode(JSON.stringify(order()));
    const headers = await signRequest(new Wallet(stranger.privateKey), chain.definition, {
      operationId: 'quoteOrder',
      method: 'POST',
      path: PATH,
      body,
    });
    expect(refusal(await post(body, headers))).toEqual([401, 'AGENT_UNKNOWN']);
    const agent = await newAgentTrader(sandbox, chain);
    const other = await signRequest(agent.wallet, chain.definition, { operationId: 'createOrder', method: 'POST', path: PATH, body });
    expect(refusal(await post(body, other))).toEqual([401, 'INVALID_SIGNATURE']);
    expect(refusal(await post(body, { 'X-Service-Api-Key': 'nonsense' }))).toEqual([401, 'UNAUTHENTICATED']);
    expect(refusal(await post(body, { 'X-Service-Agent': agent.wallet.address }))).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('is a 502 while the node is down, and still answered without credentials', async () => {
    const agent = await newAgentTrader(sandbox, chain);
    expect((await signed(agent)).status).toBe(200);
    chain.setRpcFault({ mode: 'down' });
    expect(refusal(await signed(agent))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    expect((await ask()).status).toBe(200);
    chain.setRpcFault({ mode: 'ok' });
  });
});

async function post(body: Uint8Array, headers: Record<string, string>): Promise<Answer> {
  const reply = await sandbox.call(PATH, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
  return { status: reply.status, headers: reply.headers, body: reply.body as Json };
}
