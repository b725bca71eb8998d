import { reorgAway } from '../harness/diamond/reorg-away.js';
import { order } from '../harness/hyperliquid/exchange.js';
import { hlInfo } from '../harness/hyperliquid/info.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN } from '../harness/traders/facade-trader.js';
import { cancel, cancelNamed, jumpTo, LEVEL_PRICE, newLevelBot, type LevelBot } from '../harness/traders/level-bot.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** On another branch of the chain a trade and an order that rests can change their numbers. Take profits and stop losses that came with them stay theirs. */
const BTC = 0;
const TP = `0x${'d1'.repeat(16)}`;
const SL = `0x${'d2'.repeat(16)}`;

let sandbox: TestVenue;

// Of its own, because it reorganises the chain.
beforeAll(async () => {
  sandbox = await startOwnVenue();
  await jumpTo(sandbox, LEVEL_PRICE);
});
afterEach(() => firstChain(sandbox).resetOracle());
afterAll(() => sandbox.stop());

const level = (tpsl: 'tp' | 'sl', triggerPx: string, c: string) =>
  order({ a: BTC, b: false, p: '40000', s: '0.1', r: true, t: { trigger: { isMarket: true, triggerPx, tpsl } }, c });
const LEVELS = [level('tp', '66000', TP), level('sl', '45000', SL)];
const entry = (p: string, tif: string) => order({ a: BTC, b: true, p, s: '0.1', r: false, t: { limit: { tif } } });
const withLevels = (placed: object) => ({ type: 'order', orders: [placed, ...LEVELS], grouping: 'normalTpsl' });
const alone = (placed: object) => ({ type: 'order', orders: [placed], grouping: 'na' });

interface Shown {
  readonly oid: number;
  readonly children?: readonly Shown[];
}

/** The numbers of all take profits and stop losses, as they are listed. */
async function listedLevels({ user }: LevelBot): Promise<number[]> {
  const listed = await hlInfo(sandbox).ask<(Shown & { isTrigger: boolean })[]>('frontendOpenOrders', { user });
  return listed.flatMap((shown) => [...(shown.isTrigger ? [shown.oid] : []), ...(shown.children ?? []).map(({ oid }) => oid)]);
}

/** Of everything that the bot has on the chain, with the contract's numbers. */
const numbered = async ({ trader }: LevelBot) =>
  (await trader.trades()).map(({ index, tradeType }) => `${tradeType === 0 ? 'trade' : 'resting order'} ${index}`).sort();

/** The block in which the oracle's answer opened the bot's trade. */
async function executionBlock({ trader, user }: LevelBot): Promise<bigint> {
  const all = await sandbox.gateway.store.account.ordersBefore(FACADE_CHAIN, user, null, 100);
  const [hash = '0x'] = all.flatMap(({ order: { fill } }) => fill?.txHash ?? []);
  return (await trader.client.getTransactionReceipt({ hash })).blockNumber;
}

/** Everything since the oracle answered the bot's first order is made again, and the oracle answers it last. */
async function exchangeNumbers(bot: LevelBot): Promise<void> {
  const chain = firstChain(sandbox);
  const from = await executionBlock(bot);
  chain.setOraclePolicy(BTC, { mode: 'hold' });
  await reorgAway(chain, bot.trader.client, from);
  await eventually(
    () => numbered(bot),
    (all) => all.join() === 'resting order 0',
  );
  chain.resetOracle();
  await eventually(
    () => numbered(bot),
    (all) => all.length === 2,
  );
  expect(await numbered(bot)).toEqual(['resting order 0', 'trade 1']);
  await eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.user),
    (open) => open.some(({ tradeIndex }) => tradeIndex === 1),
  );
}

it.each([
  ['an order that rests', alone(entry('63000', 'Ioc')), withLevels(entry('50000', 'Gtc'))],
  ['a trade', withLevels(entry('63000', 'Ioc')), alone(entry('50000', 'Gtc'))],
] as const)('the take profit and the stop loss of %s stay the same orders', async (_, first, second) => {
  const bot = await newLevelBot(sandbox);
  await bot.send(first);
  await bot.tradesBecome(1);
  await bot.send(second);
  await eventually(
    () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.user),
    (live) => live.some(({ order: { status } }) => status === 'open'),
  );
  expect(await numbered(bot)).toEqual(['resting order 1', 'trade 0']);
  const listed = await listedLevels(bot);
  expect(listed).toHaveLength(2);
  await exchangeNumbers(bot);
  expect(await listedLevels(bot)).toEqual(listed);
  for (const oid of listed) expect(await bot.statusOf(oid)).toMatchObject({ oid });
  for (const cloid of [TP, SL]) expect(await bot.statusOf(cloid)).toMatchObject({ cloid });
  expect(await bot.send(cancelNamed(SL))).toEqual(['success']);
  expect(await bot.send(cancel(Math.min(...listed)))).toEqual(['success']);
  expect((await bot.trader.trades()).map(({ tp, sl }) => [tp, sl])).toEqual([
    [0n, 0n],
    [0n, 0n],
  ]);
});
