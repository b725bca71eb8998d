import { formatUnits, parseUnits } from 'viem';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { chainTrader, newTrader } from '../harness/traders/chain-trader.js';
import { controlCall, diamondCall, packed } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { EVERYTHING } from '../harness/traders/master-wallet.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { MARKET, tradingVenue } from '../harness/venue/trading-venue.js';

let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;

const TIMEOUT_BLOCKS = 200;

beforeAll(async () => {
  ({ sandbox, chain } = await tradingVenue());
}, 60_000);
beforeEach(async () => {
  agent = await newAgentTrader(sandbox, chain);
});
afterEach(() => chain.setOraclePolicy(null, { mode: 'auto' }));
afterAll(() => sandbox.stop());

const viewEqualsChain = (of = agent) => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, of.trader);
const idOf = (order: Json): string => String(order['id']);

async function opened(changes: Json = {}, of = agent): Promise<Json> {
  await of.place({ ...MARKET, ...changes }, 'filled');
  return of.position();
}

/** The position once a field of it has the value. */
const becomes = (field: string, value: unknown): Promise<Json> =>
  eventually(
    () => agent.position(),
    (position) => position[field] === value,
  );

/** Sends a change that waits for the oracle, and waits with it. */
async function adjusted(id: string, body: Json, status = 'filled'): Promise<{ order: Json; told: Json }> {
  const answer = await agent.adjust(id, body);
  const { order, position } = done(answer);
  await agent.send(prepared(answer));
  return { order: await agent.reaches(idOf(order), status), told: position ?? {} };
}

describe('PATCH /positions/{id} with sl and tp', () => {
  it('sets, moves and clears them, without an order', async () => {
    const id = idOf(await opened());
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
    await viewEqualsChain();
    expect(await agent.openOrders()).toEqual([]);
  }, 40_000);

  it('says which stop loss the contracts will store in the place of one that is too deep', async () => {
    const id = idOf(await opened());
    const answer = await agent.adjust(id, { sl: '1000' });
    const told = done(answer).position?.['sl'];
    expect(Number(told)).toBeGreaterThan(50_000);
    await agent.send(prepared(answer));
    await becomes('sl', told);
    await viewEqualsChain();
  }, 30_000);

  it('sends nothing when they are as asked for already', async () => {
    const id = idOf(await opened({ tp: '70000' }));
    for (const body of [{ tp: '70000' }, { sl: '0' }, { tp: '70000', sl: '0' }]) {
      const answer = await agent.adjust(id, body);
      expect([answer.status, answer.body['transaction'], answer.body['order']]).toEqual([200, null, null]);
    }
  }, 30_000);

  it('closes the position when the price gets there', async () => {
    const id = idOf(await opened());
    await agent.send(prepared(await agent.adjust(id, { tp: '61000' })));
    await becomes('tp', '61000');
    sandbox.controls.prices.jump(0, '61500');
    await eventually(
      () => agent.positions(),
      (positions) => positions.length === 0,
    );
    sandbox.controls.prices.jump(0, '60000');
    await viewEqualsChain();
  }, 30_000);

  it.each([
    ['a take profit below the mark of a long', 'long', { tp: '59000' }, 'tp'],
    ['a stop loss above the mark of a long', 'long', { sl: '61000' }, 'sl'],
    ['a take profit above the mark of a short', 'short', { tp: '61000' }, 'tp'],
    ['a stop loss below the mark of a short', 'short', { sl: '59000' }, 'sl'],
  ])(
    'refuses %s: it would close the position at once',
    async (_what, side, body, path) => {
      const id = idOf(await opened({ side }));
      const answer = await agent.adjust(id, body);
      expect(refusal(answer)).toEqual([400, 'VALIDATION_ERROR']);
      expect((answer.body['details'] as { issues: Json[] }).issues[0]).toMatchObject({ path });
    },
    30_000,
  );

  it('refuses while a keeper is closing the position', async () => {
    const id = idOf(await opened({ tp: '70000' }));
    chain.setOraclePolicy(null, { mode: 'hold' });
    const [trade] = await agent.trader.trades();
    const keeper = await newTrader(chain);
    await keeper.send(chain.definition.diamond, diamondCall('triggerOrder', [packed(4, agent.trader.account.address, trade?.index ?? 0)]));
    const answer = await agent.adjust(id, { tp: '71000' });
    expect(refusal(answer)).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
  }, 30_000);
});

const tokenUnits = (text: unknown): bigint => parseUnits(String(text), 6);
const tokenText = (units: bigint): string => formatUnits(units, 6);

describe('PATCH /positions/{id} with leverage', () => {
  it.each([
    ['lowers it for collateral that comes in', '5', 5_000n],
    ['raises it for collateral that goes out', '20', 20_000n],
  ])(
    '%s',
    async (_what, leverage, units) => {
      const position = await opened();
      const held = tokenUnits(position['collateral']);
      const wanted = (held * 10_000n) / units;
      const collateral = tokenText(wanted);
      const before = await agent.trader.usdc();
      const { order, told } = await adjusted(idOf(position), { leverage });
      expect(told).toMatchObject({ id: position['id'], leverage, collateral, size: position['size'] });
      expect(order).toMatchObject({ side: 'long', type: 'market', leverage, size: '0', reduceOnly: false, reason: null });
      expect(await becomes('leverage', leverage)).toMatchObject({ collateral, size: position['size'], entryPrice: position['entryPrice'] });
      const moved = (await agent.trader.usdc()) - before;
      expect(moved).toBe(held - wanted);
      await viewEqualsChain();
    },
    30_000,
  );

  it('says what becomes of the stop loss, which the contracts clamp anew', async () => {
    const position = await opened({ sl: '55500' });
    expect(position['sl']).toBe('55500');
    const { told } = await adjusted(idOf(position), { leverage: '40' });
    expect(Number(told['sl'])).toBeGreaterThan(58_000);
    expect(await becomes('leverage', '40')).toMatchObject({ sl: told['sl'], collateral: told['collateral'] });
    await viewEqualsChain();
  }, 30_000);

  it('can be refused by the contracts, time out and be reclaimed as every order', async () => {
    const id = idOf(await opened());
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
  }, 60_000);

  it('sends nothing when it is as asked for already', async () => {
    const answer = await agent.adjust(idOf(await opened()), { leverage: '10' });
    expect([answer.status, answer.body['transaction'], answer.body['order']]).toEqual([200, null, null]);
  }, 30_000);
});

describe('PATCH /positions/{id} with collateral', () => {
  it.each([
    ['adds', 'add', '50', 50],
    ['removes', 'remove', '30', -30],
  ])(
    '%s what a leverage of three decimals can express, and tells how much that is',
    async (_what, action, amount, asked) => {
      const position = await opened();
      const before = await agent.trader.usdc();
      const { order, told } = await adjusted(idOf(position), { collateral: { action, amount } });
      await becomes('collateral', told['collateral']);
      const moved = Number(tokenUnits(told['collateral']) - tokenUnits(position['collateral'])) / 1e6;
      expect(Math.sign(moved)).toBe(Math.sign(asked));
      expect(Math.abs(moved)).toBeLessThanOrEqual(Math.abs(asked));
      expect(Math.abs(moved)).toBeGreaterThan(Math.abs(asked) - 0.1);
      expect(Number(before - (await agent.trader.usdc())) / 1e6).toBeCloseTo(moved, 6);
      expect(order).toMatchObject({ leverage: told['leverage'], fill: { positionId: position['id'] } });
      await viewEqualsChain();
    },
    30_000,
  );

  it('works on a position that was opened elsewhere', async () => {
    await agent.trader.open({ openPrice: 60_000n * 10n ** 10n });
    const position = await agent.position();
    const { told } = await adjusted(idOf(position), { collateral: { action: 'add', amount: '100' } });
    expect(told).toMatchObject({ collateral: '200', leverage: '5' });
    await becomes('collateral', '200');
    await viewEqualsChain();
  }, 30_000);
});

describe('PATCH /positions/{id} refuses', () => {
  let own: Promise<AgentTrader> | undefined;
  /** A position that refusals leave as it is. */
  const shared = (): Promise<AgentTrader> =>
    (own ??= newAgentTrader(sandbox, chain).then(async (made) => {
      await opened({}, made);
      return made;
    }));

  it.each([
    ['nothing at all', {}, 400, 'VALIDATION_ERROR'],
    ['two things at once', { leverage: '5', tp: '70000' }, 400, 'VALIDATION_ERROR'],
    ['a field nobody knows', { size: '1' }, 400, 'VALIDATION_ERROR'],
    ['an action nobody knows', { collateral: { action: 'take', amount: '1' } }, 400, 'VALIDATION_ERROR'],
    ['an amount of 0', { collateral: { action: 'add', amount: '0' } }, 400, 'VALIDATION_ERROR'],
    ['an amount with seven decimals', { collateral: { action: 'add', amount: '1.0000001' } }, 422, 'PRECISION_ERROR'],
    ['an amount that moves no leverage', { collateral: { action: 'add', amount: '0.001' } }, 422, 'SIZE_BELOW_MINIMUM'],
    ['all the collateral', { collateral: { action: 'remove', amount: '121' } }, 400, 'VALIDATION_ERROR'],
    ['more collateral than the trader has', { collateral: { action: 'add', amount: '1000000' } }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['collateral that the trader lacks', { collateral: { action: 'add', amount: '11000' } }, 422, 'SIMULATION_REVERTED'],
    ['a leverage with four decimals', { leverage: '5.1234' }, 422, 'PRECISION_ERROR'],
    ['a leverage of 0', { leverage: '0' }, 400, 'VALIDATION_ERROR'],
    ['a leverage below the least', { leverage: '0.05' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['a leverage above the market’s', { leverage: '400' }, 422, 'LEVERAGE_OUT_OF_RANGE'],
    ['a price with eleven decimals', { tp: '70000.12345678901' }, 422, 'PRECISION_ERROR'],
    ['a negative stop loss', { sl: '-1' }, 400, 'VALIDATION_ERROR'],
  ])(
    '%s',
    async (_what, body, status, code) => {
      const of = await shared();
      const [position] = await of.positions();
      expect(refusal(await of.adjust(idOf(position ?? {}), body))).toEqual([status, code]);
      expect(await of.openOrders()).toEqual([]);
    },
    30_000,
  );

  it('a leverage that the contracts would refuse at the price of now', async () => {
    const of = await shared();
    const [position] = await of.positions();
    const { body } = await sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`);
    const answer = await of.adjust(idOf(position ?? {}), { leverage: (body as { maxLeverage: string }).maxLeverage });
    expect(refusal(answer)).toEqual([422, 'SIMULATION_REVERTED']);
    expect(answer.body['details']).toMatchObject({ errorName: 'MAX_LEVERAGE', stage: 'callback' });
    expect(await of.openOrders()).toEqual([]);
  }, 30_000);

  it('no leverage that the contracts take: the highest that is prepared is filled, its own fee included', async () => {
    const id = idOf(await opened());
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

  it("another trader's position, and one that is not there", async () => {
    const id = idOf(await opened());
    const other = await newAgentTrader(sandbox, chain);
    for (const target of [id, '999999999', '-1'])
      expect(refusal(await other.adjust(target, { leverage: '5' }))).toEqual([404, 'POSITION_NOT_FOUND']);
    expect(refusal(await other.adjust(id, { tp: '0' }))).toEqual([404, 'POSITION_NOT_FOUND']);
  }, 30_000);

  it('what the scope of the agent forbids', async () => {
    const scoped = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, maxLeverage: '12' } });
    const id = idOf(await opened({}, scoped));
    expect(refusal(await scoped.adjust(id, { leverage: '12.001' }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect(refusal(await scoped.adjust(id, { collateral: { action: 'remove', amount: '60' } }))).toEqual([403, 'SCOPE_LEVERAGE_EXCEEDED']);
    expect((await scoped.adjust(id, { leverage: '12' })).status).toBe(200);
    const elsewhere = await newAgentTrader(sandbox, chain, { scope: { ...EVERYTHING, markets: ['ETH/USD'] } });
    await elsewhere.trader.open({ openPrice: 60_000n * 10n ** 10n });
    const foreign = idOf(await elsewhere.position());
    for (const body of [{ leverage: '5' }, { tp: '70000' }])
      expect(refusal(await elsewhere.adjust(foreign, body))).toEqual([403, 'SCOPE_MARKET_NOT_ALLOWED']);
  }, 40_000);

  it('everything while positions may only be closed', async () => {
    const id = idOf(await opened());
    const operator = chainTrader(chain, sandbox.controls.accounts.operator.privateKey);
    const isOpen = (wanted: boolean) =>
      eventually(
        () => sandbox.get(`/v1/${chain.definition.slug}/markets/BTC-USD`),
        ({ body }) => (body as { isOpen: boolean }).isOpen === wanted,
      );
    await operator.send(chain.definition.diamond, controlCall('sandboxSetTradingActivated', [1]));
    try {
      await isOpen(false);
      for (const body of [{ leverage: '5' }, { tp: '70000' }])
        expect(refusal(await agent.adjust(id, body))).toEqual([422, 'MARKET_CLOSED']);
    } finally {
      await operator.send(chain.definition.diamond, controlCall('sandboxSetTradingActivated', [0]));
      await isOpen(true);
    }
  }, 30_000);

  it('everything while the node is gone, and prepares nothing', async () => {
    const id = idOf(await opened());
    chain.setRpcFault({ mode: 'down' });
    try {
      for (const body of [{ tp: '70000' }, { leverage: '5' }])
        expect(refusal(await agent.adjust(id, body))).toEqual([502, 'UPSTREAM_UNAVAILABLE']);
      expect(await agent.openOrders()).toEqual([]);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
  }, 30_000);
});
