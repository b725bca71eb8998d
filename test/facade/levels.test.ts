import { triggersUnderWay } from '../harness/traders/triggers.js';
import { Wallet } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { answeredAtOnce } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { hlSocket } from '../harness/hyperliquid/socket.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const BTC = 0;
const PRICE = 60_000;
const EXECUTING = { error: expect.stringMatching(/^Order is executing, .+ asset=0$/) };

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());
beforeEach(() => jumpTo(PRICE));

async function jumpTo(price: number): Promise<void> {
  sandbox.controls.prices.jump(BTC, String(price));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (oracle) => oracle === units(price),
  );
}

type Status = string | Record<string, Record<string, unknown>>;

interface Shown {
  readonly oid: number;
  readonly cloid: string | null;
  readonly triggerPx: string;
  readonly sz: string;
  readonly children: readonly Shown[];
}

interface Bot {
  readonly trader: ChainTrader;
  readonly user: `0x${string}`;
  send(action: Record<string, unknown>): Promise<Status[]>;
  /** The number of the one order. */
  place(placed: object): Promise<number>;
  statusOf(oid: number | string): Promise<string>;
  listed(): Promise<Shown[]>;
  /** Newest first. */
  history(): Promise<{ readonly order: Shown; readonly status: string; readonly statusTimestamp: number }[]>;
  /** Newest first. */
  fills(): Promise<{ readonly oid: number }[]>;
  positions(): Promise<readonly unknown[]>;
  awaited(): Promise<readonly unknown[]>;
}

async function newBot(): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const user = address.toLowerCase() as `0x${string}`;
  const { account } = sandbox.gateway.store;
  const send: Bot['send'] = async (action) => {
    const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
    return (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
  };
  return {
    trader,
    user,
    send,
    async place(placed) {
      const [status] = await send({ type: 'order', orders: [placed], grouping: 'na' });
      const answered = status as Record<string, { oid: number }> | undefined;
      const oid = (answered?.['resting'] ?? answered?.['filled'])?.oid;
      if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(status)}`);
      return oid;
    },
    statusOf: async (oid) => (await info.ask<{ order: { status: string } }>('orderStatus', { user, oid })).order.status,
    listed: () => info.ask('frontendOpenOrders', { user }),
    history: () => info.ask('historicalOrders', { user }),
    fills: () => info.ask('userFills', { user }),
    positions: () => account.openPositions(FACADE_CHAIN, user),
    awaited: () => triggersUnderWay(sandbox.gateway.store, FACADE_CHAIN, user),
  };
}

const units = (price: number) => BigInt(price) * 10n ** 10n;
const cancel = (oid: number) => ({ type: 'cancel', cancels: [{ a: BTC, o: oid }] });
const buy = (s: string) => order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: { limit: { tif: 'Ioc' } } });
const level = (tpsl: 'tp' | 'sl', triggerPx: string, changes: object = {}) =>
  order({ a: BTC, b: false, p: triggerPx, s: '0.1', r: true, t: { trigger: { isMarket: true, triggerPx, tpsl } }, ...changes });

const stopBecomes = ({ trader }: Bot, price: number) =>
  eventually(
    () => trader.trades(),
    ([trade]) => trade?.sl === units(price),
  );
/** However long the oracle takes. */
async function open(bot: Bot): Promise<void> {
  const { length } = await bot.positions();
  await bot.place(buy('0.1'));
  await eventually(
    () => bot.positions(),
    (positions) => positions.length === length + 1,
  );
}

async function newHolder(): Promise<Bot> {
  const bot = await newBot();
  await open(bot);
  return bot;
}

/** Nothing is on its way any more: the gateway has it from the chain. */
const arrives = (bot: Bot) =>
  eventually(
    () => bot.awaited(),
    ({ length }) => length === 0,
  );

describe('a level that is not mined yet', () => {
  afterEach(() => chain.pauseMining(false));

  it('is open and listed from the answer on, and a cancel says that it can still come', async () => {
    const bot = await newHolder();
    await chain.pauseMining(true);
    const oid = await answeredAtOnce(sandbox, () => bot.place(level('sl', '55000')));
    expect(await bot.statusOf(oid)).toBe('open');
    expect(await bot.listed()).toMatchObject([{ oid, triggerPx: '55000.0', sz: '0.1' }]);
    expect(await answeredAtOnce(sandbox, () => bot.send(cancel(oid)))).toEqual([EXECUTING]);
    await chain.pauseMining(false);
    await stopBecomes(bot, 55_000);
    expect(await bot.statusOf(oid)).toBe('open');
    expect(await bot.send(cancel(oid))).toEqual(['success']);
    expect(await bot.statusOf(oid)).toBe('canceled');
    expect(await bot.listed()).toEqual([]);
    // A cancel of the one that it stands in for does not take it away.
    const old = await bot.place(level('sl', '55000'));
    await arrives(bot);
    await chain.pauseMining(true);
    const newer = await bot.place(level('sl', '56000'));
    expect((await bot.listed()).map((shown) => shown.oid)).toEqual([newer, old]);
    const canceled = bot.send(cancel(old));
    await chain.pauseMining(false);
    await canceled;
    await eventually(
      () => bot.listed(),
      ({ length }) => length === 1,
    );
    expect(await bot.trader.trades()).toMatchObject([{ sl: units(56_000) }]);
    expect([await bot.statusOf(old), await bot.statusOf(newer)]).toEqual(['canceled', 'open']);
  });
});

describe('the fill of a level', () => {
  const fillOf = async (bot: Bot, oid: number) =>
    (
      await eventually(
        () => bot.fills(),
        ([newest]) => newest?.oid === oid,
      )
    )[0];

  it('bears the name its bot gave it, and took what was there', async () => {
    const bot = await newHolder();
    const c = `0x${'d2'.repeat(16)}`;
    const oid = await bot.place(level('sl', '55000', { p: '50000', c }));
    await arrives(bot);
    await jumpTo(54_900);
    expect(await fillOf(bot, oid)).toMatchObject({ cloid: c, dir: 'Close Long', crossed: true });
  });

  it('did rest where it was a limit order', async () => {
    const bot = await newHolder();
    const c = `0x${'d3'.repeat(16)}`;
    const oid = await bot.place(level('tp', '62000', { p: '62000', c, t: { limit: { tif: 'Gtc' } } }));
    await arrives(bot);
    await jumpTo(62_100);
    expect(await fillOf(bot, oid)).toMatchObject({ cloid: c, dir: 'Close Long', crossed: false });
  });
});

describe('a second stop loss for all of a position', () => {
  interface Update {
    readonly order: { readonly oid: number };
    readonly status: string;
  }
  const isOf = (oid: number, status: string) => (update: Update) => update.order.oid === oid && update.status === status;

  it('cancels the first in an update of its own, also where it has the same price', async () => {
    const bot = await newHolder();
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('orderUpdates', { user: bot.user });
    const isUpdated = (oid: number, status: string) => socket.find<Update[]>('orderUpdates', (updates) => updates.some(isOf(oid, status)));
    let old = await bot.place(level('sl', '55000'));
    await arrives(bot);
    await isUpdated(old, 'open');
    // At another price, at the same one, and at one that the contract moves to where the one before stands.
    for (const price of ['56000', '56000', '44000', '43000']) {
      const oid = await bot.place(level('sl', price));
      await isUpdated(old, 'canceled');
      await isUpdated(oid, 'open');
      await arrives(bot);
      expect([await bot.statusOf(old), await bot.statusOf(oid)]).toEqual(['canceled', 'open']);
      expect((await bot.listed()).map((shown) => shown.oid)).toEqual([oid]);
      old = oid;
    }
    // In the same action the first is canceled as well, though it was never listed.
    await chain.pauseMining(true);
    const both = await bot.send({ type: 'order', orders: [level('sl', '55000'), level('sl', '56000')], grouping: 'na' });
    await chain.pauseMining(false);
    const [first = 0, second = 0] = both.map((status) => (status as { resting: { oid: number } }).resting.oid);
    await isUpdated(first, 'canceled');
    await isUpdated(second, 'open');
    await socket.close();
    expect(await bot.statusOf(first)).toBe('canceled');
  });

  it('for a part of one trade is refused by name, and taken where it covers whole trades', async () => {
    const bot = await newHolder();
    const [refused] = await bot.send({ type: 'order', orders: [level('sl', '55000', { s: '0.05' })], grouping: 'na' });
    expect(refused).toEqual({
      error:
        'A stop loss, a take profit or a resting order against a position must cover whole trades here: the sizes that do are 0.1. asset=0',
    });
    // Only a trigger of its own grouping is one of the position.
    await bot.place(level('sl', '54000'));
    await bot.send({ type: 'order', orders: [level('tp', '70000')], grouping: 'positionTpsl' });
    await arrives(bot);
    expect(await bot.listed()).toMatchObject([
      { triggerPx: '70000.0', isPositionTpsl: true },
      { triggerPx: '54000.0', isPositionTpsl: false },
    ]);
    await open(bot);
    const oid = await bot.place(level('sl', '55000', { s: '0.1' }));
    await arrives(bot);
    expect(await bot.listed()).toMatchObject([{ oid, sz: '0.1' }, { triggerPx: '70000.0' }]);
    expect((await bot.trader.trades()).map(({ sl }) => sl)).toEqual([units(55_000), 0n]);
  });
});

describe('the history of a trigger', () => {
  it('has it as it was sent, and the time of its cancel stays when its position is closed', async () => {
    const bot = await newHolder();
    const c = `0x${'f1'.repeat(16)}`;
    const oid = await bot.place(level('sl', '55000', { c }));
    await arrives(bot);
    const listed = async () => (await bot.history()).find(({ order }) => order.oid === oid);
    expect(await listed()).toMatchObject({ order: { cloid: c, triggerPx: '55000.0', reduceOnly: true }, status: 'open' });
    expect(await bot.send(cancel(oid))).toEqual(['success']);
    const canceled = await listed();
    expect(canceled).toMatchObject({ status: 'canceled' });
    const kept = await bot.place(level('sl', '54000'));
    await arrives(bot);
    await bot.place(order({ a: BTC, b: false, p: '57000', s: '0.1', r: true, t: { limit: { tif: 'Ioc' } } }));
    await eventually(
      () => bot.positions(),
      ({ length }) => length === 0,
    );
    expect(await listed()).toMatchObject({ status: 'canceled', statusTimestamp: canceled?.statusTimestamp });
    expect(await info.ask('orderStatus', { user: bot.user, oid })).toMatchObject({
      order: { status: 'canceled', statusTimestamp: canceled?.statusTimestamp },
    });
    expect((await bot.history()).find(({ order: shown }) => shown.oid === kept)).toMatchObject({ status: 'reduceOnlyCanceled' });
  });

  it('knows no two that live under one cloid', async () => {
    const bot = await newHolder();
    const c = `0x${'f2'.repeat(16)}`;
    const oid = await bot.place(level('sl', '55000', { c }));
    await arrives(bot);
    const again = { type: 'order', orders: [level('tp', '70000', { c })], grouping: 'na' };
    expect(await bot.send(again)).toEqual([{ error: 'An order with this cloid is still open. asset=0' }]);
    expect(await bot.send(cancel(oid))).toEqual(['success']);
    expect(await bot.send(again)).toMatchObject([{ resting: { cloid: c } }]);
    const child = level('sl', '55000', { c });
    expect(await bot.send({ type: 'order', orders: [buy('0.1'), child], grouping: 'normalTpsl' })).toMatchObject([
      { error: expect.stringContaining('Not placed') },
      { error: 'An order with this cloid is still open. asset=0' },
    ]);
  });
});

describe('orders with one cloid at the same moment', () => {
  const TAKEN = { error: 'An order with this cloid is still open. asset=0' };
  const isTaken = (status: Status | undefined): boolean => JSON.stringify(status) === JSON.stringify(TAKEN);

  it('are one and refusals, where they are levels of a position', async () => {
    const bot = await newHolder();
    const c = `0x${'e1'.repeat(16)}`;
    const action = { type: 'order', orders: [level('sl', '55000', { c })], grouping: 'na' };
    const answers = (await Promise.all(Array.from({ length: 4 }, () => bot.send(action)))).flat();
    expect(answers.filter(isTaken)).toHaveLength(3);
  });

  it('are one and refusals, where they came with openings', async () => {
    const bot = await newBot();
    const c = `0x${'e2'.repeat(16)}`;
    const entry = order({ a: BTC, b: true, p: '50000', s: '0.1', t: { limit: { tif: 'Gtc' } } });
    const action = { type: 'order', orders: [entry, level('sl', '45000', { c })], grouping: 'normalTpsl' };
    const answers = await Promise.all(Array.from({ length: 4 }, () => bot.send(action)));
    expect(answers.filter(([, child]) => child === 'waitingForFill')).toHaveLength(1);
    expect(answers.filter(([parent]) => typeof parent === 'object' && 'resting' in parent)).toHaveLength(1);
  });

  it('are one and refusals, where one is an order and one a level of a position', async () => {
    const bot = await newHolder();
    const c = `0x${'e4'.repeat(16)}`;
    const entry = order({ a: BTC, b: true, p: '50000', s: '0.1', c, t: { limit: { tif: 'Gtc' } } });
    const asked = [entry, level('sl', '55000', { c })].map((each) => ({ type: 'order', orders: [each], grouping: 'na' }));
    const answers = (await Promise.all(asked.map((action) => bot.send(action)))).flat();
    expect(answers.filter(isTaken)).toHaveLength(1);
  });

  it('are the first and a refusal in one action', async () => {
    const bot = await newHolder();
    const c = `0x${'e3'.repeat(16)}`;
    const action = { type: 'order', orders: [level('sl', '55000', { c }), level('tp', '70000', { c })], grouping: 'na' };
    const [first, second] = await bot.send(action);
    expect(first).toMatchObject({ resting: { cloid: c } });
    expect(second).toEqual(TAKEN);
  });
});

describe('a take profit or stop loss that came with an opening', () => {
  const children = [
    level('tp', '70000', { p: '69000', c: `0x${'e1'.repeat(16)}`, t: { trigger: { isMarket: false, triggerPx: '70000', tpsl: 'tp' } } }),
    level('sl', '55000', { p: '54900', c: `0x${'e2'.repeat(16)}` }),
  ] as const;
  const withChildren = (parent: object) => ({ type: 'order', orders: [parent, ...children], grouping: 'normalTpsl' });
  const asSent = [
    { cloid: `0x${'e2'.repeat(16)}`, limitPx: '54900.0', orderType: 'Stop Market', triggerPx: '55000.0', isPositionTpsl: false, sz: '0.1' },
    { cloid: `0x${'e1'.repeat(16)}`, limitPx: '69000.0', orderType: 'Take Profit Limit', triggerPx: '70000.0', isPositionTpsl: false },
  ];

  it('is listed as its bot sent it, whether its parent rests or is filled, and keeps its number', async () => {
    const bot = await newBot();
    const [rested, ...waiting] = await bot.send(withChildren({ ...buy('0.1'), p: '58000', t: { limit: { tif: 'Gtc' } } }));
    expect([rested, ...waiting]).toEqual([{ resting: { oid: expect.any(Number) } }, 'waitingForFill', 'waitingForFill']);
    const listed = await eventually(
      () => bot.listed(),
      ([parent]) => parent?.children.length === 2,
    );
    expect(listed).toMatchObject([{ children: asSent.toReversed() }]);
    expect(await info.ask('openOrders', { user: bot.user })).toMatchObject([{}, { cloid: asSent[1]?.cloid }, { cloid: asSent[0]?.cloid }]);
    await jumpTo(57_900);
    await eventually(
      () => bot.positions(),
      ({ length }) => length === 1,
    );
    expect(await bot.listed()).toMatchObject(asSent);
    expect((await bot.listed()).map(({ oid }) => oid)).toEqual(listed[0]?.children.map(({ oid }) => oid).toReversed());
    expect([await bot.statusOf(`0x${'e1'.repeat(16)}`), await bot.statusOf(`0x${'e2'.repeat(16)}`)]).toEqual(['open', 'open']);
  });

  it('is cancelled by its cloid, and its fill bears it', async () => {
    const bot = await newBot();
    expect(await bot.send(withChildren(buy('0.1')))).toMatchObject([{ filled: {} }, 'waitingForTrigger', 'waitingForTrigger']);
    await eventually(
      () => bot.listed(),
      ({ length }) => length === 2,
    );
    const cloid = `0x${'e1'.repeat(16)}`;
    expect(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] })).toEqual(['success']);
    expect(await bot.statusOf(cloid)).toBe('canceled');
    await jumpTo(54_950);
    const fills = await eventually(
      () => bot.fills(),
      ({ length }) => length === 2,
    );
    expect(fills[0]).toMatchObject({ cloid: `0x${'e2'.repeat(16)}`, dir: 'Close Long' });
    expect(await bot.statusOf(`0x${'e2'.repeat(16)}`)).toBe('filled');
  });

  it('is taken off the order that rests, and changed on it, by its number, by its cloid and together with the other', async () => {
    const bot = await newBot();
    await bot.send(withChildren({ ...buy('0.1'), p: '58000', t: { limit: { tif: 'Gtc' } } }));
    const [tp, sl] = [`0x${'e1'.repeat(16)}`, `0x${'e2'.repeat(16)}`];
    const c = `0x${'e3'.repeat(16)}`;
    const modifies = [
      { oid: tp, order: level('tp', '71000', { c: tp }) },
      { oid: sl, order: level('sl', '54500', { c: sl }) },
    ];
    expect(await bot.send({ type: 'batchModify', modifies })).toMatchObject([{ resting: { cloid: tp } }, { resting: { cloid: sl } }]);
    await arrives(bot);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(71_000), sl: units(54_500) }]);
    const changed = level('sl', '54000', { p: '53000', c });
    expect(await bot.send({ type: 'batchModify', modifies: [{ oid: sl, order: changed }] })).toMatchObject([{ resting: { cloid: c } }]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(71_000), sl: units(54_000) }]);
    expect([await bot.statusOf(sl), await bot.statusOf(c)]).toEqual(['canceled', 'open']);
    expect(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: tp }] })).toEqual(['success']);
    expect(await bot.trader.trades()).toMatchObject([{ tp: 0n, sl: units(54_000), openPrice: expect.any(BigInt) }]);
    expect(await bot.listed()).toMatchObject([{ children: [{ cloid: c, limitPx: '53000.0', triggerPx: '54000.0' }] }]);
    const oid = (await bot.listed())[0]?.children[0]?.oid ?? 0;
    expect(await bot.send(cancel(oid))).toEqual(['success']);
    expect(await bot.trader.trades()).toMatchObject([{ tp: 0n, sl: 0n }]);
    const history = (await bot.history()).map(({ order, status }) => `${order.cloid} ${status}`);
    // The changes of one action run side by side: the numbers of the two new orders have no fixed order.
    const replaced = [`${sl} canceled`, `${tp} canceled`];
    expect([history[0], history.slice(1, 3).sort(), history.slice(3)]).toEqual([
      `${c} canceled`,
      [...replaced].sort(),
      [...replaced, 'null open'],
    ]);
  });
});

describe('a stop loss of an order that rests', () => {
  const rest = { ...buy('0.1'), p: '58000', t: { limit: { tif: 'Gtc' } } };
  const oidOf = (status: Status | undefined) => (status as { resting: { oid: number } } | undefined)?.resting.oid ?? 0;

  it('that is moved back to where it stood before is the newest order, and can be changed and canceled as such', async () => {
    const bot = await newBot();
    await bot.send({ type: 'order', orders: [rest, level('sl', '55000')], grouping: 'normalTpsl' });
    const [parent] = await eventually(
      () => bot.listed(),
      ([only]) => only?.children.length === 1,
    );
    const oids = [parent?.children[0]?.oid ?? 0];
    // The last two are at prices that the contract moves to the same one.
    for (const price of ['54000', '55000', '54000', '54000', '40000', '54000', '41000']) {
      const modifies = [{ oid: oids.at(-1) ?? 0, order: level('sl', price) }];
      const [changed] = await bot.send({ type: 'batchModify', modifies });
      expect(changed).toMatchObject({ resting: {} });
      oids.push(oidOf(changed));
      expect(await Promise.all(oids.slice(-2).map((oid) => bot.statusOf(oid)))).toEqual(['canceled', 'open']);
    }
    expect((await bot.listed())[0]?.children.map(({ oid }) => oid)).toEqual(oids.slice(-1));
    expect(await bot.send(cancel(oids.at(-1) ?? 0))).toEqual(['success']);
    expect(await bot.trader.trades()).toMatchObject([{ sl: 0n }]);
  });
});

describe('a stop loss for two trades', () => {
  it('keeps its name when the first of them is closed', async () => {
    const bot = await newHolder();
    await open(bot);
    const c = `0x${'f3'.repeat(16)}`;
    await bot.place(level('sl', '55000', { s: '0.2', c }));
    await arrives(bot);
    await bot.place(order({ a: BTC, b: false, p: '57000', s: '0.1', r: true, t: { limit: { tif: 'Ioc' } } }));
    await eventually(
      () => bot.positions(),
      ({ length }) => length === 1,
    );
    const another = { type: 'order', orders: [level('tp', '70000', { c })], grouping: 'na' };
    expect(await bot.send(another)).toEqual([{ error: 'An order with this cloid is still open. asset=0' }]);
    expect(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: c }] })).toEqual(['success']);
    expect(await bot.trader.trades()).toMatchObject([{ sl: 0n }]);
  });
});

describe('a stop loss further away than the contract allows', () => {
  const cloid = (byte: string) => `0x${byte.repeat(16)}`;
  const isOf = (oid: number) => (update: { readonly order: object }) => 'oid' in update.order && update.order.oid === oid;
  /** Whole numbers: five significant figures of a price above 10,000. */
  const onTick = (price: bigint) => `${(price + units(1) / 2n) / units(1)}.0`;

  it('is the bot’s order where the contract puts it', async () => {
    const bot = await newHolder();
    const socket = await hlSocket(sandbox.url);
    await socket.subscribe('orderUpdates', { user: bot.user });
    await socket.subscribe('notification', { user: bot.user });
    const c = cloid('d1');
    const oid = await bot.place(level('sl', '44000', { c }));
    await arrives(bot);
    const [trade] = await bot.trader.trades();
    expect(trade?.sl).toBeGreaterThan(units(44_000));
    const triggerPx = onTick(trade?.sl ?? 0n);
    const moved = { oid, cloid: c, sz: '0.1', triggerPx, askedTriggerPx: '44000.0' };
    expect(await bot.listed()).toMatchObject([moved]);
    expect(await info.ask('orderStatus', { user: bot.user, oid: c })).toMatchObject({ order: { order: moved } });
    const updates = await socket.find<{ order: object; status: string }[]>('orderUpdates', (all) => all.some(isOf(oid)));
    expect(updates.filter(isOf(oid))).toMatchObject([{ status: 'open', order: { oid, triggerPx, askedTriggerPx: '44000.0' } }]);
    const why = `was moved from 44000.0 to ${triggerPx}: at the leverage of its position the contract keeps none further away`;
    expect(await socket.find('notification')).toEqual({ notification: expect.stringContaining(why) });
    await socket.close();
    const { body } = await sandbox.get(`/api/notifications/${bot.user}`);
    const { notifications } = body as { notifications: { kind: string }[] };
    expect(notifications).toHaveLength(2);
    expect(notifications.find(({ kind }) => kind === 'stop_loss_moved')).toMatchObject({
      orderId: String(oid),
      body: expect.stringMatching(/asked for at 44000 and stands at 498\d\d\./),
    });
    expect([await bot.statusOf(c), await bot.statusOf(oid)]).toEqual(['open', 'open']);
    expect(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: c }] })).toEqual(['success']);
    expect(await bot.statusOf(c)).toBe('canceled');
    expect(await bot.trader.trades()).toMatchObject([{ sl: 0n }]);
  });

  it('is one order on trades that were opened at different prices', async () => {
    const bot = await newHolder();
    await jumpTo(PRICE + 1_000);
    await open(bot);
    const oid = await bot.place(level('sl', '44000', { s: '0.2' }));
    await arrives(bot);
    const [first, second] = await bot.trader.trades();
    expect(first?.sl).not.toBe(second?.sl);
    const nearer = [first?.sl ?? 0n, second?.sl ?? 0n].reduce((a, b) => (a > b ? a : b));
    expect(await bot.listed()).toMatchObject([{ oid, sz: '0.2', triggerPx: onTick(nearer) }]);
    expect(await info.ask('orderStatus', { user: bot.user, oid })).toMatchObject({ order: { order: { triggerPx: onTick(nearer) } } });
  });

  it('is refused with the nearest price that fits where the operator wants it so', async () => {
    const bot = await newHolder();
    const settings = sandbox.gateway.facade as { stopBeyondCap: 'move' | 'refuse' };
    settings.stopBeyondCap = 'refuse';
    try {
      const [refused] = await bot.send({ type: 'order', orders: [level('sl', '44000')], grouping: 'na' });
      const { error } = refused as unknown as { error: string };
      expect(error).toMatch(
        /^Invalid TP\/SL price\. At this leverage a stop loss further away than \d+\.0 would come after liquidation\. asset=0$/,
      );
      const nearest = Number(/than (\d+)/.exec(error)?.[1]);
      const oid = await bot.place(level('sl', String(nearest)));
      await arrives(bot);
      expect(await bot.trader.trades()).toMatchObject([{ sl: units(nearest) }]);
      expect(await bot.listed()).toMatchObject([{ oid, triggerPx: `${nearest}.0` }]);
      const opening = [buy('0.1'), level('sl', '44000')];
      const [parent] = await bot.send({ type: 'order', orders: opening, grouping: 'normalTpsl' });
      expect(parent).toMatchObject({ error: expect.stringContaining('would come after liquidation') });
      expect(await bot.positions()).toHaveLength(1);
    } finally {
      settings.stopBeyondCap = 'move';
    }
  });
});
