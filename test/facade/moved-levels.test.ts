import { diamondCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN } from '../harness/traders/facade-trader.js';
import {
  cancel,
  cancelNamed,
  changeOf,
  buy,
  jumpTo,
  LEVEL_PRICE,
  named,
  newLevelBot,
  stop,
  units,
  type LevelBot,
} from '../harness/traders/level-bot.js';
import { BUSY_AGENTS } from '../harness/traders/agent-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** Stop losses that the contract moves nearer when the collateral or the leverage of their trade changes. They stay the same orders. */
const X = `0x${'c1'.repeat(16)}`;
const Z = `0x${'c2'.repeat(16)}`;
const TAKEN = [{ error: 'An order with this cloid is still open. asset=0' }];
const GONE = [{ error: 'Order was never placed, already canceled, or filled. asset=0' }];
const DONE = { status: 'ok', response: { type: 'default' } };

let sandbox: TestVenue;

// Of its own, because it reorganises the chain.
beforeAll(async () => {
  sandbox = await startOwnVenue(BUSY_AGENTS);
  await jumpTo(sandbox, LEVEL_PRICE);
});
afterAll(() => sandbox.stop());

/** Takes a quarter of its collateral from the first trade; the contract moves its stop loss. */
async function takeMargin(bot: LevelBot): Promise<bigint[]> {
  const before = await bot.stops();
  const [trade] = await bot.trader.trades();
  const ntli = -Number((trade?.collateralAmount ?? 0n) / 4n);
  expect(await bot.ask({ type: 'updateIsolatedMargin', asset: 0, isBuy: true, ntli })).toEqual(DONE);
  return bot.stopsBecome(([first = 0n]) => first > (before[0] ?? 0n));
}

const near = (price: bigint, text: string | undefined) => Math.abs(Number(price) / 1e10 / Number(text) - 1) < 0.0001;

/** Every answer shows the order at the price where its trade has the stop loss. */
async function expectOpenAt(bot: LevelBot, x: number, price: bigint, sz = '0.1'): Promise<void> {
  const [listed, ...others] = await bot.listed();
  expect(others).toEqual([]);
  expect(listed).toMatchObject({ oid: x, sz, cloid: X });
  expect(near(price, listed?.triggerPx)).toBe(true);
  expect([await bot.statusOf(x), await bot.statusOf(X)]).toEqual([listed, listed]);
  expect(await bot.send(named(X))).toEqual(TAKEN);
}

async function withStop(): Promise<{ bot: LevelBot; x: number }> {
  const bot = await newLevelBot(sandbox);
  await bot.open('0.1', 1);
  return { bot, x: await bot.place(stop('44000', '0.1', X)) };
}

describe('a stop loss that the contract moves with the collateral of its trade', () => {
  it.each([
    ['oid', (x: number) => cancel(x)],
    ['cloid', () => cancelNamed(X)],
  ])('stays the same order by every answer, and is canceled by %s', async (_, canceled) => {
    const { bot, x } = await withStop();
    const [moved = 0n] = await takeMargin(bot);
    await expectOpenAt(bot, x, moved);
    expect(await bot.send(canceled(x))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
    expect(await bot.send(cancel(x))).toEqual(GONE);
    expect(await bot.statusOf(x)).toBe('canceled');
  });

  it('can be changed, and its cloid goes with it', async () => {
    const { bot } = await withStop();
    await takeMargin(bot);
    expect(await bot.send(changeOf(X, stop('55000', '0.1', X)))).toMatchObject([{ resting: { cloid: X } }]);
    await bot.isQuiet();
    expect(await bot.stops()).toEqual([550_000_000_000_000n]);
    expect(await bot.listed()).toMatchObject([{ cloid: X, triggerPx: '55000.0' }]);
  });

  it('is over once another takes its place at the price where it was moved', async () => {
    const { bot, x } = await withStop();
    const [moved] = await takeMargin(bot);
    const z = await bot.place(stop('44000', '0.1', Z));
    expect(await bot.stops()).toEqual([moved]);
    expect(await bot.listed()).toMatchObject([{ oid: z, cloid: Z }]);
    expect(await bot.send(cancelNamed(X))).toEqual(GONE);
    expect(await bot.statusOf(x)).toBe('canceled');
    expect(await bot.send(cancelNamed(Z))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });

  it('that is for two trades, of which one has another price then, stands on both', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.open('0.1', 1);
    await bot.open('0.1', 2);
    const x = await bot.place(stop('44000', '0.2', X));
    const moved = await takeMargin(bot);
    // The price that the market reaches first.
    await expectOpenAt(bot, x, moved[0] ?? 0n, '0.2');
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n, 0n]);
  });

  it('that came with an opening and was never asked about stays the same order too', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.send({ type: 'order', orders: [buy('0.1'), stop('44000', '0.1', X)], grouping: 'normalTpsl' });
    await bot.stopsBecome(([price]) => (price ?? 0n) > 0n);
    const [moved = 0n] = await takeMargin(bot);
    const status = await bot.statusOf(X);
    expect(status).toMatchObject({ cloid: X, sz: '0.1' });
    await expectOpenAt(bot, (status as { oid: number }).oid, moved);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });
});

/** By the trader's own wallet: the relayer would send its transaction again after a reorganisation. */
const lever = ({ trader }: LevelBot, leverage: number, tradeIndex = 0) =>
  trader.send(firstChain(sandbox).definition.diamond, diamondCall('updateLeverage', [tradeIndex, leverage]));

describe('a stop loss for two trades that the contract moves on the second', () => {
  it('is notified', async () => {
    const bot = await newLevelBot(sandbox);
    await bot.open('0.1', 1);
    await bot.open('0.1', 2);
    const x = await bot.place(stop('52000', '0.2', X));
    const { notifications } = sandbox.gateway.store;
    expect(await notifications.movedStops(FACADE_CHAIN, bot.user, 10)).toEqual([]);
    await lever(bot, 7_000, 1);
    const [kept, moved] = await bot.stopsBecome(([, second = 0n]) => second > units(52_000));
    expect(kept).toBe(units(52_000));
    const notified = await eventually(
      () => notifications.movedStops(FACADE_CHAIN, bot.user, 10),
      ({ length }) => length > 0,
    );
    expect(notified).toMatchObject([{ oid: BigInt(x), asked: units(52_000), kept: moved }]);
  });
});

describe('a stop loss that the contract moves to the price of an earlier one', () => {
  it('has that price now, and the earlier order does not', async () => {
    const { bot, x } = await withStop();
    const [kept = 0n] = await bot.stops();
    await lever(bot, 7_000);
    const [moved = 0n] = await bot.stopsBecome(([price = 0n]) => price > kept);
    expect(await bot.send(cancel(x))).toEqual(['success']);
    await lever(bot, 5_000);
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.user),
      ([only]) => only?.position.leverage === 5_000n,
    );
    const z = await bot.place(stop('44000', '0.1', Z));
    await lever(bot, 7_000);
    expect(await bot.stopsBecome(([price = 0n]) => price > kept)).toEqual([moved]);
    expect(await bot.listed()).toMatchObject([{ oid: z, cloid: Z }]);
    expect([await bot.statusOf(X), await bot.statusOf(x)]).toEqual(['canceled', 'canceled']);
    expect(await bot.statusOf(z)).toMatchObject({ oid: z, cloid: Z });
    expect(await bot.send(cancel(x))).toEqual(GONE);
    expect(await bot.send(cancel(z))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });
});

describe('a stop loss whose move is undone by a reorganisation', () => {
  it('has its former price again, and the new one once it is moved again', async () => {
    const { bot, x } = await withStop();
    const [before = 0n] = await bot.stops();
    const chain = firstChain(sandbox);
    await chain.mine(6);
    const hash = await lever(bot, 7_000);
    const [moved = 0n] = await bot.stopsBecome(([price]) => (price ?? 0n) > before);
    await expectOpenAt(bot, x, moved);
    await chain.pauseMining(true);
    const { blockNumber } = await bot.trader.client.getTransactionReceipt({ hash });
    await chain.reorg(Number((await bot.trader.client.getBlockNumber()) - blockNumber) + 1, true);
    await chain.pauseMining(false);
    await bot.stopsBecome(([price]) => price === before);
    await expectOpenAt(bot, x, before);
    await lever(bot, 7_000);
    await bot.stopsBecome(([price]) => price === moved);
    await expectOpenAt(bot, x, moved);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });
});
