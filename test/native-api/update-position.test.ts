import { formatUnits, parseUnits } from 'viem';
import { venueOf } from '../../core/gateway.js';
import { requireAhead } from '../../core/trading/protect-position.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { operatorOf, type Operator } from '../harness/venue/operator.js';
import { diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let operator: Operator;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
  operator = operatorOf(chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);
const AT_60000 = { openPrice: 60_000n * 10n ** 10n };

/** A fresh trader with one position, which the tests of a group change one after the other. */
async function opened(changes: Json = {}): Promise<void> {
  agent = await newAgentTrader(sandbox, chain);
  await agent.place({ ...MARKET, ...changes }, 'filled');
}

/** The position once a field of it has the value. */
const becomes = (field: string, value: unknown): Promise<Json> =>
  eventually(
    () => agent.position(),
    (position) => position[field] === value,
  );

/** Sends a change that waits for the oracle, and waits with it. */
async function adjusted(id: string, body: Json, status = 'filled'): Promise<{ order: Json; shown: Json }> {
  const answer = await agent.adjust(id, body);
  const { order, position } = done(answer);
  await agent.send(prepared(answer));
  return { order: await agent.reaches(idOf(order), status), shown: position ?? {} };
}

/** Each is answered with the position as it is, and with nothing to send. */
async function nothingToSend(id: string, bodies: readonly Json[]): Promise<void> {
  for (const body of bodies) {
    const answer = await agent.adjust(id, body);
    expect([answer.status, answer.body['transaction'], answer.body['order']]).toEqual([200, null, null]);
  }
}

describe('PATCH /positions/{id} with sl and tp', () => {
  let id: string;
  beforeAll(async () => {
    await opened();
    id = idOf(await agent.position());
  });

  it('sets, moves and clears them, without an order', async () => {
    const both = await agent.adjust(id, { tp: '70000', sl: '58000' });
    expect(both.body).toMatchObject({ position: { id, tp: '70000', sl: '58000' }, order: null });
    await agent.send(prepared(both));
    await becomes('tp', '70000');
    const one = await agent.adjust(id, { sl: '59000' });
    expect(one.body).toMatchObject({ position: { tp: '70000', sl: '59000' }, order: null });
    await agent.send(prepared(one));
    await becomes('sl', '59000');
    await viewEqualsChain();
    await agent.send(prepared(await agent.adjust(id, { tp: '0', sl: '0' })));
    expect(await becomes('tp', '0')).toMatchObject({ sl: '0' });
    expect(await agent.openOrders()).toEqual([]);
  });

  it('says which stop loss the contracts will store in the place of one that is too deep, and sends nothing when it is as asked for already', async () => {
    const answer = await agent.adjust(id, { sl: '1000' });
    const shown = done(answer).position?.['sl'];
    expect(Number(shown)).toBeGreaterThan(50_000);
    await agent.send(prepared(answer));
    await becomes('sl', shown);
    await viewEqualsChain();
    await nothingToSend(id, [{ sl: shown }, { tp: '0' }, { sl: shown, tp: '0' }]);
  });

  it.each([
    ['tp', '59000'],
    ['sl', '61000'],
  ])('refuses %s at %s on a long: it would close the position at once', async (path, at) => {
    const answer = await agent.adjust(id, { [path]: at });
    expect(refusal(answer)).toEqual([400, 'VALIDATION_ERROR']);
    expect((answer.body['details'] as { issues: Json[] }).issues[0]).toMatchObject({ path });
  });

  it.each([
    ['tp', true, 59_000n, 61_000n],
    ['sl', true, 61_000n, 59_000n],
    ['tp', false, 61_000n, 59_000n],
    ['sl', false, 59_000n, 61_000n],
  ] as const)('%s of a position whose long is %s is behind the mark at %i and ahead of it at %i', (level, long, behind, ahead) => {
    const venue = venueOf(sandbox.gateway, chain.definition.slug);
    const figures = { pairIndex: 0, collateralIndex: 3, long } as Parameters<typeof requireAhead>[1];
    const asked = (at: bigint) => () => {
      requireAhead(venue, figures, { field: level, level, price: at * 10n ** 10n });
    };
    expect(asked(behind)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }) as Error);
    expect(asked(ahead)).not.toThrow();
  });

  it('refuses while a keeper is closing the position, and closes it when the price gets there', async () => {
    await agent.send(prepared(await agent.adjust(id, { tp: '61000' })));
    await becomes('tp', '61000');
    chain.setOraclePolicy(null, { mode: 'hold' });
    const [trade] = await agent.trader.trades();
    await operator.send(diamondCall('triggerOrder', [packed(4, agent.trader.account.address, trade?.index ?? 0)]));
    expect(refusal(await agent.adjust(id, { tp: '71000' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    sandbox.controls.prices.jump(0, '61500');
    chain.setOraclePolicy(null, { mode: 'auto' });
    await eventually(
      () => agent.positions(),
      (positions) => positions.length === 0,
    );
    sandbox.controls.prices.jump(0, '60000');
    await viewEqualsChain();
  });
});

const tokenUnits = (text: unknown): bigint => parseUnits(String(text), 6);
const tokenText = (units: bigint): string => formatUnits(units, 6);

describe('PATCH /positions/{id} with leverage', () => {
  beforeAll(() => opened({ sl: '55500' }));

  it.each([
    ['lowers it for collateral that comes in', '10', '5'],
    ['raises it for collateral that goes out, and says what becomes of the stop loss, which the contracts clamp anew', '5', '40'],
  ])('%s', async (_what, from, leverage) => {
    const position = await becomes('leverage', from);
    expect(position['sl']).toBe('55500');
    const held = tokenUnits(position['collateral']);
    const wanted = (held * BigInt(from)) / BigInt(leverage);
    const collateral = tokenText(wanted);
    const before = await agent.trader.usdc();
    const { order, shown } = await adjusted(idOf(position), { leverage });
    expect(shown).toMatchObject({ id: position['id'], leverage, collateral, size: position['size'] });
    expect(order).toMatchObject({ side: 'long', type: 'market', leverage, size: '0', reduceOnly: false, reason: null });
    expect(await becomes('leverage', leverage)).toMatchObject({
      ...{ collateral, size: position['size'], entryPrice: position['entryPrice'], sl: shown['sl'] },
    });
    if (leverage === '40') expect(Number(shown['sl'])).toBeGreaterThan(58_000);
    expect((await agent.trader.usdc()) - before).toBe(held - wanted);
    await viewEqualsChain();
  });

  it('sends nothing when it is as asked for already', async () => {
    await nothingToSend(idOf(await agent.position()), [{ leverage: '40' }]);
  });

  it('can be refused by the contracts, time out and be reclaimed as every order', async () => {
    const id = idOf(await agent.position());
    const before = await agent.trader.usdc();
    chain.setOraclePolicy(null, { mode: 'reject', reason: 12 });
    expect((await adjusted(id, { leverage: '5' }, 'rejected')).order).toMatchObject({ reason: 'LIQ_REACHED' });
    expect(await agent.trader.usdc()).toBe(before);
    chain.setOraclePolicy(null, { mode: 'hold' });
    const { order } = await adjusted(id, { leverage: '5' }, 'pending');
    const conflict = await agent.adjust(id, { leverage: '4' });
    expect(refusal(conflict)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    expect(conflict.body['details']).toMatchObject({ id: order['id'], status: 'pending', reclaimableAt: expect.any(Number) as number });
    await chain.mine(TIMEOUT_BLOCKS);
    await agent.reaches(idOf(order), 'timed_out');
    await agent.send(prepared(await agent.cancel(idOf(order))));
    await agent.reaches(idOf(order), 'canceled');
    expect(await agent.trader.usdc()).toBe(before);
    await viewEqualsChain();
  });
});

describe('PATCH /positions/{id} with collateral', () => {
  it('works on a position that was opened elsewhere', async () => {
    agent = await newAgentTrader(sandbox, chain);
    await agent.trader.open(AT_60000);
    const { shown } = await adjusted(idOf(await agent.position()), { collateral: { action: 'add', amount: '100' } });
    expect(shown).toMatchObject({ collateral: '200', leverage: '5' });
    await becomes('collateral', '200');
  });

  it.each([
    ['removes', 'remove', '30', -30],
    ['adds', 'add', '50', 50],
  ])('%s what a leverage of three decimals can express, and says how much that is', async (_what, action, amount, asked) => {
    const position = await agent.position();
    const before = await agent.trader.usdc();
    const { order, shown } = await adjusted(idOf(position), { collateral: { action, amount } });
    await becomes('collateral', shown['collateral']);
    const moved = Number(tokenUnits(shown['collateral']) - tokenUnits(position['collateral'])) / 1e6;
    expect(Math.sign(moved)).toBe(Math.sign(asked));
    expect(Math.abs(moved)).toBeLessThanOrEqual(Math.abs(asked));
    expect(Math.abs(moved)).toBeGreaterThan(Math.abs(asked) - 0.1);
    expect(Number(before - (await agent.trader.usdc())) / 1e6).toBeCloseTo(moved, 6);
    expect(order).toMatchObject({ leverage: shown['leverage'], fill: { positionId: position['id'] } });
    await viewEqualsChain();
  });
});

describe('PATCH /positions/{id} refuses', () => {
  let id: string;
  beforeAll(async () => {
    await opened();
    id = idOf(await agent.position());
  });

  it.each([
    ['an unknown field', { size: '1' }, 400, 'VALIDATION_ERROR'],
    ['an amount that moves no leverage', { collateral: { action: 'add', amount: '0.001' } }, 422, 'SIZE_BELOW_MINIMUM'],
    ['all the collateral', { collateral: { action: 'remove', amount: '121' } }, 400, 'VALIDATION_ERROR'],
    ['more collateral than the trader has', { collateral: { action: 'add', amount: '1000000' } }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['collateral that the trader lacks', { collateral: { action: 'add', amount: '11000' } }, 422, 'SIMULATION_REVERTED'],
    ['a leverage with four decimals', { leverage: '5.1234' }, 422, 'PRECISION_ERROR'],
    ['a leverage below the least', { leverage: '0.05' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['a leverage above the market’s', { leverage: '400' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
  ])('%s', async (_what, body, status, code) => {
    expect(refusal(await agent.adjust(id, body))).toEqual([status, code]);
  });

  it('collateral that the trader lacks, with the amount that would be taken: what was asked for, down to a step of the leverage', async () => {
    const { body } = await agent.adjust(id, { collateral: { action: 'add', amount: '11000' } });
    const { errorName, funds } = body['details'] as { errorName: string; funds: { required: string } };
    expect(errorName).toBe('ERC20InsufficientBalance');
    expect(Number(funds.required)).toBeLessThanOrEqual(11_000);
    expect(Number(funds.required)).toBeGreaterThan(10_800);
  });

  it('a leverage that the contracts would refuse at the price of now', async () => {
    const { body } = await sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`);
    const answer = await agent.adjust(id, { leverage: (body as { maxLeverage: string }).maxLeverage });
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    expect(answer.body['details']).toMatchObject({ errorName: 'MAX_LEVERAGE', stage: 'callback' });
  });

  it('everything while positions may only be closed', async () => {
    const isOpen = (wanted: boolean) =>
      eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen === wanted,
      );
    await operator.control('sandboxSetTradingActivated', [1]);
    try {
      await isOpen(false);
      for (const body of [{ leverage: '5' }, { tp: '70000' }])
        expect(refusal(await agent.adjust(id, body))).toEqual([422, 'MARKET_CLOSED']);
    } finally {
      await operator.control('sandboxSetTradingActivated', [0]);
      await isOpen(true);
    }
  });

  it('everything while the node is gone', async () => {
    chain.setRpcFault({ mode: 'down' });
    try {
      for (const body of [{ tp: '70000' }, { leverage: '5' }])
        expect(refusal(await agent.adjust(id, body))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
  });

  it("another trader's position, one that is not there, and what the scope of the agent forbids", async () => {
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, maxLeverage: '12', markets: ['ETH/USD'] } });
    for (const target of [id, '999999999', '-1'])
      expect(refusal(await scoped.adjust(target, { leverage: '5' }))).toEqual([404, 'POSITION_NOT_FOUND']);
    expect(refusal(await scoped.adjust(id, { tp: '0' }))).toEqual([404, 'POSITION_NOT_FOUND']);
    await scoped.trader.open(AT_60000);
    const foreign = idOf(await scoped.position());
    for (const body of [{ leverage: '5' }, { tp: '70000' }])
      expect(refusal(await scoped.adjust(foreign, body))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
    sandbox.controls.prices.jump(1, '3000');
    await scoped.place({ ...MARKET, market: 'ETH/USD', size: '0.4' }, 'filled');
    const own = idOf((await scoped.positions()).find(({ market }) => market === 'ETH/USD') ?? {});
    expect(refusal(await scoped.adjust(own, { leverage: '12.001' }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect(refusal(await scoped.adjust(own, { collateral: { action: 'remove', amount: '60' } }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect((await scoped.adjust(own, { leverage: '12' })).status).toBe(200);
  });

  it('nothing of it is remembered', async () => {
    expect(await agent.openOrders()).toEqual([]);
  });

  it('no leverage that the contracts take: the highest that is prepared is filled, its own fee included', async () => {
    const isTaken = async (leverage: number): Promise<boolean> =>
      (await agent.adjust(id, { leverage: leverage.toFixed(1) })).status === 200;
    let [taken, refused] = [50, 150];
    while (refused - taken > 0.2) {
      const middle = Math.round((taken + refused) * 5) / 10;
      if (await isTaken(middle)) taken = middle;
      else refused = middle;
    }
    expect(taken).toBeGreaterThan(60);
    await adjusted(id, { leverage: (taken - 0.2).toFixed(1) });
  });
});
