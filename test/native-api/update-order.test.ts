import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { LIMIT, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let operator: Operator;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  agent = await newAgentTrader(sandbox, chain);
  operator = operatorOf(chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);
const resting = async (of = agent, changes: Json = {}): Promise<string> => idOf(await of.place({ ...LIMIT, ...changes }, 'open'));

/** Sends a change and waits until the gateway has read it from the chain. */
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
  it('moves its price, levels and slippage and keeps the rest, and sends nothing when nothing changes', async () => {
    const id = await resting(agent, { tp: '70000', sl: '48000' });
    const before = await agent.order(id);
    expect(await change(id, { price: '49000' }, { price: '49000' })).toMatchObject({ tp: '70000', sl: '48000', slippage: '1' });
    for (const body of [{}, { price: '49000' }, { size: '0.02' }, { tp: '70000', slippage: '1' }]) {
      const answer = await agent.update(id, body);
      expect([answer.status, answer.body['transaction']]).toEqual([200, null]);
      expect(answer.body['order']).toEqual(await agent.order(id));
    }
    expect(await change(id, { tp: '65000', slippage: '0.5' }, { tp: '65000', slippage: '0.5' })).toMatchObject({ price: '49000' });
    expect(await change(id, { sl: '0', tp: '0' }, { sl: null, tp: null })).toMatchObject({ id, createdAt: before['createdAt'] });
    await viewEqualsChain();
    const answer = await agent.update(id, { sl: '1000' });
    const clamped = String(done(answer).order['sl']);
    expect(Number(clamped)).toBeGreaterThan(40_000); // what the contracts store in the place of one that is too deep
    await agent.send(prepared(answer));
    const after = await eventually(
      () => agent.order(id),
      ({ sl }) => sl !== null,
    );
    expect(after['sl']).toBe(clamped);
    await viewEqualsChain();
    await withdraw(id);
    expect(done(await agent.update(id, {})).order).toMatchObject({ status: 'canceled' });
  });

  it('changes its price and its size in one transaction each, under the same id, with the collateral that takes', async () => {
    const before = await agent.trader.usdc();
    const id = await resting(agent, { tp: '70000' });
    const slotOf = async () => (await agent.trader.trades()).map(({ index }) => index);
    const slot = await slotOf();
    expect(await change(id, { price: '50001.5' }, { price: '50001.5', size: '0.02' })).toMatchObject({ id, size: '0.02', tp: '70000' });
    expect(await agent.trader.usdc()).toBe(before - 100_003_000n);
    const next = await slotOf();
    expect(next).toHaveLength(1);
    expect(next).not.toEqual(slot);
    await viewEqualsChain();
    expect(await change(id, { size: '0.03' }, { size: '0.03' })).toMatchObject({ id, price: '50001.5', tp: '70000', status: 'open' });
    expect(await slotOf()).not.toEqual(next);
    expect(await agent.openOrders()).toHaveLength(1);
    expect(await change(id, { size: '0.01', price: '45000' }, { size: '0.01', price: '45000' })).toMatchObject({ id });
    expect(await agent.trader.usdc()).toBe(before - 45_000_000n);
    await withdraw(id);
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  });

  it('fills under the same id after it was replaced', async () => {
    const id = await resting(agent, { price: '59000' });
    await change(id, { size: '0.03' }, { size: '0.03' });
    sandbox.controls.prices.jump(0, '58900');
    const filled = await agent.reaches(id, 'filled');
    sandbox.controls.prices.jump(0, '60000');
    expect(filled).toMatchObject({ id, type: 'limit', fill: { positionId: (await agent.position())['id'] } });
    await viewEqualsChain();
  });

  it('leaves a counter trade, which another front end placed, the terms of one', async () => {
    await operator.control('sandboxSetCounterTrade', [0, 20_000, 500]);
    const own = await newAgentTrader(sandbox, chain);
    await own.trader.open({ tradeType: 1, openPrice: 50_000n * 10n ** 10n, isCounterTrade: true });
    const [order] = await eventually(
      () => own.openOrders(),
      (found) => found.length === 1,
    );
    const id = idOf(order ?? {});
    for (const [body, isReplaced] of [
      [{ price: '51000' }, true],
      [{ size: '0.03' }, true],
      [{ sl: '49000' }, false],
    ] as const) {
      const [before] = await own.trader.trades();
      await own.send(prepared(await own.update(id, body)));
      const [after] = await own.trader.trades();
      expect([after?.isCounterTrade, after?.index !== before?.index]).toEqual([true, isReplaced]);
      const [[field, value] = ['', '']] = Object.entries(body);
      await eventually(
        () => own.order(id),
        (found) => found[field] === value,
      );
    }
    await viewEqualsChain(own);
  });

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
  });

  it.each([
    ['a price with eleven decimals', { price: '50000.12345678901' }, 422, 'PRECISION_ERROR'],
    ['an unknown field', { leverage: '5' }, 400, 'VALIDATION_ERROR'],
    ['a take profit below the price of a long', { tp: '49000' }, 422, 'SIMULATION_REVERTED'],
    ['a stop loss above the price of a long', { sl: '51000' }, 422, 'SIMULATION_REVERTED'],
    ['a size below the minimum', { size: '0.0001' }, 422, 'SIZE_BELOW_MINIMUM'],
    ['a size the trader cannot pay', { size: '20' }, 422, 'SIMULATION_REVERTED'],
  ] as const)('refuses %s', async (_what, body, status, code) => {
    const id = await restingForRefusals();
    expect(refusal(await agent.update(id, body))).toEqual([status, code]);
  });

  it('shows the very call that would fail', async () => {
    const id = await restingForRefusals();
    const call = (answer: { body: Json }) => String((answer.body['details'] as Json)['calldata']).slice(0, 10);
    expect(call(await agent.update(id, { tp: '49000' }))).toBe('0xa4bb127e'); // updateOpenOrder
    expect(call(await agent.update(id, { tp: '49000', size: '0.03' }))).toBe('0xac9650d8'); // multicall
  });

  let forRefusals: Promise<string> | undefined;
  const restingForRefusals = (): Promise<string> => (forRefusals ??= resting());

  it("keeps agents to the market, leverage and spending of their scope, and from another trader's order", async () => {
    const scope = { ...EVERYTHING, markets: ['ETH/USD'], maxLeverage: '10', dailySpendCapUsd: '1500' };
    const scoped = await newAgentTrader(sandbox, chain, { scope });
    for (const body of [{}, { price: '49000' }])
      expect(refusal(await scoped.update(await restingForRefusals(), body))).toEqual([404, 'ORDER_NOT_FOUND']);
    expect(refusal(await agent.update('0', { price: '49000' }))).toEqual([404, 'ORDER_NOT_FOUND']);
    const id = await resting(scoped, { market: 'ETH/USD', size: '1', price: '1000' });
    const over = await scoped.update(id, { size: '2' });
    expect(refusal(over)).toEqual([403, 'SCOPE_SPEND_CAP_EXCEEDED']);
    expect(over.body['details']).toEqual({ requestedUsd: '1000', spentUsd: '1000', capUsd: '1500' });
    expect((await scoped.update(id, { size: '1.5' })).status).toBe(200);
    expect((await scoped.update(id, { size: '1.5' })).status).toBe(200);
    expect(refusal(await scoped.update(id, { price: '990' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await scoped.trader.open({ pairIndex: 0, tradeType: 1, openPrice: 40_000n * 10n ** 10n });
    await scoped.trader.open({ pairIndex: 1, tradeType: 1, openPrice: 1_000n * 10n ** 10n, leverage: 20_000 });
    const orders = await eventually(
      () => scoped.openOrders(),
      (found) => found.length === 3,
    );
    const of = (field: string, value: string): string => idOf(orders.find((order) => order[field] === value) ?? {});
    expect(refusal(await scoped.update(of('market', 'BTC/USD'), { price: '41000' }))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    expect(refusal(await scoped.update(of('leverage', '20'), { price: '1100' }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
  });

  it('refuses one that a keeper is triggering', async () => {
    const id = await restingForRefusals();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const trade = (await agent.trader.trades()).find(({ tradeType }) => tradeType === 1);
    const call = diamondCall('triggerOrder', [packed(2, agent.trader.account.address, trade?.index ?? 0)]);
    await operator.send(call);
    for (const answer of [await agent.update(id, { price: '49000' }), await agent.cancel(id)]) {
      expect(refusal(answer)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
      expect(answer.body['details']).toMatchObject({ id, status: 'open', reason: 'a keeper is executing it' });
    }
    chain.setOraclePolicy(null, { mode: 'auto' });
    await eventually(
      () => agent.trader.pending(),
      (pending) => pending === 0,
    );
  });

  it('refuses while positions may only be closed; a cancel goes through, unless all is paused', async () => {
    const id = await restingForRefusals();
    const activate = (state: number) => operator.control('sandboxSetTradingActivated', [state]);
    await activate(1);
    try {
      const answer = await eventually(
        () => agent.update(id, { price: '49000' }),
        ({ body }) => body['code'] === 'MARKET_CLOSED',
      );
      expect(answer.body['details']).toEqual({ market: 'BTC/USD', session: 'close_only' });
      expect((await agent.cancel(id)).status).toBe(200);
      await activate(2);
      const paused = await agent.cancel(id);
      expect(refusal(paused)).toEqual([422, 'SIMULATION_REVERTED']);
      expect(paused.body['details']).toMatchObject({ errorName: 'Paused' });
    } finally {
      await activate(0);
      await eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen,
      );
    }
  });

  it('says 502 while the node is gone, and nothing of all that was refused is remembered', async () => {
    const id = await restingForRefusals();
    chain.setRpcFault({ mode: 'down' });
    try {
      expect(refusal(await agent.update(id, { size: '0.05' }))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect(await agent.order(id)).toMatchObject({ status: 'open', price: '50000', size: '0.02' });
    await eventually(
      () => agent.update(id, { price: '49000' }),
      ({ status }) => status === 200,
    );
    await withdraw(id);
  });
});

describe('PATCH /orders/{id} of an order that does not rest', () => {
  it('refuses one that is prepared, waits for the oracle, is filled or canceled', async () => {
    const made = done(await agent.create(LIMIT));
    const prepare = await agent.update(idOf(made.order), { price: '49000' });
    expect([...refusal(prepare), prepare.body['details']]).toEqual([
      409,
      'ORDER_NOT_MODIFIABLE',
      { id: made.order['id'], status: 'prepared' },
    ]);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const id = idOf(await agent.place({ ...LIMIT, type: 'market', price: '60000' }, 'pending'));
    const pending = await agent.update(id, { slippage: '2' });
    expect(refusal(pending)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect((pending.body['details'] as { reclaimableAt: number }).reclaimableAt).toBeGreaterThan(Date.now());
    chain.setOraclePolicy(null, { mode: 'auto' });
    await agent.reaches(id, 'filled');
    const filled = await agent.update(id, { slippage: '2' });
    expect([...refusal(filled), filled.body['details']]).toEqual([409, 'ORDER_NOT_MODIFIABLE', { id, status: 'filled' }]);
    await viewEqualsChain();
  });
});
