import { Interface } from 'ethers';
import { formatUnits, parseUnits } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { eventually } from '../harness/time/eventually.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let operator: Operator;
let agent: AgentTrader;

const TIMEOUT_BLOCKS = 200;
const SLIPPAGE = 3;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  operator = operatorOf(chain);
});
afterEach(() => {
  chain.setOraclePolicy(null, { mode: 'auto' });
  sandbox.controls.prices.jump(0, '60000');
});
afterAll(() => sandbox.stop());

/** An independent decoder of what is signed. */
const contract = new Interface(JSON.stringify(diamondAbi));
const idOf = (order: Json): string => String(order['id']);
const tokenUnits = (text: unknown): bigint => parseUnits(String(text), 6);

/** A fresh trader with one position. */
async function opened(changes: Json = {}, options: Parameters<typeof newAgentTrader>[2] = {}): Promise<string> {
  agent = await newAgentTrader(sandbox, chain, options);
  await agent.place({ ...MARKET, ...changes }, 'filled');
  return idOf(await agent.position());
}

/** Sends a change that waits for the oracle, and waits with it. */
async function adjusted(id: string, body: Json, status = 'filled'): Promise<{ order: Json; shown: Json; args: readonly unknown[] }> {
  const answer = await agent.adjust(id, body);
  const { order, position } = done(answer);
  const transaction = prepared(answer);
  await agent.send(transaction);
  return { order: await agent.reaches(idOf(order), status), shown: position ?? {}, args: callIn(transaction.data) };
}

function callIn(data: string): readonly unknown[] {
  const outer = contract.parseTransaction({ data });
  const inner = contract.parseTransaction({ data: String(outer?.args[1]) });
  return [inner?.name, ...(inner?.args ?? [])];
}

const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const fillOf = (order: Json): Record<string, string> => order['fill'] as Record<string, string>;
/** What the answer promised of the position, as it is now. */
const PROMISED = ['size', 'collateral', 'leverage', 'entryPrice', 'sl', 'tp'] as const;
const asPromised = (shown: Json, is: (field: (typeof PROMISED)[number], a: string, b: string) => boolean) =>
  eventually(
    () => agent.position(),
    (position) => PROMISED.every((field) => is(field, String(position[field]), String(shown[field]))),
  );
/** Parts in a million: the volume of the minute is known to the feed a moment later than to the chain. */
const isNear = (a: string, b: string): boolean => Math.abs(Number(a) - Number(b)) <= Math.abs(Number(b)) * 20e-6;

describe('PATCH /positions/{id} with increase', () => {
  it.each([
    ['at the leverage of the position', MARKET, { size: '0.01' }, 10_000n, 10],
    ['at a leverage of its own', MARKET, { size: '0.01', leverage: '5' }, 5_000n, 7.5],
    ['of a short', { ...MARKET, side: 'short', leverage: '20' }, { size: '0.02', slippage: '0.5' }, 20_000n, 20],
  ])('adds %s, and answers with the position as it becomes', async (_what, of, increase, leverageDelta, leverage) => {
    const id = await opened(of);
    const before = await agent.trader.usdc();
    const { order, shown, args } = await adjusted(id, { increase });
    const [name, index, collateralDelta, delta, expected, slippageP] = args;
    expect([name, index, delta, slippageP]).toEqual(['increasePositionSize', 0n, leverageDelta, of.side === 'short' ? 500n : 1_000n]);
    // The mark, which the skew of the market moves a little.
    expect(Number(expected) / 1e10 / 60_000).toBeCloseTo(1, 5);
    const wanted = (Number(expected) / 1e10) * (Number(increase.size) / (Number(leverageDelta) / 1e3));
    expect(Number(collateralDelta) / 1e6).toBeCloseTo(wanted, 5);
    expect(order).toMatchObject({
      ...{ side: of.side, type: 'market', reduceOnly: false, size: increase.size, price: null, reason: null, market: 'BTC/USD' },
      ...{ leverage: formatUnits(leverageDelta, 3), sl: null, tp: null, collateral: 'USDC' },
    });
    expect(before - (await agent.trader.usdc())).toBe(collateralDelta);
    expect(shown['id']).toBe(id);
    expect(Math.abs(Number(shown['leverage']) - leverage)).toBeLessThan(0.0011);
    const position = await asPromised(shown, (_field, a, b) => isNear(a, b));
    expect([position['id'], position['collateral'], position['leverage']]).toEqual([id, shown['collateral'], shown['leverage']]);
    expect(isNear(String(position['liquidationPrice']), String(shown['liquidationPrice']))).toBe(true);
    expect(fillOf(order)).toMatchObject({ positionId: id, collateral: formatUnits(BigInt(String(collateralDelta)), 6) });
    expect(Number(fillOf(order)['size'])).toBeCloseTo(Number(increase.size), 4);
    const [latest] = (await agent.call('listFills', 'GET', `/account/${agent.trader.account.address}/fills`)).body['data'] as Json[];
    expect(latest).toMatchObject({ action: 'increase', side: of.side, positionId: id, price: fillOf(order)['price'] });
    await viewEqualsChain();
  });

  it('keeps a leverage of three decimals, which the contracts alone would lower with every part', async () => {
    const id = await opened({ leverage: '7.777' });
    for (const increase of [{ size: '0.003' }, { size: '0.0011', leverage: '7.777' }]) {
      const { args, shown } = await adjusted(id, { increase });
      expect(args[3]).toBe(7_778n);
      expect(shown['leverage']).toBe('7.777');
      await asPromised(shown, (_field, a, b) => isNear(a, b));
    }
    expect((await agent.position())['leverage']).toBe('7.777');
    await viewEqualsChain();
  });

  it('counts the price that is named as the one expected, and says why it would be refused there', async () => {
    const id = await opened();
    const far = await agent.adjust(id, { increase: { size: '0.01', price: '59000' } });
    expect(refusal(far)).toEqual([422, 'SIMULATION_REVERTED']);
    expect(far.body['details']).toMatchObject({ errorName: 'SLIPPAGE', stage: 'callback', args: [expect.any(String), '59590'] });
    const { order, args } = await adjusted(id, { increase: { size: '0.01', price: '59900' } });
    expect(args[4]).toBe(599_000_000_000_000n);
    expect(order).toMatchObject({ price: '59900', size: '0.01' });
  });

  it('can be refused by the oracle: the collateral comes back, and the timeline compares the two prices', async () => {
    const id = await opened();
    const before = await agent.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'reject', reason: SLIPPAGE });
    const { order } = await adjusted(id, { increase: { size: '0.01' } }, 'rejected');
    expect(order).toMatchObject({ reason: 'SLIPPAGE', fill: null });
    expect(await agent.trader.usdc()).toBe(before);
    const { body } = await agent.call('getOrderTimeline', 'GET', `/orders/${idOf(order)}/timeline`);
    expect(body['refusal']).toMatchObject({ reason: 'SLIPPAGE', quantity: 'executionPrice', isEstimate: false });
    expect(Number((body['refusal'] as Json)['bound']) / 60_600).toBeCloseTo(1, 5);
    expect((body['steps'] as Json[]).map(({ step }) => step)).toEqual(
      expect.arrayContaining(['validated', 'simulated', 'prepared', 'mined', 'oracle_asked', 'oracle_answered', 'rejected']),
    );
    await viewEqualsChain();
  });

  it('can time out and be reclaimed: the collateral and what it counted against the cap come back', async () => {
    const id = await opened({}, { scope: { ...EVERYTHING, dailySpendCapUsd: '2000' } });
    const before = await agent.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { order } = await adjusted(id, { increase: { size: '0.01' } }, 'pending');
    expect((await agent.openOrders()).map(({ id: open, side }) => [open, side])).toEqual([[order['id'], 'long']]);
    expect(refusal(await agent.adjust(id, { increase: { size: '0.001' } }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(refusal(await agent.create({ ...MARKET, size: '0.01' }))).toEqual([403, 'SCOPE_SPEND_CAP_EXCEEDED']);
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(idOf(order), 'timed_out');
    await agent.send(prepared(await agent.cancel(idOf(order))));
    await agent.reaches(idOf(order), 'canceled');
    expect(await agent.trader.usdc()).toBe(before);
    expect((await agent.create({ ...MARKET, size: '0.01' })).status).toBe(201);
    await viewEqualsChain();
  });

  it('takes the place of nothing: an order that is not sent expires, and the next is prepared beside it', async () => {
    const id = await opened();
    const orders = await Promise.all([1, 2].map(async () => done(await agent.adjust(id, { increase: { size: '0.01' } })).order));
    expect(new Set(orders.map(idOf)).size).toBe(2);
    expect(await agent.openOrders()).toHaveLength(2);
    for (const order of orders)
      expect(done(await agent.cancel(idOf(order)))).toMatchObject({ transaction: null, order: { status: 'expired' } });
  });
});

describe('POST /quote with a position', () => {
  const quote = (body: Json) => agent.call('quoteOrder', 'POST', '/quote', body);

  it('is what the increase then gets, for the trader that signs', async () => {
    const position = await opened({ leverage: '7.777' });
    const { status, body } = await quote({ position, size: '0.01', leverage: '5', market: 'btc-usd', side: 'long', slippage: '0.5' });
    expect([status, body['reason']]).toEqual([200, null]);
    expect(body).toMatchObject({ market: 'BTC/USD', side: 'long', type: 'market', leverage: '5', session: 'open' });
    expect(body['account']).toMatchObject({ isFunded: true, scope: [] });
    const { order, shown } = await adjusted(position, { increase: { size: '0.01', leverage: '5', slippage: '0.5' } });
    const fill = fillOf(order);
    expect(fill['collateral']).toBe(body['collateralNeeded']);
    expect(isNear(String(fill['price']), String(body['expectedPrice']))).toBe(true);
    expect(isNear(String(fill['feeCollateral']), String((body['fees'] as Json)['open']))).toBe(true);
    const promised = body['position'] as Json;
    expect(isNear(String(body['liquidationPrice']), String(promised['liquidationPrice']))).toBe(true);
    for (const field of PROMISED) expect(isNear(String(promised[field]), String(shown[field]))).toBe(true);
    await asPromised(promised, (_field, a, b) => isNear(a, b));
  });

  it('says why the increase would be refused, and what the scope has against it', async () => {
    const position = await opened({}, { scope: { ...EVERYTHING, maxLeverage: '10', dailySpendCapUsd: '1500' } });
    const { body } = await quote({ position, size: '0.01', leverage: '12', price: '59000' });
    expect(body['reason']).toBe('SLIPPAGE');
    expect((body['account'] as { scope: Json[] }).scope.map(({ code }) => code)).toEqual([
      'SCOPE_LEVERAGE_EXCEEDED',
      'SCOPE_SPEND_CAP_EXCEEDED',
    ]);
  });

  it('is only for who signs, of what it has, and of nothing but an addition', async () => {
    const position = await opened();
    expect((await sandbox.post(`/v1/${chain.definition.slug}/quote`, { position, size: '0.01' })).status).toBe(401);
    for (const [body, status, code] of [
      [{ position: '999999999', size: '0.01' }, 404, 'POSITION_NOT_FOUND'],
      [{ position, size: '0.01', side: 'short' }, 400, 'VALIDATION_ERROR'],
      [{ position, size: '0.01', market: 'ETH/USD' }, 400, 'VALIDATION_ERROR'],
      [{ position, size: '0.01', type: 'limit', price: '50000' }, 400, 'VALIDATION_ERROR'],
      [{ position, size: '0.01', sl: '50000' }, 400, 'VALIDATION_ERROR'],
      [{ position, size: '0.01', reduceOnly: true }, 400, 'VALIDATION_ERROR'],
      [{ position }, 400, 'VALIDATION_ERROR'],
      [{ size: '0.01', leverage: '10' }, 400, 'VALIDATION_ERROR'],
      [{ position, size: '0.01', leverage: '0.0001' }, 422, 'PRECISION_ERROR'],
    ] as const)
      expect(refusal(await quote(body))).toEqual([status, code]);
    await operator.control('sandboxSetTradeVersion', [agent.trader.account.address, 0, 1]);
    expect(refusal(await quote({ position, size: '0.01' }))).toEqual([422, 'UNSUPPORTED']);
  });
});

describe('PATCH /positions/{id} with increase is refused', () => {
  let id: string;
  beforeAll(async () => {
    id = await opened();
  });

  it.each([
    ['with a size of nine decimals', { size: '0.000000001' }, 422, 'PRECISION_ERROR'],
    ['that is worth less than a token unit', { size: '0.00000001', leverage: '10000' }, 422, 'SIZE_BELOW_MINIMUM'],
    ['that makes the leverage too high', { size: '5', leverage: '3000' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['at a leverage that no contract holds', { size: '0.01', leverage: '16777.216' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['that makes the leverage too low', { size: '0.0003', leverage: '0.001' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['for which the trader lacks the collateral', { size: '2' }, 422, 'SIMULATION_REVERTED'],
  ])('%s', async (_what, increase, status, code) => {
    expect(refusal(await agent.adjust(id, { increase }))).toEqual([status, code]);
  });

  it('with the collateral that is missing, and the approval where that is', async () => {
    const { body } = await agent.adjust(id, { increase: { size: '2' } });
    const { errorName, funds } = body['details'] as { errorName: string; funds: Record<string, string> };
    expect([errorName, funds['collateral'], Math.round(Number(funds['required']))]).toEqual(['ERC20InsufficientBalance', 'USDC', 12_000]);
  });

  it('where the leverage of three decimals cannot express it, with the smallest collateral that can, which is taken', async () => {
    const own = await opened({ leverage: '7.777' });
    const answer = await agent.adjust(own, { increase: { size: '0.000001', leverage: '2' } });
    expect(refusal(answer)).toEqual([422, 'SIZE_BELOW_MINIMUM']);
    const { minCollateralUsd } = answer.body['details'] as { minCollateralUsd: string };
    const size = ((Number(minCollateralUsd) * 2) / 59_999).toFixed(8);
    const { shown } = await adjusted(own, { increase: { size, leverage: '2' } });
    await asPromised(shown, (_field, a, b) => isNear(a, b));
  });

  it('by the scope of the agent: the leverage of the part, and that of the position', async () => {
    const own = await opened({}, { scope: { ...EVERYTHING, maxLeverage: '12' } });
    const asked = (leverage: string) => agent.adjust(own, { increase: { size: '0.01', leverage } });
    expect(refusal(await asked('12.001'))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect((await asked('12')).status).toBe(200);
    await agent.trader.open({ openPrice: 60_000n * 10n ** 10n, leverage: 20_000 });
    const [steep] = await eventually(
      async () => (await agent.positions()).filter(({ leverage }) => leverage === '20'),
      (found) => found.length === 1,
    );
    expect(refusal(await agent.adjust(idOf(steep ?? {}), { increase: { size: '0.001', leverage: '1' } }))).toEqual([
      403,
      'SCOPE_LEVERAGE_EXCEEDED',
    ]);
  });

  it('beyond the daily cap of the agent, with the sums', async () => {
    const own = await opened({}, { scope: { ...EVERYTHING, dailySpendCapUsd: '1500' } });
    const answer = await agent.adjust(own, { increase: { size: '0.006' } });
    expect(refusal(answer)).toEqual([403, 'SCOPE_SPEND_CAP_EXCEEDED']);
    const { requestedUsd, spentUsd, capUsd } = answer.body['details'] as Record<string, string>;
    expect([Number(requestedUsd), Number(spentUsd), Number(capUsd)].map(Math.round)).toEqual([360, 1200, 1500]);
    expect((await agent.adjust(own, { increase: { size: '0.0049' } })).status).toBe(200);
  });

  it('of a position from before v10, which the contracts refuse; its profit can be withdrawn', async () => {
    const own = await opened();
    await operator.control('sandboxSetTradeVersion', [agent.trader.account.address, 0, 1]);
    const answer = await agent.adjust(own, { increase: { size: '0.01' } });
    expect(refusal(answer)).toEqual([422, 'UNSUPPORTED']);
    expect(String((answer.body['details'] as Json)['reason'])).toMatch(/before v10/);
    sandbox.controls.prices.jump(0, '63000');
    expect((await agent.adjust(own, { withdrawPnl: {} })).status).toBe(200);
  });

  it('of another trader, and of none', async () => {
    const stranger = await newAgentTrader(sandbox, chain);
    for (const target of [id, '999999999'])
      expect(refusal(await stranger.adjust(target, { increase: { size: '0.01' } }))).toEqual([404, 'POSITION_NOT_FOUND']);
  });

  it('while positions may only be closed; profit can be withdrawn then', async () => {
    const own = await opened();
    const isOpen = (wanted: boolean) =>
      eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen === wanted,
      );
    await operator.control('sandboxSetTradingActivated', [1]);
    try {
      await isOpen(false);
      expect(refusal(await agent.adjust(own, { increase: { size: '0.01' } }))).toEqual([422, 'MARKET_CLOSED']);
      sandbox.controls.prices.jump(0, '63000');
      expect((await agent.adjust(own, { withdrawPnl: {} })).status).toBe(200);
    } finally {
      await operator.control('sandboxSetTradingActivated', [0]);
      await isOpen(true);
    }
  });
});

describe('PATCH /positions/{id} with withdrawPnl', () => {
  let id: string;
  beforeAll(async () => {
    id = await opened({ size: '0.05' });
  });

  const money = (position: Json, field: string): bigint => tokenUnits(position[field]);

  it('is refused where there is no profit, or less than is asked for, with what there is', async () => {
    const issue = async (withdrawPnl: Json): Promise<Json> => {
      const answer = await agent.adjust(id, { withdrawPnl });
      expect(refusal(answer)).toEqual([400, 'VALIDATION_ERROR']);
      return (answer.body['details'] as { issues: Json[] }).issues[0] ?? {};
    };
    expect(await issue({})).toMatchObject({ path: 'withdrawPnl' });
    sandbox.controls.prices.jump(0, '67000');
    const { path, message } = await issue({ amount: '5000' });
    expect([path, message]).toEqual(['withdrawPnl.amount', expect.stringMatching(/^must be at most \d+\.\d+, the profit available now$/)]);
  });

  it('can time out, be listed on the side of its position, and be reclaimed', async () => {
    sandbox.controls.prices.jump(0, '67000');
    const before = await agent.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { order } = await adjusted(id, { withdrawPnl: { amount: '1' } }, 'pending');
    expect((await agent.openOrders()).map(({ id: open, side }) => [open, side])).toEqual([[order['id'], 'long']]);
    expect(refusal(await agent.close(id))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(idOf(order), 'timed_out');
    await agent.send(prepared(await agent.cancel(idOf(order))));
    await agent.reaches(idOf(order), 'canceled');
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  });

  it('pays the amount that is asked for, and then all that is left: the journal lists both, the fills none', async () => {
    sandbox.controls.prices.jump(0, '66000');
    for (const amount of ['100.5', undefined]) {
      const [held, before] = [await agent.position(), await agent.trader.usdc()];
      const { order, shown, args } = await adjusted(id, { withdrawPnl: amount === undefined ? {} : { amount } });
      expect(args).toEqual(['withdrawPositivePnl', 0n, amount === undefined ? 2n ** 120n - 1n : 100_500_000n]);
      expect(order).toMatchObject({ side: 'long', type: 'market', size: '0', reduceOnly: false, price: null, reason: null });
      const paid = (await agent.trader.usdc()) - before;
      if (amount === undefined) expect(paid).toBeGreaterThan(100_000_000n);
      else expect(paid).toBe(100_500_000n);
      expect(fillOf(order)).toMatchObject({ collateral: formatUnits(paid, 6), size: '0', positionId: id });
      const position = await eventually(
        () => agent.position(),
        (now) => money(now, 'realizedPnl') === money(held, 'realizedPnl') + paid,
      );
      for (const field of ['size', 'collateral', 'leverage', 'entryPrice']) expect(position[field]).toBe(held[field]);
      for (const field of ['realizedPnl', 'unrealizedPnl', 'liquidationPrice'])
        expect(isNear(String(position[field]), String(shown[field]))).toBe(true);
    }
    await viewEqualsChain();
    const { body } = await agent.call('listEvents', 'GET', `/account/${agent.trader.account.address}/events?limit=500`);
    const events = body['data'] as { kind: string; data: Json }[];
    expect(events.filter(({ kind }) => kind === 'withdrawal').map(({ data }) => data['amount'])).toEqual(['100.5', expect.any(String)]);
    const fills = await agent.call('listFills', 'GET', `/account/${agent.trader.account.address}/fills`);
    expect((fills.body['data'] as Json[]).map(({ action }) => action)).toEqual(['open']);
  });
});
