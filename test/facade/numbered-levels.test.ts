import { Wallet } from 'ethers';
import type pg from 'pg';
import type { ChainControls } from '../../sandbox/controls.js';
import { diamondCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

/** Stop losses at a price where another one stands: which of the two has it, if the later one is not stored, comes at once, or is refused. */
const BTC = 0;
const PRICE = 60_000;
const [X, Y, Z] = ['c1', 'c2', 'c3'].map((digits) => `0x${digits.repeat(16)}`) as [string, string, string];
const GONE = [{ error: 'Order was never placed, already canceled, or filled. asset=0' }];

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
  database = await venueDatabase(sandbox);
});
afterEach(() => chain.pauseMining(false));
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});
beforeEach(async () => {
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (oracle) => oracle === units(PRICE),
  );
});

interface Bot {
  readonly trader: ChainTrader;
  readonly user: `0x${string}`;
  ask(action: Record<string, unknown>): Promise<unknown>;
  send(action: Record<string, unknown>): Promise<unknown[]>;
  /** The number of the one order, once nothing is on its way any more. */
  place(placed: Parameters<typeof orderAction>[0]): Promise<number>;
  statusOf(oid: number | string): Promise<string>;
  listed(): Promise<unknown[]>;
  /** The stop losses of the trades on chain. */
  stops(): Promise<bigint[]>;
}

/** A bot with trades of these sizes. */
async function newBot(...sizes: string[]): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const user = address.toLowerCase() as `0x${string}`;
  const ask: Bot['ask'] = async (action) =>
    (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action))).body;
  const send: Bot['send'] = async (action) =>
    ((await ask(action)) as { response: { data: { statuses: unknown[] } } }).response.data.statuses;
  const bot: Bot = {
    ...{ trader, user, ask, send },
    async place(placed) {
      const [status] = await send(orderAction(placed));
      await settled(bot);
      return oidOf(status);
    },
    async statusOf(oid) {
      return (await info.ask<{ order: { status: string } }>('orderStatus', { user, oid })).order.status;
    },
    async listed() {
      const shown = await info.ask<{ oid: number; cloid: string | null }[]>('frontendOpenOrders', { user });
      return shown.map(({ oid, cloid }) => ({ oid, cloid }));
    },
    stops: async () => (await trader.trades()).map(({ sl }) => sl),
  };
  for (const [at, size] of sizes.entries()) {
    await bot.place(order({ a: BTC, b: true, p: String(PRICE * 1.05), s: size, r: false, t: { limit: { tif: 'Ioc' } } }));
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, user),
      ({ length }) => length === at + 1,
    );
  }
  return bot;
}

const settled = ({ user }: Bot) =>
  eventually(
    () => sandbox.gateway.store.exchange.awaited(FACADE_CHAIN, user),
    ({ length }) => length === 0,
  );

function oidOf(status: unknown): number {
  const { resting, filled } = status as Record<string, { oid: number } | undefined>;
  const oid = (resting ?? filled)?.oid;
  if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(status)}`);
  return oid;
}

const units = (price: number) => BigInt(price) * 10n ** 10n;
const cancel = (oid: number) => ({ type: 'cancel', cancels: [{ a: BTC, o: oid }] });
const cancelNamed = (cloid: string) => ({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
const stop = (s: string, c: string) =>
  order({ a: BTC, b: false, p: '55000', s, r: true, t: { trigger: { isMarket: true, triggerPx: '55000', tpsl: 'sl' } }, c });

/** The database refuses every transaction of the relayer for this trader meanwhile. */
async function withoutJobs({ user }: Bot, work: () => Promise<void>): Promise<void> {
  await database.query(`
    create function refuse_job() returns trigger as $$ begin raise exception 'out of space' using errcode = '53100'; end $$ language plpgsql;
    create trigger refuse_job before insert on relay_jobs for each row when (new.trader = '${user}') execute function refuse_job()`);
  try {
    await work();
  } finally {
    await database.query('drop function refuse_job cascade');
  }
}

describe('a stop loss at a price where another stands, which cannot be stored,', () => {
  it.each([
    ['one trade', ['0.1'], '0.1'],
    ['one of two trades', ['0.1', '0.1'], '0.2'],
  ] as const)('takes nothing from it: %s', async (_name, sizes, whole) => {
    const bot = await newBot(...sizes);
    const x = await bot.place(stop(whole, X));
    await withoutJobs(bot, async () => expect(await bot.ask(orderAction(stop('0.1', Z)))).toMatchObject({ code: 'NOT_READY' }));
    expect(await bot.listed()).toEqual([{ oid: x, cloid: X }]);
    expect([await bot.statusOf(x), await bot.statusOf(X)]).toEqual(['open', 'open']);
    expect(await bot.send(cancelNamed(Z))).toEqual(GONE);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual(sizes.map(() => 0n));
    expect(await bot.listed()).toEqual([]);
  });
});

describe('two stop losses at the same price at once', () => {
  it.each([
    ['where none stands', false],
    ['where another stands', true],
  ])('have numbers of their own, and one of them has the level: %s', async (_name, isThird) => {
    const bot = await newBot('0.1');
    if (isThird) await bot.place(stop('0.1', X));
    const answers = await Promise.all([Y, Z].map((cloid) => bot.send(orderAction(stop('0.1', cloid)))));
    const [y, z] = answers.map(([status]) => oidOf(status)) as [number, number];
    expect(y).not.toBe(z);
    await settled(bot);
    const [owner, other] = (await bot.statusOf(Y)) === 'open' ? [Y, Z] : [Z, Y];
    expect(await bot.listed()).toEqual([{ oid: owner === Y ? y : z, cloid: owner }]);
    expect([await bot.statusOf(owner), await bot.statusOf(other)]).toEqual(['open', 'canceled']);
    expect(await bot.send(cancelNamed(other))).toEqual(GONE);
    expect(await bot.send(cancel(owner === Y ? z : y))).toEqual(GONE);
    expect(await bot.stops()).toEqual([units(55_000)]);
    expect(await bot.send(cancelNamed(owner))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });
});

describe('a stop loss at a price where another stands, whose transaction fails,', () => {
  /** The relayer refuses to sign what does not follow from the bot's action. */
  async function isRefused(bot: Bot, send: () => Promise<unknown>): Promise<void> {
    await database.query(`
      create function spoil_job() returns trigger as $$ begin new.data = '0x00'; return new; end $$ language plpgsql;
      create trigger spoil_job before insert on relay_jobs for each row when (new.trader = '${bot.user}') execute function spoil_job()`);
    try {
      await send();
    } finally {
      await database.query('drop function spoil_job cascade');
    }
  }

  /** The trader removes the delegate in the same block, before it. */
  async function reverts({ trader, user }: Bot, send: () => Promise<unknown>): Promise<void> {
    const { diamond } = chain.definition;
    const pending = () => chain.request('eth_getTransactionCount', [trader.account.address, 'pending']);
    await chain.pauseMining(true);
    const before = await pending();
    const removed = trader.send(diamond, diamondCall('removeTradingDelegate', []));
    await eventually(pending, (now) => now !== before);
    const answer = send();
    await eventually(
      () => database.query(`select from relay_jobs where trader = $1 and state = 'accepted'`, [user]),
      ({ rowCount }) => rowCount === 1,
    );
    await chain.pauseMining(false);
    await Promise.all([removed, answer]);
    await trader.send(diamond, diamondCall('setTradingDelegate', [sandbox.controls.relayer]));
  }

  it.each([
    ['refused', 'one trade', isRefused, ['0.1'], '0.1'],
    ['reverted', 'one of two trades', reverts, ['0.1', '0.1'], '0.2'],
  ] as const)('leaves it as it was: %s, %s', async (state, _name, fails, sizes, whole) => {
    const bot = await newBot(...sizes);
    const x = await bot.place(stop(whole, X));
    await fails(bot, () => bot.ask(orderAction(stop('0.1', Z))));
    await settled(bot);
    const { rows } = await database.query('select state from relay_jobs where trader = $1 order by id desc limit 1', [bot.user]);
    expect(rows).toEqual([{ state }]);
    expect(await bot.listed()).toEqual([{ oid: x, cloid: X }]);
    expect([await bot.statusOf(x), await bot.statusOf(X), await bot.statusOf(Z)]).toEqual(['open', 'open', 'canceled']);
    expect(await bot.send(cancelNamed(Z))).toEqual(GONE);
    expect(await bot.stops()).toEqual(sizes.map(() => units(55_000)));
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual(sizes.map(() => 0n));
    const z = await bot.place(stop(whole, Z));
    expect(await bot.listed()).toEqual([{ oid: z, cloid: Z }]);
  });
});
