import { Wallet } from 'ethers';
import { venueOf } from '../../core/gateway.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, type AgentTrader, type Answer, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { diamondCall, price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { approveAgent, order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { movesOf, eventsAfter } from '../scenarios/journal-events.js';

/** A limit or stop that only reduces is an order of its own: the take profit or the stop loss of the position it closes. */

const SOL = 2;
let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  info = hlInfo(sandbox);
});
beforeEach(async () => {
  await priceIs('150');
  agent = await newAgentTrader(sandbox, chain);
});
afterAll(() => sandbox.stop());

/** The gateway has heard of it, so that the next order expects it. */
const priceIs = async (at: string): Promise<void> => {
  sandbox.controls.prices.jump(SOL, at);
  await eventually(
    () => venueOf(sandbox.gateway, chain.definition.slug).feed.price(SOL).mark,
    (mark) => Math.abs(Number(mark) / Number(price(Number(at))) - 1) < 0.003,
  );
};
const idOf = (order: Json): string => String(order['id']);
const open = async (side = 'long'): Promise<Json> => {
  await agent.place({ market: 'SOL/USD', side, type: 'market', size: '8', leverage: '10' }, 'filled');
  return agent.position();
};
const reducing = (position: Json, type: string, at: string, more: Json = {}): Json => ({
  market: 'SOL/USD',
  side: position['side'] === 'long' ? 'short' : 'long',
  type,
  size: position['size'],
  price: at,
  reduceOnly: true,
  ...more,
});
const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const moves = async (id: string) => movesOf(await eventsAfter(agent, 0), id);
const stepsOf = async (id: string) => {
  const { body } = await agent.call('getOrderTimeline', 'GET', `/orders/${id}/timeline`);
  return (body['steps'] as Json[]).map(({ step }) => step);
};

describe('a limit or stop that only reduces', () => {
  it.each([
    ['limit', 'long', '156', '157', 'tp'],
    ['stop', 'long', '146', '145', 'sl'],
    ['limit', 'short', '144', '143', 'tp'],
    ['stop', 'short', '154', '155', 'sl'],
  ])('as %s rests on a %s at %s and is filled when the price gets there', async (type, side, at, hit, level) => {
    const position = await open(side);
    const { order, transaction } = done(await agent.create(reducing(position, type, at, { clientId: 'out' })));
    expect(order).toMatchObject({
      status: 'prepared',
      type,
      price: at,
      size: position['size'],
      reduceOnly: true,
      clientId: 'out',
      txHash: null,
    });
    expect(order).toMatchObject({ side: side === 'long' ? 'short' : 'long', leverage: position['leverage'], sl: null, tp: null });
    if (transaction === null) throw new Error('there is nothing to send');
    const hash = await agent.send(transaction);
    const resting = await agent.reaches(idOf(order), 'open');
    expect(resting).toMatchObject({ txHash: hash, expiresAt: null, price: at, size: position['size'] });
    expect(await agent.openOrders()).toEqual([resting]);
    expect((await agent.position())[level]).toBe(at);
    await viewEqualsChain();
    sandbox.controls.prices.jump(SOL, hit);
    const filled = await agent.reaches(idOf(order), 'filled');
    expect(filled['fill']).toMatchObject({ positionId: position['id'], size: position['size'] });
    expect(await agent.openOrders()).toEqual([]);
    expect(await moves(idOf(order))).toEqual(['- → prepared', 'prepared → open', 'open → filled']);
    expect(await stepsOf(idOf(order))).toEqual(['validated', 'simulated', 'prepared', 'mined', 'resting', 'oracle_answered', 'filled']);
    await viewEqualsChain();
  });

  it('is moved by PATCH and stays the same order', async () => {
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const moved = done(await agent.update(id, { price: '165', slippage: '2.5' }));
    expect(moved.order).toMatchObject({ id, price: '165', slippage: '2.5', status: 'open' });
    await agent.send(prepared(await agent.update(id, { price: '165', slippage: '2.5' })));
    await eventually(
      () => agent.order(id),
      (order) => order['price'] === '165' && order['slippage'] === '2.5',
    );
    expect((await agent.order(id))['status']).toBe('open');
    expect(await agent.update(id, { price: '165' })).toMatchObject({ status: 200, body: { transaction: null } });
    await viewEqualsChain();
  });

  it('is cancelled by DELETE, and the position keeps its other level', async () => {
    const position = await open();
    const tp = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const sl = idOf(await agent.place(reducing(position, 'stop', '145'), 'open'));
    await viewEqualsChain();
    await agent.send(prepared(await agent.cancel(tp)));
    await agent.reaches(tp, 'canceled');
    expect(await agent.position()).toMatchObject({ tp: '0', sl: '145' });
    expect((await agent.order(sl))['status']).toBe('open');
    expect((await agent.cancel(tp)).body).toMatchObject({ code: 'ORDER_NOT_MODIFIABLE' });
    await viewEqualsChain();
  });

  it.each([
    ['PATCH of the position', (id: string) => agent.adjust(id, { tp: '170' })],
    ['its removal by PATCH of the position', (id: string) => agent.adjust(id, { tp: '0' })],
    ['a close of the whole position', (id: string) => agent.close(id)],
  ])('is canceled by %s', async (_what, change) => {
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    await agent.send(prepared(await change(String(position['id']))));
    await agent.reaches(id, 'canceled');
    await viewEqualsChain();
  });

  it('gives way to the next one, and to what another front end sets', async () => {
    const position = await open();
    const first = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const second = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    expect((await agent.order(first))['status']).toBe('canceled');
    const { index } = (await agent.trader.trades())[0] ?? { index: 0 };
    const { diamond } = chain.definition;
    await agent.trader.send(diamond, diamondCall('updateTp', [index, price(160)]));
    await viewEqualsChain();
    expect((await agent.order(second))['status']).toBe('open');
    await agent.trader.send(diamond, diamondCall('updateTp', [index, price(161)]));
    await agent.reaches(second, 'canceled');
    await viewEqualsChain();
  });

  it('is canceled when the other level closes the position, and by a liquidation', async () => {
    const position = await open();
    const tp = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const sl = idOf(await agent.place(reducing(position, 'stop', '145'), 'open'));
    sandbox.controls.prices.jump(SOL, '144');
    await agent.reaches(sl, 'filled');
    await agent.reaches(tp, 'canceled');
    await priceIs('150');
    const next = idOf(await agent.place(reducing(await open(), 'limit', '160'), 'open'));
    sandbox.controls.prices.jump(SOL, '120');
    await agent.reaches(next, 'canceled');
    await viewEqualsChain();
  });

  it('closes whatever its position has become', async () => {
    const position = await open();
    const tp = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    await agent.send(prepared(await agent.close(String(position['id']), { size: '3' })));
    const left = await eventually(
      () => agent.position(),
      (now) => now['size'] !== position['size'],
    );
    await eventually(
      () => agent.order(tp),
      ({ status, size }) => status === 'open' && size === left['size'],
    );
    await viewEqualsChain();
  });
});

describe('on the facade it', () => {
  interface Listed {
    readonly oid: number;
    readonly triggerPx: string;
    readonly orderType: string;
    readonly sz: string;
  }
  const listed = () => info.ask<Listed[]>('frontendOpenOrders', { user: agent.trader.account.address });
  const statusOf = async (oid: number | string) =>
    (await info.ask<{ order: { status: string; order: Listed } }>('orderStatus', { user: agent.trader.account.address, oid })).order;

  it('is listed once, under the id it has everywhere, wherever it is moved to', async () => {
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    expect(await listed()).toMatchObject([{ oid: Number(id), orderType: 'Take Profit Market', triggerPx: '160.0', reduceOnly: true }]);
    await agent.send(prepared(await agent.update(id, { price: '155' })));
    await eventually(listed, ([first]) => first?.triggerPx === '155.0');
    expect((await listed()).map(({ oid }) => oid)).toEqual([Number(id)]);
    expect(await statusOf(Number(id))).toMatchObject({ status: 'open', order: { triggerPx: '155.0', orderType: 'Take Profit Market' } });
    sandbox.controls.prices.jump(SOL, '156');
    await agent.reaches(id, 'filled');
    expect(await listed()).toEqual([]);
    expect(await statusOf(Number(id))).toMatchObject({ status: 'filled', order: { sz: '0.0' } });
    const [fill] = await info.ask<{ oid: number }[]>('userFills', { user: agent.trader.account.address });
    expect(fill?.oid).toBe(Number(id));
  });

  it('leaves its number to nobody when another level takes its place', async () => {
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'stop', '145'), 'open'));
    await agent.send(prepared(await agent.adjust(String(position['id']), { sl: '144' })));
    await agent.reaches(id, 'canceled');
    const [other] = await listed();
    expect(other).toMatchObject({ triggerPx: '144.0', orderType: 'Stop Market' });
    expect(other?.oid).not.toBe(Number(id));
    expect(await statusOf(Number(id))).toMatchObject({ status: 'canceled' });
  });

  it('stays canceled when another sets the same price again, also when that one is filled', async () => {
    const position = await open();
    const [first, second, third] = [
      idOf(await agent.place(reducing(position, 'limit', '160'), 'open')),
      idOf(await agent.place(reducing(position, 'limit', '165'), 'open')),
      idOf(await agent.place(reducing(position, 'limit', '160'), 'open')),
    ].map(Number);
    const ends = async () => Promise.all([first, second, third].map(async (id) => (await statusOf(id ?? 0)).status));
    expect(await ends()).toEqual(['canceled', 'canceled', 'open']);
    const sl = Number(idOf(await agent.place(reducing(position, 'stop', '140'), 'open')));
    sandbox.controls.prices.jump(SOL, '161');
    await agent.reaches(String(third), 'filled');
    expect(await ends()).toEqual(['canceled', 'canceled', 'filled']);
    const history = await info.ask<{ status: string; order: Listed }[]>('historicalOrders', { user: agent.trader.account.address });
    expect([(await statusOf(sl)).status, history.find(({ order }) => order.oid === sl)?.status]).toEqual(
      Array(2).fill('siblingFilledCanceled'),
    );
  });

  /** The same trader, through the relayer. */
  async function botOf({ trader }: AgentTrader) {
    await trader.send(chain.definition.diamond, diamondCall('setTradingDelegate', [sandbox.controls.relayer]));
    const key = new Wallet(Wallet.createRandom().privateKey);
    const { slug } = chain.definition;
    await postExchange(sandbox.url, slug, await approveAgent(new Wallet(trader.privateKey), key.address, null, { network: 'Testnet' }));
    return async (action: Json): Promise<unknown[]> => {
      const { body } = await postExchange(sandbox.url, slug, await signL1(key, action));
      return (body as { response: { data: { statuses: unknown[] } } }).response.data.statuses;
    };
  }
  const takeProfit = (size: unknown, px: string, c?: string) => ({
    type: 'order',
    orders: [
      order({ a: SOL, b: false, p: px, s: size, r: true, t: { trigger: { isMarket: true, triggerPx: px, tpsl: 'tp' } }, ...(c && { c }) }),
    ],
    grouping: 'na',
  });

  it('is canceled by a bot that names it, and by nothing else that the bot does not name', async () => {
    agent = await newAgentTrader(sandbox, chain, { self: true });
    const position = await open();
    const tp = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const sl = idOf(await agent.place(reducing(position, 'stop', '145'), 'open'));
    const bot = await botOf(agent);
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(tp) }] })).toEqual(['success']);
    await agent.reaches(tp, 'canceled');
    expect(await agent.position()).toMatchObject({ tp: '0', sl: '145' });
    expect((await agent.order(sl))['status']).toBe('open');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(tp) }] })).toMatchObject([{ error: expect.any(String) }]);
    expect((await listed()).map(({ oid }) => oid)).toEqual([Number(sl)]);
    await viewEqualsChain();
  });

  it('is canceled by a bot also when it is mined only after the bot asked', async () => {
    agent = await newAgentTrader(sandbox, chain, { self: true });
    const position = await open();
    const bot = await botOf(agent);
    const { order: waits, transaction } = done(await agent.create(reducing(position, 'limit', '160')));
    const canceled = bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(waits['id']) }] });
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    expect(await canceled).toEqual(['success']);
    await agent.reaches(idOf(waits), 'canceled');
    await viewEqualsChain();
  });

  it('and the trigger of a bot at the same price are found by every name that was given out', async () => {
    agent = await newAgentTrader(sandbox, chain, { self: true });
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    const bot = await botOf(agent);
    const cloid = `0x${'7'.repeat(32)}`;
    expect(await bot(takeProfit('8', '160', cloid))).toEqual([{ resting: { oid: Number(id), cloid } }]);
    const { oid } = (await statusOf(cloid)).order;
    expect(await listed()).toMatchObject([{ oid, triggerPx: '160.0' }]);
    expect(await statusOf(oid)).toMatchObject({ status: 'open', order: { triggerPx: '160.0' } });
    await agent.send(prepared(await agent.update(id, { price: '165' })));
    await eventually(listed, ([first]) => first?.triggerPx === '165.0');
    expect((await statusOf(Number(id))).order).toMatchObject({ triggerPx: '165.0' });
    await viewEqualsChain();
  });

  it('was set by a bot before, and again under another name, which is an order of its own', async () => {
    agent = await newAgentTrader(sandbox, chain, { self: true });
    await open();
    const bot = await botOf(agent);
    const [first, second] = ['1', '2'].map((digit) => `0x${digit.repeat(32)}`) as [string, string];
    const cancel = (cloid: string) => bot({ type: 'cancelByCloid', cancels: [{ asset: SOL, cloid }] });
    await bot(takeProfit('8', '160', first));
    expect(await cancel(first)).toEqual(['success']);
    await bot(takeProfit('8', '160', second));
    await eventually(listed, ({ length }) => length === 1);
    expect([(await statusOf(first)).status, (await statusOf(second)).status]).toEqual(['canceled', 'open']);
    expect((await listed()).map(({ oid }) => oid)).toEqual([(await statusOf(second)).order.oid]);
    // A late word about the first must not take the second away.
    expect(await cancel(first)).toMatchObject([{ error: expect.any(String) }]);
    expect(await agent.position()).toMatchObject({ tp: '160' });
    expect(await cancel(second)).toEqual(['success']);
    await viewEqualsChain();
  });
});

describe('a limit or stop that only reduces is refused', () => {
  const refusal = ({ status, body }: Answer) => [status, body['code']];

  it('for a part of a position, on the wrong side of the price, and where there is nothing to reduce', async () => {
    expect(refusal(await agent.create(reducing({ side: 'long', size: '8' }, 'limit', '160')))).toEqual([422, 'UNSUPPORTED']);
    const position = await open();
    const part = await agent.create(reducing(position, 'limit', '160', { size: '3' }));
    expect(refusal(part)).toEqual([422, 'UNSUPPORTED']);
    expect(String(part.body['message'])).toContain('the whole of one position');
    expect(refusal(await agent.create(reducing(position, 'limit', '149')))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.create(reducing(position, 'stop', '151')))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.create(reducing(position, 'limit', '160', { side: 'long' })))).toEqual([422, 'UNSUPPORTED']);
    expect(refusal(await agent.create(reducing(position, 'limit', '160.123456789012')))).toEqual([422, 'PRECISION_ERROR']);
    expect(refusal(await agent.create(reducing(position, 'limit', '160', { tp: '170' })))).toEqual([400, 'VALIDATION_ERROR']);
    expect(await agent.openOrders()).toEqual([]);
    await viewEqualsChain();
  });

  it('as any other size, with levels of its own, and once it is over, when it is changed', async () => {
    const position = await open();
    const id = idOf(await agent.place(reducing(position, 'limit', '160'), 'open'));
    expect(refusal(await agent.update(id, { size: '3' }))).toEqual([422, 'UNSUPPORTED']);
    expect((await agent.update(id, { size: position['size'] })).body).toMatchObject({ transaction: null });
    expect(refusal(await agent.update(id, { sl: '140' }))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.update(id, { price: '149' }))).toEqual([400, 'VALIDATION_ERROR']);
    await agent.send(prepared(await agent.adjust(String(position['id']), { tp: '0' })));
    await agent.reaches(id, 'canceled');
    expect(refusal(await agent.update(id, { price: '161' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    await viewEqualsChain();
  });

  it('never twice for one clientId, which is handed out again while it waits', async () => {
    const position = await open();
    const wish = reducing(position, 'stop', '145', { clientId: 'guard' });
    const [one, two] = [done(await agent.create(wish)), done(await agent.create(wish))];
    expect(two).toEqual(one);
    expect(refusal(await agent.create({ ...wish, price: '144' }))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    expect((await agent.cancel(idOf(one.order))).body).toMatchObject({ order: { status: 'expired' }, transaction: null });
    expect(done(await agent.create(wish)).order).toMatchObject({ id: idOf(one.order), status: 'prepared' });
    await viewEqualsChain();
  });
});
