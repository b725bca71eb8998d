import { Wallet } from 'ethers';
import { roundSize } from '../harness/traders/level-bot.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** Stop losses for several trades, of which later orders replace some. */
const BTC = 0;
const PRICE = 60_000;
const X = `0x${'b1'.repeat(16)}`;
const Z = `0x${'b2'.repeat(16)}`;
const TAKEN = [{ error: 'An order with this cloid is still open. asset=0' }];
const GONE = [{ error: 'Order was never placed, already canceled, or filled. asset=0' }];
const CHANGE_GONE = [{ error: expect.stringMatching(/^Cannot modify canceled or filled order/) }];

let sandbox: TestVenue;
let info: HlInfo;

beforeAll(async () => {
  sandbox = await sharedVenue();
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

interface Bot {
  readonly trader: ChainTrader;
  readonly user: `0x${string}`;
  send(action: Record<string, unknown>): Promise<unknown[]>;
  /** The number of the one order, once nothing is on its way any more. */
  place(placed: Parameters<typeof orderAction>[0]): Promise<number>;
  statusOf(oid: number | string): Promise<unknown>;
  /** The numbers, sizes and cloids of the open orders by both requests, which must agree. */
  listed(): Promise<unknown[]>;
  /** The stop losses of the trades on chain. */
  stops(): Promise<bigint[]>;
}

async function newBot(): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const user = address.toLowerCase() as `0x${string}`;
  const { exchange } = sandbox.gateway.store;
  const send: Bot['send'] = async (action) => {
    const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
    return (body as { response: { data: { statuses: unknown[] } } }).response.data.statuses;
  };
  return {
    trader,
    user,
    send,
    async place(placed) {
      const [status] = await send(orderAction(placed));
      const answered = status as Record<string, { oid: number } | undefined> | undefined;
      const oid = (answered?.['resting'] ?? answered?.['filled'])?.oid;
      if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(status)}`);
      await eventually(
        () => exchange.awaited(FACADE_CHAIN, user),
        ({ length }) => length === 0,
      );
      return oid;
    },
    async statusOf(oid) {
      const { order: found } = await info.ask<{ order: { status: string; order: { oid: number; sz: string } } }>('orderStatus', {
        user,
        oid,
      });
      return found.status === 'open' ? { oid: found.order.oid, sz: roundSize(found.order.sz) } : found.status;
    },
    async listed() {
      const open = await info.ask<{ oid: number; sz: string; cloid?: string | null }[]>('openOrders', { user });
      const shown = await info.ask<{ oid: number; sz: string; cloid: string | null }[]>('frontendOpenOrders', { user });
      const all = shown.map(({ oid, sz, cloid }) => ({ oid, sz, cloid }));
      expect(open.map(({ oid, sz, cloid }) => ({ oid, sz, cloid: cloid ?? null }))).toEqual(all);
      return all.map((each) => ({ ...each, sz: roundSize(each.sz) }));
    },
    stops: async () => (await trader.trades()).map(({ sl }) => sl),
  };
}

const units = (price: number) => BigInt(price) * 10n ** 10n;
const cancel = (oid: number) => ({ type: 'cancel', cancels: [{ a: BTC, o: oid }] });
const cancelNamed = (cloid: string) => ({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
const changeOf = (oid: number | string, to: object) => ({ type: 'batchModify', modifies: [{ oid, order: to }] });
const buy = (s: string) => order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: { limit: { tif: 'Ioc' } } });
const sell = (s: string) => order({ a: BTC, b: false, p: String(PRICE * 0.95), s, r: true, t: { limit: { tif: 'Ioc' } } });
const stop = (triggerPx: string, s: string, c: string) =>
  order({ a: BTC, b: false, p: triggerPx, s, r: true, t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } }, c });
/** Only asks whether the cloid is free: none of this size can be placed. */
const named = (c: string) => orderAction(order({ ...stop('55000', '0.05', c) }));
const NOT_NAMED = [{ error: expect.stringContaining('must cover whole trades') }];

async function tradesBecome({ user }: Bot, count: number): Promise<void> {
  await eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, user),
    ({ length }) => length === count,
  );
}

/** A bot with two trades of these sizes and the stop loss X for both at 55,000. */
async function newHolder(first: string, second: string, both: string): Promise<{ bot: Bot; x: number }> {
  const bot = await newBot();
  await bot.place(buy(first));
  await tradesBecome(bot, 1);
  await bot.place(buy(second));
  await tradesBecome(bot, 2);
  return { bot, x: await bot.place(stop('55000', both, X)) };
}

/** Every answer says that the order does not stand. */
async function expectGone(bot: Bot, oid: number, cloid: string): Promise<void> {
  expect(['reduceOnlyCanceled', 'canceled']).toContain(await bot.statusOf(oid));
  expect(await bot.send(cancel(oid))).toEqual(GONE);
  expect(await bot.send(cancelNamed(cloid))).toEqual(GONE);
  expect(await bot.send(changeOf(oid, stop('54000', '0.1', cloid)))).toEqual(CHANGE_GONE);
  expect(await bot.send(named(cloid))).toEqual(NOT_NAMED);
}

describe('a stop loss for two trades, after the first of them is closed', () => {
  const closed = async () => {
    const { bot, x } = await newHolder('0.1', '0.1', '0.2');
    await bot.place(sell('0.1'));
    await tradesBecome(bot, 1);
    return { bot, x };
  };

  it('stands on the other one by every answer', async () => {
    const { bot, x } = await closed();
    expect(await bot.listed()).toEqual([{ oid: x, sz: '0.1', cloid: X }]);
    expect([await bot.statusOf(x), await bot.statusOf(X)]).toEqual([
      { oid: x, sz: '0.1' },
      { oid: x, sz: '0.1' },
    ]);
    expect(await bot.send(named(X))).toEqual(TAKEN);
    expect(await bot.send(cancel(x))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
    await expectGone(bot, x, X);
  });

  it('is over once another at the same price is placed for the other, which a cancel of the former leaves', async () => {
    const { bot, x } = await closed();
    const z = await bot.place(stop('55000', '0.1', Z));
    await expectGone(bot, x, X);
    expect(await bot.stops()).toEqual([units(55_000)]);
    expect(await bot.listed()).toEqual([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.statusOf(Z)).toEqual({ oid: z, sz: '0.1' });
    expect(await bot.send(named(Z))).toEqual(TAKEN);
    // The cloid of the former can be used again, and means the new one.
    const again = await bot.place(stop('55000', '0.1', X));
    expect(await bot.statusOf(X)).toEqual({ oid: again, sz: '0.1' });
    expect(await bot.send(cancel(x))).toEqual(GONE);
    expect(await bot.stops()).toEqual([units(55_000)]);
    await expectGone(bot, z, Z);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });

  it('is over also where its level was listed in between', async () => {
    const { bot, x } = await closed();
    await bot.listed();
    const z = await bot.place(stop('55000', '0.1', Z));
    expect(await bot.send(cancelNamed(X))).toEqual(GONE);
    expect(await bot.stops()).toEqual([units(55_000)]);
    expect(await bot.listed()).toEqual([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.statusOf(x)).toBe('reduceOnlyCanceled');
  });
});

describe('a stop loss for two trades, of which another replaces one', () => {
  it.each(['55000', '54000'])('stands on the one that it still has: the other is at %s', async (price) => {
    const { bot, x } = await newHolder('0.1', '0.2', '0.3');
    expect(await bot.listed()).toEqual([{ oid: x, sz: '0.3', cloid: X }]);
    const z = await bot.place(stop(price, '0.1', Z));
    expect(await bot.listed()).toEqual([
      { oid: z, sz: '0.1', cloid: Z },
      { oid: x, sz: '0.2', cloid: X },
    ]);
    expect([await bot.statusOf(X), await bot.statusOf(Z)]).toEqual([
      { oid: x, sz: '0.2' },
      { oid: z, sz: '0.1' },
    ]);
    expect([await bot.send(named(X)), await bot.send(named(Z))]).toEqual([TAKEN, TAKEN]);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([units(Number(price)), 0n]);
    expect(await bot.listed()).toEqual([{ oid: z, sz: '0.1', cloid: Z }]);
    expect([await bot.statusOf(X), await bot.statusOf(Z)]).toEqual(['canceled', { oid: z, sz: '0.1' }]);
    await expectGone(bot, x, X);
  });

  it('is over once a third for both replaces it, which replaces the other one too', async () => {
    const { bot, x } = await newHolder('0.1', '0.1', '0.2');
    const z = await bot.place(stop('55000', '0.1', Z));
    const both = `0x${'b3'.repeat(16)}`;
    const oid = await bot.place(stop('55000', '0.2', both));
    expect(await bot.listed()).toEqual([{ oid, sz: '0.2', cloid: both }]);
    await expectGone(bot, x, X);
    await expectGone(bot, z, Z);
    expect(await bot.stops()).toEqual([units(55_000), units(55_000)]);
    expect(await bot.send(changeOf(both, stop('54000', '0.2', both)))).toMatchObject([{ resting: { cloid: both } }]);
    expect(await bot.stops()).toEqual([units(54_000), units(54_000)]);
  });
});

describe('a stop loss for two trades that the contract moves to another price on each', () => {
  it('stands on the second after the first is closed, and its fill there has its name', async () => {
    const bot = await newBot();
    await bot.place(buy('0.1'));
    await tradesBecome(bot, 1);
    await jumpTo(PRICE + 1_000);
    await bot.place(buy('0.1'));
    await tradesBecome(bot, 2);
    const x = await bot.place(stop('44000', '0.2', X));
    await bot.place(sell('0.1'));
    await tradesBecome(bot, 1);
    expect(await bot.listed()).toEqual([{ oid: x, sz: '0.1', cloid: X }]);
    expect(await bot.statusOf(X)).toEqual({ oid: x, sz: '0.1' });
    expect(await bot.send(named(X))).toEqual(TAKEN);
    await jumpTo(48_000);
    await tradesBecome(bot, 0);
    const [fill] = await eventually(
      () => info.ask<{ oid: number; cloid: string | null }[]>('userFills', { user: bot.user }),
      ([newest]) => newest?.oid === x,
    );
    expect(fill).toMatchObject({ oid: x, cloid: X });
    expect(await bot.statusOf(x)).toBe('filled');
  });
});

describe('a stop loss that came with an opening', () => {
  it('is over once another at the same price is placed for its trade', async () => {
    const bot = await newBot();
    await bot.send({ type: 'order', orders: [buy('0.1'), stop('55000', '0.1', X)], grouping: 'normalTpsl' });
    await tradesBecome(bot, 1);
    const x = (await bot.statusOf(X)) as { oid: number };
    const z = await bot.place(stop('55000', '0.1', Z));
    await expectGone(bot, x.oid, X);
    expect(await bot.listed()).toEqual([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.stops()).toEqual([units(55_000)]);
  });
});

describe('an order that closes a trade at its price and opens the other side', () => {
  it('leaves the take profit at the same price that another placed later', async () => {
    const bot = await newBot();
    await bot.place(buy('0.1'));
    await tradesBecome(bot, 1);
    const sale = (s: string, c: string, r: boolean) => order({ a: BTC, b: false, p: '63000', s, r, t: { limit: { tif: 'Gtc' } }, c });
    const x = await bot.place(sale('0.2', X, false));
    const z = await bot.place(sale('0.1', Z, true));
    expect(await bot.send(cancel(x))).toEqual(['success']);
    expect(await bot.listed()).toEqual([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(63_000) }]);
  });
});
