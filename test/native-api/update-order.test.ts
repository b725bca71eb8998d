import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { controlCall, diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { chainTrader, newTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
}, 60_000);
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);
const resting = async (of = agent, changes: Json = {}): Promise<string> => idOf(await of.place({ ...LIMIT, ...changes }, 'open'));

/** Sends a change and waits until the chain tells it. */
async function change(id: string, body: Json, until: Json): Promise<Json> {
  const answer = await agent.update(id, body);
  const { order } = done(answer);
  expect(order).toMatchObject({ id, status: 'open', ...until });
  await agent.send(prepared(answer));
  const [[field, value] = ['', '']] = Object.entries(until);
  return eventually(
    () => agent.order(id),
    (found) => found[field] === value,
  );
}

async function withdraw(id: string, of = agent): Promise<void> {
  await of.send(prepared(await of.cancel(id)));
  await of.reaches(id, 'canceled');
}

describe('PATCH /orders/{id} of a resting order', () => {
  it('moves its price, levels and slippage and keeps the rest', async () => {
    const id = await resting(agent, { tp: '70000', sl: '48000' });
    const before = await agent.order(id);
    expect(await change(id, { price: '49000' }, { price: '49000' })).toMatchObject({ tp: '70000', sl: '48000', slippage: '1' });
    expect(await change(id, { tp: '65000', slippage: '0.5' }, { tp: '65000', slippage: '0.5' })).toMatchObject({ price: '49000' });
    expect(await change(id, { sl: '0', tp: '0' }, { sl: null, tp: null })).toMatchObject({ id, createdAt: before['createdAt'] });
    await viewEqualsChain();
    await withdraw(id);
  }, 40_000);

  it('keeps its size and its id when its price moves, with the collateral that takes', async () => {
    const before = await agent.trader.usdc();
    const id = await resting();
    const slot = (await agent.trader.trades())[0]?.index;
    expect(await change(id, { price: '49000' }, { price: '49000', size: '0.02' })).toMatchObject({ size: '0.02' });
    expect(await agent.trader.usdc()).toBe(before - 98_000_000n);
    expect((await agent.trader.trades()).map(({ index }) => index === slot)).toEqual([false]);
    await viewEqualsChain();
    expect(await change(id, { price: '50001.5' }, { price: '50001.5', size: '0.02' })).toMatchObject({ id, size: '0.02' });
    expect(await agent.trader.usdc()).toBe(before - 100_003_000n);
    await viewEqualsChain();
    await withdraw(id);
    expect(await agent.trader.usdc()).toBe(before);
  }, 30_000);

  it('says which stop loss the contracts will store in the place of one that is too deep', async () => {
    const id = await resting();
    const answer = await agent.update(id, { sl: '1000' });
    const told = String(done(answer).order['sl']);
    expect(Number(told)).toBeGreaterThan(40_000);
    await agent.send(prepared(answer));
    const after = await eventually(
      () => agent.order(id),
      ({ sl }) => sl !== null,
    );
    expect(after['sl']).toBe(told);
    await viewEqualsChain();
    await withdraw(id);
  }, 30_000);

  it('changes its size in one transaction, under the same id', async () => {
    const before = await agent.trader.usdc();
    const id = await resting(agent, { tp: '70000' });
    const slot = (await agent.trader.trades())[0]?.index;
    expect(await change(id, { size: '0.03' }, { size: '0.03' })).toMatchObject({ id, price: '50000', tp: '70000', status: 'open' });
    expect(await agent.trader.usdc()).toBe(before - 150_000_000n);
    const trades = await agent.trader.trades();
    expect(trades).toHaveLength(1);
    expect(trades[0]?.index).not.toBe(slot);
    await viewEqualsChain();
    expect(await change(id, { size: '0.01', price: '45000' }, { size: '0.01', price: '45000' })).toMatchObject({ id });
    expect(await agent.trader.usdc()).toBe(before - 45_000_000n);
    await viewEqualsChain();
    expect(await agent.openOrders()).toHaveLength(1);
    await withdraw(id);
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  }, 60_000);

  it('fills under the same id after it was replaced', async () => {
    const id = await resting(agent, { price: '59000' });
    await change(id, { size: '0.03' }, { size: '0.03' });
    sandbox.controls.prices.jump(0, '58900');
    const filled = await agent.reaches(id, 'filled');
    sandbox.controls.prices.jump(0, '60000');
    expect(filled).toMatchObject({ id, type: 'limit', fill: { positionId: (await agent.position())['id'] } });
    await viewEqualsChain();
    await agent.send(prepared(await agent.close(String((await agent.position())['id']))));
    await eventually(
      () => agent.positions(),
      (positions) => positions.length === 0,
    );
  }, 60_000);

  it('sends nothing when nothing changes', async () => {
    const id = await resting(agent, { tp: '70000' });
    for (const body of [{}, { price: '50000' }, { size: '0.02' }, { tp: '70000', slippage: '1' }]) {
      const answer = await agent.update(id, body);
      expect([answer.status, answer.body['transaction']]).toEqual([200, null]);
      expect(answer.body['order']).toEqual(await agent.order(id));
    }
    await withdraw(id);
    expect(done(await agent.update(id, {})).order).toMatchObject({ status: 'canceled' });
  }, 30_000);

  it('works on an order placed elsewhere', async () => {
    await agent.trader.open({ tradeType: 2, openPrice: 65_000n * 10n ** 10n });
    const [order] = await eventually(
      () => agent.openOrders(),
      (orders) => orders.length === 1,
    );
    const id = idOf(order ?? {});
    expect(await change(id, { price: '66000' }, { price: '66000' })).toMatchObject({ type: 'stop' });
    await viewEqualsChain();
    await withdraw(id);
  }, 30_000);

  it.each([
    ['a price with eleven decimals', { price: '50000.12345678901' }, 422, 'PRECISION_ERROR'],
    ['a size with nine decimals', { size: '0.123456789' }, 422, 'PRECISION_ERROR'],
    ['a slippage with four decimals', { slippage: '0.1234' }, 422, 'PRECISION_ERROR'],
    ['a slippage above what the contracts hold', { slippage: '66' }, 400, 'VALIDATION_ERROR'],
    ['a price of 0', { price: '0' }, 400, 'VALIDATION_ERROR'],
    ['a negative stop loss', { sl: '-1' }, 400, 'VALIDATION_ERROR'],
    ['a price no contract can hold', { price: '9999999999' }, 400, 'VALIDATION_ERROR'],
    ['a number', { price: 50000 }, 400, 'VALIDATION_ERROR'],
    ['a field nobody knows', { leverage: '5' }, 400, 'VALIDATION_ERROR'],
    ['a size that no wallet can pay', { size: '10000000000000000000000000000' }, 400, 'VALIDATION_ERROR'],
    ['a take profit below the price of a long', { tp: '49000' }, 422, 'SIMULATION_REVERTED'],
    ['a stop loss above the price of a long', { sl: '51000' }, 422, 'SIMULATION_REVERTED'],
    ['a size below the minimum', { size: '0.0001' }, 422, 'SIZE_BELOW_MINIMUM'],
    ['a size the trader cannot pay', { size: '20' }, 422, 'SIMULATION_REVERTED'],
  ] as const)('refuses %s', async (_what, body, status, code) => {
    const id = await restingForRefusals();
    expect(refusal(await agent.update(id, body))).toEqual([status, code]);
    expect(await agent.order(id)).toMatchObject({ status: 'open', price: '50000', size: '0.02' });
  });

  it('shows the very call that would fail', async () => {
    const id = await restingForRefusals();
    const call = (answer: { body: Json }) => String((answer.body['details'] as Json)['calldata']).slice(0, 10);
    expect(call(await agent.update(id, { tp: '49000' }))).toBe('0xa4bb127e'); // updateOpenOrder
    expect(call(await agent.update(id, { tp: '49000', size: '0.03' }))).toBe('0xac9650d8'); // multicall
  }, 30_000);

  let forRefusals: Promise<string> | undefined;
  const restingForRefusals = (): Promise<string> => (forRefusals ??= resting());

  it('keeps agents to the market, leverage and spending of their scope', async () => {
    const capped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, dailySpendCapUsd: '1500' } });
    const id = await resting(capped);
    const over = await capped.update(id, { size: '0.04' });
    expect(refusal(over)).toEqual([403, 'SCOPE_SPEND_CAP_EXCEEDED']);
    expect(over.body['details']).toEqual({ requestedUsd: '1000', spentUsd: '1000', capUsd: '1500' });
    expect((await capped.update(id, { size: '0.03' })).status).toBe(200);
    expect((await capped.update(id, { size: '0.03' })).status).toBe(200);
    expect((await capped.update(id, { price: '49000' })).status).toBe(200);
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'], maxLeverage: '5' } });
    await scoped.trader.open({ pairIndex: 0, tradeType: 1, openPrice: 40_000n * 10n ** 10n });
    await scoped.trader.open({ pairIndex: 1, tradeType: 1, openPrice: 1_000n * 10n ** 10n });
    const orders = await eventually(
      () => scoped.openOrders(),
      (found) => found.length === 2,
    );
    const of = (market: string): string => idOf(orders.find((order) => order['market'] === market) ?? {});
    expect(refusal(await scoped.update(of('BTC/USD'), { price: '41000' }))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    expect(refusal(await scoped.update(of('ETH/USD'), { price: '1100' }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
  }, 40_000);
});

describe('PATCH /orders/{id} of an order that does not rest', () => {
  it('refuses one that is prepared, waits for the oracle, is filled or canceled', async () => {
    const other = await newAgentTrader(sandbox, chain);
    const made = done(await other.create(LIMIT));
    const prepare = await other.update(idOf(made.order), { price: '49000' });
    expect([...refusal(prepare), prepare.body['details']]).toEqual([
      409,
      'ORDER_NOT_MODIFIABLE',
      { id: made.order['id'], status: 'prepared' },
    ]);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const id = idOf(await other.place({ ...LIMIT, type: 'market', price: '60000' }, 'pending'));
    const pending = await other.update(id, { slippage: '2' });
    expect(refusal(pending)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect((pending.body['details'] as { reclaimableAt: number }).reclaimableAt).toBeGreaterThan(Date.now());
    chain.setOraclePolicy(null, { mode: 'auto' });
    await other.reaches(id, 'filled');
    const filled = await other.update(id, { slippage: '2' });
    expect([...refusal(filled), filled.body['details']]).toEqual([409, 'ORDER_NOT_MODIFIABLE', { id, status: 'filled' }]);
    await viewEqualsChain(other);
  }, 40_000);

  it('refuses one that a keeper is triggering', async () => {
    const other = await newAgentTrader(sandbox, chain);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const id = await resting(other);
    const [trade] = await other.trader.trades();
    const keeper = await newTrader(chain);
    await keeper.send(chain.definition.diamond, diamondCall('triggerOrder', [packed(2, other.trader.account.address, trade?.index ?? 0)]));
    for (const answer of [await other.update(id, { price: '49000' }), await other.cancel(id)]) {
      expect(refusal(answer)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
      expect(answer.body['details']).toMatchObject({ id, status: 'open', reason: 'a keeper is executing it' });
    }
  }, 30_000);

  it("does not show another trader's order", async () => {
    const id = await resting();
    const other = await newAgentTrader(sandbox, chain);
    for (const body of [{}, { price: '49000' }]) expect(refusal(await other.update(id, body))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.update('0', { price: '49000' }))).toEqual([404, 'ORDER_NOT_FOUND']);
    await withdraw(id);
  }, 30_000);

  it('refuses while positions may only be closed; a cancel goes through, unless all is paused', async () => {
    const other = await newAgentTrader(sandbox, chain);
    const id = await resting(other);
    const operator = chainTrader(chain, sandbox.controls.accounts.operator.privateKey);
    const activate = (state: number) => operator.send(chain.definition.diamond, controlCall('sandboxSetTradingActivated', [state]));
    await activate(1);
    try {
      const answer = await eventually(
        () => other.update(id, { price: '49000' }),
        ({ body }) => body['code'] === 'MARKET_CLOSED',
      );
      expect(answer.body['details']).toEqual({ market: 'BTC/USD', session: 'close_only' });
      expect((await other.cancel(id)).status).toBe(200);
      await activate(2);
      const paused = await other.cancel(id);
      expect(refusal(paused)).toEqual([422, 'SIMULATION_REVERTED']);
      expect(paused.body['details']).toMatchObject({ errorName: 'Paused' });
    } finally {
      await activate(0);
      await eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen,
      );
    }
    await withdraw(id, other);
    await viewEqualsChain(other);
  }, 40_000);

  it('says 502 while the node is gone, and nothing is remembered', async () => {
    const id = await resting();
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.update(id, { size: '0.05' }))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect(await agent.order(id)).toMatchObject({ status: 'open', size: '0.02' });
    await eventually(
      () => agent.update(id, { price: '49000' }),
      ({ status }) => status === 200,
    );
  }, 30_000);
});
