import { Wallet } from 'ethers';
import type pg from 'pg';
import type { ChainControls } from '../../sandbox/controls.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { answersWhenKnown } from '../harness/venue/answer-hold.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { operatorOf } from '../harness/venue/operator.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const BTC = 0;
const PRICE = 60_000;
const GONE = 'Cannot modify canceled or filled order';

let sandbox: TestVenue;
let chain: ChainControls;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await sharedVenue();
  database = await venueDatabase(sandbox);
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === units(PRICE),
  );
});
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

interface Bot {
  readonly trader: ChainTrader;
  readonly address: `0x${string}`;
  post(action: object): ReturnType<typeof postExchange>;
  send(action: object): Promise<unknown>;
}

async function newBot(): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  const post = async (action: object) => postExchange(sandbox.url, FACADE_CHAIN, await signL1(agent, { ...action }));
  return { trader, address: address.toLowerCase() as `0x${string}`, post, send: async (action) => (await post(action)).body };
}

const orders = (...list: object[]) => ({ type: 'order', orders: list, grouping: 'na' });
const modify = (oid: number | string, changed: object) => ({ type: 'modify', oid, order: changed });
const batchModify = (...modifies: { oid: number | string; order: object }[]) => ({ type: 'batchModify', modifies });
const limit = (tif: string) => ({ limit: { tif } });
const buy = (s: string, changes: object = {}) =>
  order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: limit('Ioc'), ...changes });
const sell = (s: string, changes: object = {}) => buy(s, { b: false, p: String(PRICE * 0.95), ...changes });
const rest = (s: string, changes: object = {}) => buy(s, { p: '50000', t: limit('Gtc'), ...changes });
const stop = (triggerPx: string, changes: object = {}) =>
  sell('0.1', { r: true, p: '40000', t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } }, ...changes });

type Status = Record<string, Record<string, unknown>>;
const statuses = (body: unknown) => (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
const oidOf = (status: Status | undefined) => Number(status?.['resting']?.['oid'] ?? status?.['filled']?.['oid']);
const units = (price: number) => BigInt(price) * 10n ** 10n;

type Trades = Awaited<ReturnType<ChainTrader['trades']>>;
const tradesOf = ({ trader }: Bot, holds: (trades: Trades) => boolean) => eventually(() => trader.trades(), holds);

async function resting(bot: Bot, changes: object = {}): Promise<number> {
  const oid = oidOf(statuses(await bot.send(orders(rest('0.1', changes))))[0]);
  await eventually(
    () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
    (live) => live.some(({ id, order: { status } }) => id === BigInt(oid) && status === 'open'),
  );
  return oid;
}

/** A position of 0.1 and the number of its stop loss. */
async function guarded(bot: Bot, changes: object = {}): Promise<number> {
  await bot.send(orders(buy('0.1')));
  const oid = oidOf(statuses(await bot.send(orders(stop('55000', changes))))[0]);
  await stopAt(bot, 55_000);
  return oid;
}

const stopAt = (bot: Bot, price: number) =>
  eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
    ([listed]) => listed?.position.sl === units(price),
  );

const waiting = async () =>
  (await sandbox.gateway.store.relay.open(FACADE_CHAIN, sandbox.controls.relayer.toLowerCase() as `0x${string}`)).length;

const kept = async ({ address }: Bot): Promise<number> =>
  Number((await database.query<{ count: string }>('select count(*) from relay_actions where trader = $1', [address])).rows[0]?.count);

/** Gives a request that waits some turns, so that a wrong decision would be made before what it waits for comes. */
async function letItDecide({ trader }: Bot): Promise<void> {
  for (let trips = 0; trips < 60; trips += 1) await trader.trades();
}

/** All of them are on their way, in this order, before the chain decides. Two that take back the same share one transaction. */
async function atOnce(bot: Bot, ...actions: object[]): Promise<unknown[]> {
  await eventually(waiting, (jobs) => jobs === 0);
  const before = await kept(bot);
  await chain.pauseMining(true);
  answersWhenKnown(sandbox);
  const answers: Promise<unknown>[] = [];
  try {
    for (const action of actions) {
      answers.push(bot.send(action));
      await eventually(
        () => kept(bot),
        (count) => count === before + answers.length,
      );
      await eventually(waiting, (jobs) => jobs > 0);
      await letItDecide(bot);
    }
  } finally {
    await chain.pauseMining(false);
  }
  return Promise.all(answers);
}

const done = { status: 'ok', response: { type: 'default' } };
const gone = { status: 'err', response: GONE };

/** What it holds, and what rests for it. */
const openOf = async (bot: Bot) => {
  const trades = await bot.trader.trades();
  return {
    positions: trades.filter(({ tradeType }) => tradeType === 0).length,
    resting: trades.filter(({ tradeType }) => tradeType !== 0).length,
  };
};

describe('of several who want the same order, one gets it:', () => {
  it('leaves a counter trade, which was placed elsewhere, as it is, and says so', async () => {
    await operatorOf(chain).control('sandboxSetCounterTrade', [BTC, 20_000, 500]);
    const bot = await newBot();
    await bot.trader.open({ tradeType: 1, openPrice: units(50_000), isCounterTrade: true });
    const [known] = await eventually(
      () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
      (live) => live.length === 1,
    );
    const answer = await bot.send(modify(Number(known?.id), rest('0.1', { p: '49000' })));
    expect(JSON.stringify(answer)).toContain('The order is a counter trade, which was placed elsewhere');
    expect(await bot.trader.trades()).toMatchObject([{ isCounterTrade: true, openPrice: units(50_000) }]);
  });

  it('a change sent twice is made once', async () => {
    const bot = await newBot();
    const oid = await resting(bot);
    expect(await atOnce(bot, modify(oid, buy('0.1')), modify(oid, buy('0.1')))).toEqual([done, gone]);
    expect(await openOf(bot)).toEqual({ positions: 1, resting: 0 });
  });

  it('after a change in one transaction nothing is left for one in two', async () => {
    const bot = await newBot();
    const oid = await resting(bot);
    expect(await atOnce(bot, modify(oid, rest('0.1', { p: '49000' })), modify(oid, buy('0.1')))).toEqual([done, gone]);
    expect(await openOf(bot)).toEqual({ positions: 0, resting: 1 });
  });

  it('what is canceled first is not changed', async () => {
    const bot = await newBot();
    const oid = await resting(bot);
    const [canceled, changed] = await atOnce(bot, { type: 'cancel', cancels: [{ a: BTC, o: oid }] }, modify(oid, buy('0.1')));
    expect(statuses(canceled)).toEqual(['success']);
    expect(changed).toEqual(gone);
    expect(await openOf(bot)).toEqual({ positions: 0, resting: 0 });
  });

  it('a stop loss that is to become an order twice becomes one', async () => {
    const bot = await newBot();
    const oid = await guarded(bot);
    const entry = rest('0.1');
    expect(await atOnce(bot, modify(oid, entry), modify(oid, entry))).toEqual([done, gone]);
    expect((await tradesOf(bot, ({ length }) => length > 1)).map(({ sl }) => sl)).toEqual([0n, 0n]);
    expect(await openOf(bot)).toEqual({ positions: 1, resting: 1 });
  });

  it('in a batch the first, by whatever name', async () => {
    const bot = await newBot();
    const c = `0x${'a1'.repeat(16)}`;
    const oid = await resting(bot, { c });
    const answers = statuses(await bot.send(batchModify({ oid, order: buy('0.1') }, { oid: c, order: buy('0.1') })));
    expect(answers).toEqual([{ filled: expect.objectContaining({ oid: expect.any(Number) }) }, { error: GONE }]);
    expect(await openOf(bot)).toEqual({ positions: 1, resting: 0 });
  });
});

describe('a cancel by cloid', () => {
  it('while the order that replaces another waits in the queue leaves neither of them', async () => {
    const bot = await newBot();
    const c = `0x${'a2'.repeat(16)}`;
    const oid = await resting(bot, { c });
    await eventually(waiting, (jobs) => jobs === 0);
    // No job gets a nonce meanwhile.
    await database.query('begin');
    await database.query('select from relay_lanes for update');
    const changing = bot.send(modify(oid, rest('0.1', { p: '49000', c })));
    await eventually(waiting, (jobs) => jobs > 0);
    const before = await kept(bot);
    const canceling = bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: c }] });
    await eventually(
      () => kept(bot),
      (count) => count === before + 1,
    );
    await letItDecide(bot);
    await database.query('rollback');
    expect(await changing).toEqual(done);
    expect(statuses(await canceling)).toEqual(['success']);
    expect(await openOf(bot)).toEqual({ positions: 0, resting: 0 });
  });
});

describe('a change of a stop loss', () => {
  it('while no node answers is answered as any order is, and the old one stands', async () => {
    const bot = await newBot();
    const oid = await guarded(bot);
    chain.setRpcFault({ mode: 'down' });
    try {
      const refused = { status: 502, body: expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE' }) as object };
      expect(await bot.post(modify(oid, stop('56000')))).toMatchObject(refused);
      expect(await bot.post(orders(stop('56000')))).toMatchObject(refused);
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    expect((await bot.trader.trades())[0]).toMatchObject({ sl: units(55_000) });
  });

  it('under a number that was overwritten since places nothing, also where the same level was set again', async () => {
    const bot = await newBot();
    const oid = await guarded(bot);
    for (const price of [56_000, 55_000]) {
      await bot.send(orders(stop(String(price))));
      await stopAt(bot, price);
    }
    expect(await bot.send(modify(oid, buy('0.1')))).toEqual(gone);
    expect(await openOf(bot)).toEqual({ positions: 1, resting: 0 });
    expect((await bot.trader.trades())[0]).toMatchObject({ sl: units(55_000) });
  });
});

describe('a change of an order with a stop loss', () => {
  it('ends the stop loss, as a cancel does', async () => {
    const bot = await newBot();
    const group = { type: 'order', orders: [rest('0.1'), stop('45000')], grouping: 'normalTpsl' };
    const oid = oidOf(statuses(await bot.send(group))[0]);
    const [before] = await tradesOf(bot, ({ length }) => length > 0);
    expect(before?.sl).toBe(units(45_000));
    await eventually(
      () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
      (live) => live.some(({ id, order: { status } }) => id === BigInt(oid) && status === 'open'),
    );
    expect(await bot.send(modify(oid, rest('0.1', { p: '49000' })))).toEqual(done);
    expect((await bot.trader.trades()).map(({ sl }) => sl)).toEqual([0n]);
  });
});

describe('a change that names its order anew', () => {
  const [a, b, c] = ['b1', 'b2', 'b3'].map((byte) => `0x${byte.repeat(16)}`) as [string, string, string];

  it('takes a name that is free, and none that another order bears', async () => {
    const bot = await newBot();
    const oid = await resting(bot, { c: a });
    await resting(bot, { c: b });
    const taken = { status: 'err', response: `An order with this cloid is still open. asset=${BTC}` };
    expect(await bot.send(modify(oid, rest('0.1', { p: '49000', c: b })))).toEqual(taken);
    expect(await bot.send(modify(oid, buy('0.1', { c: b })))).toEqual(taken);
    expect(await openOf(bot)).toEqual({ positions: 0, resting: 2 });
    expect(await bot.send(modify(oid, rest('0.1', { p: '49000', c })))).toEqual(done);
  });

  it.each([
    ['was never used', false],
    ['a past order had', true],
  ])('at the same moment as another change to the same name, which %s: one of them has it', async (_, isOfPast) => {
    const bot = await newBot();
    if (isOfPast)
      expect(await bot.send({ type: 'cancel', cancels: [{ a: BTC, o: await resting(bot, { c }) }] })).toMatchObject({ status: 'ok' });
    const oids = [await resting(bot), await resting(bot)];
    const answers = statuses(await bot.send(batchModify(...oids.map((oid) => ({ oid, order: rest('0.1', { p: '49000', c }) })))));
    expect(answers.map((status) => ('error' in status ? status['error'] : Object.keys(status)[0])).sort()).toEqual([
      `An order with this cloid is still open. asset=${BTC}`,
      'resting',
    ]);
    expect(await openOf(bot)).toEqual({ positions: 0, resting: 2 });
  });
});
