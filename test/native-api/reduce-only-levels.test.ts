import { triggersUnderWay } from '../harness/traders/triggers.js';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { venueOf } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { done, newAgentTrader, prepared, refusal, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { expectViewEqualsChain } from '../harness/diamond/chain-checker.js';
import { diamondCall, price } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { approveAgent, order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { hlSocket } from '../harness/hyperliquid/socket.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { movesOf, eventsAfter } from '../scenarios/journal-events.js';

/** A limit or stop that only reduces is an order of its own: the take profit or the stop loss of the position it closes. */

const SOL = 2;
let sandbox: TestVenue;
let chain: ChainControls;
let agent: AgentTrader;
let position: Json;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await sharedVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  info = hlInfo(sandbox);
});
beforeEach(() => priceIs('150'));
afterAll(() => sandbox.stop());

/** The gateway has received the price, so that the next order expects it. */
const priceIs = async (at: string): Promise<void> => {
  sandbox.controls.prices.jump(SOL, at);
  await eventually(
    () => venueOf(sandbox.gateway, chain.definition.slug).feed.price(SOL).mark,
    (mark) => Math.abs(Number(mark) / Number(price(Number(at))) - 1) < 0.003,
  );
};
const idOf = (order: Json): string => String(order['id']);
/** The position that the tests after it reduce, until one closes it. */
const open = async (side = 'long'): Promise<void> => {
  await agent.place({ market: 'SOL/USD', side, type: 'market', size: '8', leverage: '10' }, 'filled');
  position = await agent.position();
};
const reducing = (type: string, at: string, more: Json = {}): Json => ({
  market: 'SOL/USD',
  side: position['side'] === 'long' ? 'short' : 'long',
  type,
  size: position['size'],
  price: at,
  reduceOnly: true,
  ...more,
});
const viewEqualsChain = () => expectViewEqualsChain(sandbox.gateway, chain.definition.slug, agent.trader);
const rest = async (type: string, at: string): Promise<string> => idOf(await agent.place(reducing(type, at), 'open'));
const openIds = async () => (await agent.openOrders()).filter(({ status }) => status === 'open').map(idOf);
const moves = async (id: string) => movesOf(await eventsAfter(agent, 0), id);
const stepsOf = async (id: string) => {
  const { body } = await agent.call('getOrderTimeline', 'GET', `/orders/${id}/timeline`);
  return (body['steps'] as Json[]).map(({ step }) => step);
};

interface Listed {
  readonly oid: number;
  readonly triggerPx: string;
  readonly orderType: string;
  readonly sz: string;
}
const listed = () => info.ask<Listed[]>('frontendOpenOrders', { user: agent.trader.account.address });
const statusOf = async (oid: number | string) =>
  (await info.ask<{ order: { status: string; order: Listed } }>('orderStatus', { user: agent.trader.account.address, oid })).order;

describe('a limit or stop that only reduces', () => {
  beforeAll(async () => {
    agent = await newAgentTrader(sandbox, chain);
  });

  // Each level on both sides where there is time, otherwise on one of them.
  const isSlow = process.env['SLOW_TESTS'] === '1';
  const pairs = [
    ['limit', 'long', '156', '157', 'tp'],
    ['stop', 'short', '154', '155', 'sl'],
    ['stop', 'long', '146', '145', 'sl'],
    ['limit', 'short', '144', '143', 'tp'],
  ] as const;

  it.each(isSlow ? pairs : pairs.slice(0, 2))(
    'as %s rests on a %s at %s and is filled when the price gets there',
    async (type, side, at, hit, level) => {
      await open(side);
      const clientId = `out of a ${side} by ${type}`;
      const { order, transaction } = done(await agent.create(reducing(type, at, { clientId })));
      expect(order).toMatchObject({
        status: 'prepared',
        type,
        price: at,
        size: position['size'],
        reduceOnly: true,
        clientId,
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
    },
  );

  it('is refused for a part of a position, on the wrong side of the price, and where there is nothing to reduce', async () => {
    position = { side: 'long', size: '8' };
    expect(refusal(await agent.create(reducing('limit', '160')))).toEqual([422, 'UNSUPPORTED']);
    await open();
    const part = await agent.create(reducing('limit', '160', { size: '3' }));
    expect(refusal(part)).toEqual([422, 'UNSUPPORTED']);
    expect(String(part.body['message'])).toContain('the whole of one position');
    expect(refusal(await agent.create(reducing('limit', '149')))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.create(reducing('stop', '151')))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.create(reducing('limit', '160', { side: 'long' })))).toEqual([422, 'UNSUPPORTED']);
    expect(refusal(await agent.create(reducing('limit', '160.123456789012')))).toEqual([422, 'PRECISION_ERROR']);
    expect(refusal(await agent.create(reducing('limit', '160', { tp: '170' })))).toEqual([400, 'VALIDATION_ERROR']);
    expect(await agent.openOrders()).toEqual([]);
  });

  it('is never made twice for one clientId, which is handed out again while it waits', async () => {
    const wish = reducing('stop', '145', { clientId: 'guard' });
    const [one, two] = [done(await agent.create(wish)), done(await agent.create(wish))];
    expect(two).toEqual(one);
    expect(refusal(await agent.create({ ...wish, price: '144' }))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    expect((await agent.cancel(idOf(one.order))).body).toMatchObject({ order: { status: 'expired' }, transaction: null });
    expect(done(await agent.create(wish)).order).toMatchObject({ id: idOf(one.order), status: 'prepared' });
    expect((await agent.cancel(idOf(one.order))).body).toMatchObject({ order: { status: 'expired' } });
  });

  it('is moved by PATCH and stays the same order, and is refused any other size, levels of its own and a price that has passed', async () => {
    const id = await rest('limit', '160');
    expect(refusal(await agent.update(id, { size: '3' }))).toEqual([422, 'UNSUPPORTED']);
    expect((await agent.update(id, { size: position['size'] })).body).toMatchObject({ transaction: null });
    expect(refusal(await agent.update(id, { sl: '140' }))).toEqual([400, 'VALIDATION_ERROR']);
    expect(refusal(await agent.update(id, { price: '149' }))).toEqual([400, 'VALIDATION_ERROR']);
    const moved = await agent.update(id, { price: '165', slippage: '2.5' });
    expect(done(moved).order).toMatchObject({ id, price: '165', slippage: '2.5', status: 'open' });
    await agent.send(prepared(moved));
    await eventually(
      () => agent.order(id),
      (order) => order['price'] === '165' && order['slippage'] === '2.5',
    );
    expect((await agent.order(id))['status']).toBe('open');
    expect(await agent.update(id, { price: '165' })).toMatchObject({ status: 200, body: { transaction: null } });
    await viewEqualsChain();
  });

  it('gives way to the next one, and to what another front end sets', async () => {
    const [moved = ''] = await openIds();
    const first = await rest('limit', '160');
    const second = await rest('limit', '160');
    expect([(await agent.order(moved))['status'], (await agent.order(first))['status']]).toEqual(['canceled', 'canceled']);
    const { index } = (await agent.trader.trades())[0] ?? { index: 0 };
    const { diamond } = chain.definition;
    await agent.trader.send(diamond, diamondCall('updateTp', [index, price(160)]));
    await viewEqualsChain();
    expect((await agent.order(second))['status']).toBe('open');
    await agent.trader.send(diamond, diamondCall('updateTp', [index, price(161)]));
    await agent.reaches(second, 'canceled');
    await viewEqualsChain();
  });

  it('is cancelled by DELETE, and the position keeps its other level', async () => {
    const [tp, sl] = [await rest('limit', '160'), await rest('stop', '145')];
    await viewEqualsChain();
    await agent.send(prepared(await agent.cancel(tp)));
    await agent.reaches(tp, 'canceled');
    expect(await agent.position()).toMatchObject({ tp: '0', sl: '145' });
    expect((await agent.order(sl))['status']).toBe('open');
    expect((await agent.cancel(tp)).body).toMatchObject({ code: 'ORDER_NOT_MODIFIABLE' });
    await viewEqualsChain();
  });

  it('is canceled by PATCH of the position, which moves or removes the level, and is then over', async () => {
    const id = String(position['id']);
    for (const tp of ['170', '0']) {
      const order = await rest('limit', '160');
      await agent.send(prepared(await agent.adjust(id, { tp })));
      await agent.reaches(order, 'canceled');
      expect(refusal(await agent.update(order, { price: '161' }))).toEqual([409, 'ORDER_NOT_MODIFIABLE']);
    }
    await viewEqualsChain();
  });

  it('closes whatever its position has become, and is canceled by a close of the whole position', async () => {
    const tp = await rest('limit', '160');
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
    await agent.send(prepared(await agent.close(String(position['id']))));
    await agent.reaches(tp, 'canceled');
    await viewEqualsChain();
  });

  it('is canceled when the other level closes the position, and by a liquidation', async () => {
    await open();
    const [tp, sl] = [await rest('limit', '160'), await rest('stop', '145')];
    sandbox.controls.prices.jump(SOL, '144');
    await agent.reaches(sl, 'filled');
    await agent.reaches(tp, 'canceled');
    await priceIs('150');
    await open();
    const next = await rest('limit', '160');
    sandbox.controls.prices.jump(SOL, '120');
    await agent.reaches(next, 'canceled');
    await viewEqualsChain();
  });
});

describe('on the facade it', () => {
  beforeAll(async () => {
    await priceIs('150');
    agent = await newAgentTrader(sandbox, chain);
  });

  it('leaves its number to no other order when another TP/SL trigger takes its place', async () => {
    await open();
    const id = await rest('stop', '145');
    await agent.send(prepared(await agent.adjust(String(position['id']), { sl: '144' })));
    await agent.reaches(id, 'canceled');
    const [other] = await listed();
    expect(other).toMatchObject({ triggerPx: '144.0', orderType: 'Stop Market' });
    expect(other?.oid).not.toBe(Number(id));
    expect(await statusOf(Number(id))).toMatchObject({ status: 'canceled' });
    await agent.send(prepared(await agent.adjust(String(position['id']), { sl: '0' })));
    await eventually(listed, ({ length }) => length === 0);
  });

  it('stays canceled when another sets the same price again, also when that one is filled', async () => {
    const [first, second, third] = [await rest('limit', '160'), await rest('limit', '165'), await rest('limit', '160')].map(Number);
    const ends = async () => Promise.all([first, second, third].map(async (id) => (await statusOf(id ?? 0)).status));
    expect(await ends()).toEqual(['canceled', 'canceled', 'open']);
    const sl = Number(await rest('stop', '140'));
    sandbox.controls.prices.jump(SOL, '161');
    await agent.reaches(String(third), 'filled');
    expect(await ends()).toEqual(['canceled', 'canceled', 'filled']);
    const history = await info.ask<{ status: string; order: Listed }[]>('historicalOrders', { user: agent.trader.account.address });
    expect([(await statusOf(sl)).status, history.find(({ order }) => order.oid === sl)?.status]).toEqual(
      Array(2).fill('siblingFilledCanceled'),
    );
  });

  it('is listed once, under the id it has everywhere, wherever it is moved to', async () => {
    await open();
    const id = await rest('limit', '160');
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
});

describe('beside a bot of the same trader it', () => {
  let bot: (action: Json) => Promise<unknown[]>;
  beforeAll(async () => {
    await priceIs('150');
    agent = await newAgentTrader(sandbox, chain, { self: true });
    await open();
    bot = await botOf(agent);
  });

  /** The same trader, through the relayer. */
  async function botOf({ trader }: AgentTrader) {
    await trader.send(chain.definition.diamond, diamondCall('setTradingDelegate', [sandbox.controls.relayer]));
    const key = new Wallet(generatePrivateKey());
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

  const GONE = [{ error: expect.stringContaining('never placed, already canceled, or filled') }];
  const cancelNamed = (cloid: string) => bot({ type: 'cancelByCloid', cancels: [{ asset: SOL, cloid }] });

  it('is canceled by a bot that names it, and by nothing else that the bot does not name', async () => {
    const tp = await rest('limit', '160');
    const sl = await rest('stop', '145');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(tp) }] })).toEqual(['success']);
    await agent.reaches(tp, 'canceled');
    expect(await agent.position()).toMatchObject({ tp: '0', sl: '145' });
    expect((await agent.order(sl))['status']).toBe('open');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(tp) }] })).toMatchObject([{ error: expect.any(String) }]);
    expect((await listed()).map(({ oid }) => oid)).toEqual([Number(sl)]);
    await viewEqualsChain();
    await agent.send(prepared(await agent.cancel(sl)));
    await agent.reaches(sl, 'canceled');
  });

  it('is canceled by a bot also when it is mined only after the bot asked', async () => {
    const { order: waits, transaction } = done(await agent.create(reducing('limit', '160')));
    const canceled = bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(waits['id']) }] });
    if (transaction === null) throw new Error('there is nothing to send');
    await agent.send(transaction);
    expect(await canceled).toEqual(['success']);
    await agent.reaches(idOf(waits), 'canceled');
    await viewEqualsChain();
  });

  it('and the trigger of a bot at the same price are found by every name that was given out', async () => {
    const id = await rest('limit', '160');
    const cloid = `0x${'7'.repeat(32)}`;
    expect(await bot(takeProfit('8', '160', cloid))).toEqual([{ resting: { oid: expect.any(Number), cloid } }]);
    const { oid } = (await statusOf(cloid)).order;
    expect(await listed()).toMatchObject([{ oid, triggerPx: '160.0' }]);
    expect(await statusOf(oid)).toMatchObject({ status: 'open', order: { triggerPx: '160.0' } });
    // The bot's is the later order: a bot that names the other one removes nothing.
    expect(oid).not.toBe(Number(id));
    expect((await statusOf(Number(id))).status).toBe('canceled');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: Number(id) }] })).toEqual(GONE);
    expect(await agent.position()).toMatchObject({ tp: '160' });
    await agent.send(prepared(await agent.update(id, { price: '165' })));
    await eventually(listed, ([first]) => first?.triggerPx === '165.0');
    expect(await statusOf(Number(id))).toMatchObject({ status: 'open', order: { triggerPx: '165.0' } });
    expect((await statusOf(cloid)).status).toBe('canceled');
    await viewEqualsChain();
  });

  it('was set by a bot before, and again under another name, which is an order of its own', async () => {
    await agent.send(prepared(await agent.adjust(String(position['id']), { tp: '0' })));
    await eventually(listed, ({ length }) => length === 0);
    const [first, second] = ['1', '2'].map((digit) => `0x${digit.repeat(32)}`) as [string, string];
    await bot(takeProfit('8', '160', first));
    expect(await cancelNamed(first)).toEqual(['success']);
    await bot(takeProfit('8', '160', second));
    await eventually(listed, ({ length }) => length === 1);
    expect([(await statusOf(first)).status, (await statusOf(second)).status]).toEqual(['canceled', 'open']);
    expect((await listed()).map(({ oid }) => oid)).toEqual([(await statusOf(second)).order.oid]);
    // A late word about the first must not take the second away.
    expect(await cancelNamed(first)).toMatchObject([{ error: expect.any(String) }]);
    expect(await agent.position()).toMatchObject({ tp: '160' });
    expect(await cancelNamed(second)).toEqual(['success']);
    await viewEqualsChain();
  });

  it('takes over the price of a bot’s trigger, whose cancel leaves it and whose cloid is free', async () => {
    const cloid = `0x${'8'.repeat(32)}`;
    await bot(takeProfit('8', '161', cloid));
    await eventually(listed, ([first]) => first?.triggerPx === '161.0');
    const { oid } = (await statusOf(cloid)).order;
    const id = await rest('limit', '161');
    expect(await listed()).toMatchObject([{ oid: Number(id), triggerPx: '161.0' }]);
    expect((await statusOf(oid)).status).toBe('canceled');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: oid }] })).toEqual(GONE);
    expect(await cancelNamed(cloid)).toEqual(GONE);
    expect(await agent.position()).toMatchObject({ tp: '161' });
    expect(await bot(takeProfit('8', '162', cloid))).toMatchObject([{ resting: { cloid } }]);
  });

  it('is followed by two triggers of bots at its price, of which the later one stands', async () => {
    const id = Number(await rest('limit', '163'));
    const [first, second] = ['a', 'b'].map((digit) => `0x${digit.repeat(32)}`) as [string, string];
    for (const cloid of [first, second]) {
      await bot(takeProfit('8', '163', cloid));
      await eventually(
        () => triggersUnderWay(sandbox.gateway.store, chain.definition.slug, agent.trader.account.address.toLowerCase() as Address),
        ({ length }) => length === 0,
      );
    }
    const { oid } = (await statusOf(second)).order;
    expect(await Promise.all([id, first, second].map(async (name) => (await statusOf(name)).status))).toEqual([
      'canceled',
      'canceled',
      'open',
    ]);
    expect(await listed()).toMatchObject([{ oid, cloid: second }]);
    expect(await cancelNamed(first)).toEqual(GONE);
    expect(await agent.position()).toMatchObject({ tp: '163' });
    expect(await cancelNamed(second)).toEqual(['success']);
    expect(await agent.position()).toMatchObject({ tp: '0' });
    await agent.reaches(String(id), 'canceled');
  });

  it('does not get its level back from a bot’s trigger when another front end sets the same price again', async () => {
    const id = Number(await rest('limit', '164'));
    const cloid = `0x${'f'.repeat(32)}`;
    await bot(takeProfit('8', '164', cloid));
    const { index } = (await agent.trader.trades())[0] ?? { index: 0 };
    await agent.trader.send(chain.definition.diamond, diamondCall('updateTp', [index, price(164)]));
    await viewEqualsChain();
    expect([(await statusOf(id)).status, (await statusOf(cloid)).status]).toEqual(['canceled', 'open']);
    expect(await cancelNamed(cloid)).toEqual(['success']);
    expect(await agent.position()).toMatchObject({ tp: '0' });
  });

  it.each([
    ['is asked for', 'c'],
    ['is mined', 'd'],
  ])('outlives an order of a bot at its price that also opens, if it %s later', async (later, digit) => {
    const cloid = `0x${digit.repeat(32)}`;
    const asked = later === 'is mined' ? done(await agent.create(reducing('limit', '165'))) : null;
    const sale = order({ a: SOL, b: false, p: '165', s: '16', r: false, t: { limit: { tif: 'Gtc' } }, c: cloid });
    await bot({ type: 'order', orders: [sale], grouping: 'na' });
    await eventually(
      () => agent.position(),
      ({ tp }) => tp === '165',
    );
    if (asked?.transaction) await agent.send(asked.transaction);
    const id = asked === null ? await rest('limit', '165') : idOf(await agent.reaches(idOf(asked.order), 'open'));
    expect(await cancelNamed(cloid)).toEqual(['success']);
    expect(await agent.position()).toMatchObject({ tp: '165' });
    expect((await agent.order(id))['status']).toBe('open');
    expect(await listed()).toMatchObject([{ oid: Number(id) }]);
    await viewEqualsChain();
    await agent.send(prepared(await agent.cancel(id)));
    await agent.reaches(id, 'canceled');
  });

  it('is over once the trigger of a bot for its trade and another one is at its price, whose fills are that one’s', async () => {
    const id = Number(await rest('limit', '155'));
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('orderUpdates', { user: agent.trader.account.address });
    await agent.place({ market: 'SOL/USD', side: 'long', type: 'market', size: '4', leverage: '10' }, 'filled');
    const cloid = `0x${'e'.repeat(32)}`;
    await bot(takeProfit('12', '155', cloid));
    const prices = async () => (await agent.trader.trades()).map(({ tp }) => tp);
    await eventually(prices, (found) => found.every((tp) => tp === price(155)));
    const { oid } = (await statusOf(cloid)).order;
    expect(await listed()).toMatchObject([{ oid, cloid }]);
    expect((await statusOf(id)).status).toBe('canceled');
    expect(await bot({ type: 'cancel', cancels: [{ a: SOL, o: id }] })).toEqual(GONE);
    expect(await prices()).toEqual([price(155), price(155)]);
    sandbox.controls.prices.jump(SOL, '156');
    await eventually(prices, ({ length }) => length === 0);
    const fills = () => info.ask<{ oid: number; cloid?: string }[]>('userFills', { user: agent.trader.account.address });
    expect((await eventually(fills, ([newest, next]) => newest?.oid === oid && next?.oid === oid)).slice(0, 2)).toMatchObject([
      { cloid },
      { cloid },
    ]);
    const history = await info.ask<{ status: string; order: Listed }[]>('historicalOrders', { user: agent.trader.account.address });
    const ends = [id, oid].map((name) => history.find(({ order: shown }) => shown.oid === name)?.status);
    expect([...ends, (await statusOf(id)).status, (await statusOf(cloid)).status]).toEqual(['canceled', 'filled', 'canceled', 'filled']);
    const updates = () => socket.of<{ order: Listed; status: string }[]>('orderUpdates').flat();
    const saidOf = (name: number) => updates().flatMap(({ order: { oid: named }, status }) => (named === name ? [status] : []));
    await eventually(
      () => Promise.resolve(saidOf(oid)),
      (said) => said.at(-1) === 'filled',
    );
    expect(saidOf(id)).toEqual(['canceled']);
    await socket.close();
  });

  it('is the only one that is filled, if it took over the price of a bot’s trigger', async () => {
    agent = await newAgentTrader(sandbox, chain, { self: true });
    await open();
    bot = await botOf(agent);
    const cloid = `0x${'9'.repeat(32)}`;
    await bot(takeProfit('8', '155', cloid));
    await eventually(listed, ([first]) => first?.triggerPx === '155.0');
    const { oid } = (await statusOf(cloid)).order;
    const id = await rest('limit', '155');
    expect((await statusOf(oid)).status).toBe('canceled');
    sandbox.controls.prices.jump(SOL, '156');
    await agent.reaches(id, 'filled');
    const history = await info.ask<{ status: string; order: Listed }[]>('historicalOrders', { user: agent.trader.account.address });
    const past = new Map(history.map(({ status, order: { oid: each } }) => [each, status]));
    expect([(await statusOf(oid)).status, past.get(oid)]).toEqual(['canceled', 'canceled']);
    expect([(await statusOf(Number(id))).status, past.get(Number(id))]).toEqual(['filled', 'filled']);
  });
});
