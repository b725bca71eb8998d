import { eventually } from '../harness/time/eventually.js';
import {
  buy,
  cancel,
  cancelNamed,
  changeOf,
  jumpTo,
  LEVEL_PRICE,
  named,
  newLevelBot,
  sell,
  stop,
  units,
  type LevelBot,
} from '../harness/traders/level-bot.js';
import { order } from '../harness/hyperliquid/exchange.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

/** Stop losses for several trades, of which later orders replace some. */
const BTC = 0;
const X = `0x${'b1'.repeat(16)}`;
const Z = `0x${'b2'.repeat(16)}`;
const TAKEN = [{ error: 'An order with this cloid is still open. asset=0' }];
const GONE = [{ error: 'Order was never placed, already canceled, or filled. asset=0' }];
const CHANGE_GONE = [{ error: expect.stringMatching(/^Cannot modify canceled or filled order/) }];

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());
beforeEach(() => jumpTo(sandbox, LEVEL_PRICE));

const NOT_NAMED = [{ error: expect.stringContaining('must cover whole trades') }];

/** A bot with two trades of these sizes and the stop loss X for both at 55,000. */
async function newHolder(first: string, second: string, both: string): Promise<{ bot: LevelBot; x: number }> {
  const bot = await newLevelBot(sandbox);
  await bot.open(first, 1);
  await bot.open(second, 2);
  return { bot, x: await bot.place(stop('55000', both, X)) };
}

/** Every answer says that the order does not stand. */
async function expectGone(bot: LevelBot, oid: number, cloid: string): Promise<void> {
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
    await bot.tradesBecome(1);
    return { bot, x };
  };

  it('stands on the other one by every answer', async () => {
    const { bot, x } = await closed();
    expect(await bot.listed()).toMatchObject([{ oid: x, sz: '0.1', cloid: X }]);
    expect([await bot.statusOf(x), await bot.statusOf(X)]).toMatchObject([
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
    expect(await bot.listed()).toMatchObject([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.statusOf(Z)).toMatchObject({ oid: z, sz: '0.1' });
    expect(await bot.send(named(Z))).toEqual(TAKEN);
    // The cloid of the former can be used again, and means the new one.
    const again = await bot.place(stop('55000', '0.1', X));
    expect(await bot.statusOf(X)).toMatchObject({ oid: again, sz: '0.1' });
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
    expect(await bot.listed()).toMatchObject([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.statusOf(x)).toBe('canceled');
  });
});

describe('a stop loss for two trades, of which another replaces one', () => {
  it.each(['55000', '54000'])('stands on the one that it still has: the other is at %s', async (price) => {
    const { bot, x } = await newHolder('0.1', '0.2', '0.3');
    expect(await bot.listed()).toMatchObject([{ oid: x, sz: '0.3', cloid: X }]);
    const z = await bot.place(stop(price, '0.1', Z));
    expect(await bot.listed()).toMatchObject([
      { oid: z, sz: '0.1', cloid: Z },
      { oid: x, sz: '0.2', cloid: X },
    ]);
    expect([await bot.statusOf(X), await bot.statusOf(Z)]).toMatchObject([
      { oid: x, sz: '0.2' },
      { oid: z, sz: '0.1' },
    ]);
    expect([await bot.send(named(X)), await bot.send(named(Z))]).toEqual([TAKEN, TAKEN]);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([units(Number(price)), 0n]);
    expect(await bot.listed()).toMatchObject([{ oid: z, sz: '0.1', cloid: Z }]);
    expect([await bot.statusOf(X), await bot.statusOf(Z)]).toMatchObject(['canceled', { oid: z, sz: '0.1' }]);
    await expectGone(bot, x, X);
  });

  it('is over once a third for both replaces it, which replaces the other one too', async () => {
    const { bot, x } = await newHolder('0.1', '0.1', '0.2');
    const z = await bot.place(stop('55000', '0.1', Z));
    const both = `0x${'b3'.repeat(16)}`;
    const oid = await bot.place(stop('55000', '0.2', both));
    expect(await bot.listed()).toMatchObject([{ oid, sz: '0.2', cloid: both }]);
    await expectGone(bot, x, X);
    await expectGone(bot, z, Z);
    expect(await bot.stops()).toEqual([units(55_000), units(55_000)]);
    expect(await bot.send(changeOf(both, stop('54000', '0.2', both)))).toMatchObject([{ resting: { cloid: both } }]);
    expect(await bot.stops()).toEqual([units(54_000), units(54_000)]);
  });
});

describe('a stop loss for two trades that the contract moves to another price on each', () => {
  it('stands on the second after the first is closed, and its fill there has its name', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.open('0.1', 1);
    await jumpTo(sandbox, LEVEL_PRICE + 1_000);
    await bot.open('0.1', 2);
    const x = await bot.place(stop('44000', '0.2', X));
    await bot.place(sell('0.1'));
    await bot.tradesBecome(1);
    expect(await bot.listed()).toMatchObject([{ oid: x, sz: '0.1', cloid: X }]);
    expect(await bot.statusOf(X)).toMatchObject({ oid: x, sz: '0.1' });
    expect(await bot.send(named(X))).toEqual(TAKEN);
    await jumpTo(sandbox, 48_000);
    await bot.tradesBecome(0);
    const [fill] = await eventually(
      () => hlInfo(sandbox).ask<{ oid: number; cloid: string | null }[]>('userFills', { user: bot.user }),
      ([newest]) => newest?.oid === x,
    );
    expect(fill).toMatchObject({ oid: x, cloid: X });
    expect(await bot.statusOf(x)).toBe('filled');
  });
});

describe('a stop loss that came with an opening', () => {
  it('is over once another at the same price is placed for its trade', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.send({ type: 'order', orders: [buy('0.1'), stop('55000', '0.1', X)], grouping: 'normalTpsl' });
    await bot.tradesBecome(1);
    const x = (await bot.statusOf(X)) as { oid: number };
    const z = await bot.place(stop('55000', '0.1', Z));
    await expectGone(bot, x.oid, X);
    expect(await bot.listed()).toMatchObject([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.stops()).toEqual([units(55_000)]);
  });
});

describe('an order that closes a trade at its price and opens the other side', () => {
  it('leaves the take profit at the same price that another placed later', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.open('0.1', 1);
    const sale = (s: string, c: string, r: boolean) => order({ a: BTC, b: false, p: '63000', s, r, t: { limit: { tif: 'Gtc' } }, c });
    const x = await bot.place(sale('0.2', X, false));
    const z = await bot.place(sale('0.1', Z, true));
    expect(await bot.send(cancel(x))).toEqual(['success']);
    expect(await bot.listed()).toMatchObject([{ oid: z, sz: '0.1', cloid: Z }]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(63_000) }]);
  });
});
