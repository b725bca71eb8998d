import { Wallet } from 'ethers';
import type pg from 'pg';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { holdAnswers } from '../harness/venue/answer-hold.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { startSecondGateway, whenReady, type SecondGateway } from '../harness/venue/second-gateway.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

/** Take profits and stop losses that are changed through two replicas at the same moment. */
const BTC = 0;
const PRICE = 60_000;
const TP = `0x${'a1'.repeat(16)}`;
const SL = `0x${'a2'.repeat(16)}`;
const NEWER = `0x${'a3'.repeat(16)}`;

let sandbox: TestVenue;
let beside: SecondGateway;
let database: pg.Client;

beforeAll(async () => {
  // On a slow machine a request must not give up before the other one has come.
  sandbox = await startOwnVenue({ DATABASE_LOCK_MS: '60000', DATABASE_STATEMENT_MS: '60000' });
  database = await venueDatabase(sandbox);
  beside = await startSecondGateway(sandbox, { relays: true });
  holdAnswers(sandbox.controls, beside.gateway.facade);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  const knowsPrice = ({ gateway }: Pick<TestVenue, 'gateway'>) =>
    eventually(
      () => gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
      (oracle) => oracle === units(PRICE),
    );
  await Promise.all([knowsPrice(sandbox), knowsPrice(beside)]);
  await whenReady(beside);
});
afterAll(async () => {
  await beside.stop();
  await database.end();
  await sandbox.stop();
});

interface Bot {
  readonly trader: ChainTrader;
  readonly address: `0x${string}`;
  send(url: string, action: object): Promise<unknown>;
}

const units = (price: number) => BigInt(price) * 10n ** 10n;
const level = (tpsl: 'tp' | 'sl', triggerPx: string, c: string) =>
  order({ a: BTC, b: false, p: triggerPx, s: '0.1', r: true, t: { trigger: { isMarket: true, triggerPx, tpsl } }, c });
const change = (tpsl: 'tp' | 'sl', triggerPx: string, c: string) => ({ type: 'modify', oid: c, order: level(tpsl, triggerPx, c) });
const removal = (cloid: string) => ({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
const CHANGED = { status: 'ok', response: { type: 'default' } };
const REMOVED = { status: 'ok', response: { type: 'cancel', data: { statuses: ['success'] } } };

const GONE = {
  status: 'ok',
  response: { type: 'cancel', data: { statuses: [{ error: 'Order was never placed, already canceled, or filled. asset=0' }] } },
};

async function newBot(): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  const send = async (url: string, action: object) => (await postExchange(url, FACADE_CHAIN, await signL1(agent, { ...action }))).body;
  return { trader, address: address.toLowerCase() as `0x${string}`, send };
}

/** A bot with an order that rests with a take profit at 70,000 and a stop loss at 55,000. */
async function newWaiter(): Promise<Bot> {
  const bot = await newBot();
  const parent = order({ a: BTC, b: true, p: '58000', s: '0.1', r: false, t: { limit: { tif: 'Gtc' } } });
  const orders = [parent, level('tp', '70000', TP), level('sl', '55000', SL)];
  await bot.send(sandbox.url, { type: 'order', orders, grouping: 'normalTpsl' });
  await eventually(
    () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
    ([only]) => only?.order.status === 'open',
  );
  return bot;
}

/** A bot with a position that has a stop loss at 55,000. */
async function newHolder(): Promise<Bot> {
  const bot = await newBot();
  await bot.send(sandbox.url, orderAction(order({ a: BTC, b: true, p: '63000', s: '0.1', r: false, t: { limit: { tif: 'Ioc' } } })));
  await bot.send(sandbox.url, orderAction(level('sl', '55000', SL)));
  await eventually(
    () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
    ([only]) => only?.position.sl === units(55_000),
  );
  return bot;
}

/** Requests that wait to store a job, or for their turn to do so. Other work of the gateways may wait for other locks. */
const WAITING = `select count(*)::int from pg_locks where not granted
  and database = (select oid from pg_database where datname = current_database())
  and (locktype = 'advisory' or relation = 'relay_jobs'::regclass)`;

/** Both have read the order before either of their jobs is stored, in this order. */
async function atOnce(bot: Bot, here: object, there: object): Promise<unknown[]> {
  const relayer = sandbox.controls.relayer.toLowerCase() as `0x${string}`;
  // The relayer has nothing to store meanwhile.
  await eventually(
    () => sandbox.gateway.store.relay.open(FACADE_CHAIN, relayer),
    ({ length }) => length === 0,
  );
  await database.query('begin');
  await database.query('lock table relay_jobs in share row exclusive mode');
  const waits = (jobs: number) =>
    eventually(
      async () => (await database.query<{ count: number }>(WAITING)).rows[0]?.count,
      (count) => count === jobs,
    );
  const answers: Promise<unknown>[] = [];
  try {
    answers.push(bot.send(sandbox.url, here));
    await waits(1);
    answers.push(bot.send(beside.url, there));
    await waits(2);
  } finally {
    await database.query('rollback');
  }
  return Promise.all(answers);
}

describe('changes of one resting order through two replicas', () => {
  it('are both made: of its take profit and its stop loss', async () => {
    const bot = await newWaiter();
    expect(await atOnce(bot, change('tp', '71000', TP), change('sl', '54000', SL))).toEqual([CHANGED, CHANGED]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(71_000), sl: units(54_000) }]);
  });

  it('are both made: one removes its take profit, the other changes its stop loss', async () => {
    const bot = await newWaiter();
    expect(await atOnce(bot, removal(TP), change('sl', '54000', SL))).toEqual([REMOVED, CHANGED]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: 0n, sl: units(54_000) }]);
  });

  it('are both made: each removes one', async () => {
    const bot = await newWaiter();
    expect(await atOnce(bot, removal(TP), removal(SL))).toEqual([REMOVED, REMOVED]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: 0n, sl: 0n }]);
  });

  it('are one change where both are of its stop loss: the cancel of the replaced one spares the new one', async () => {
    const bot = await newWaiter();
    const renamed = { type: 'modify', oid: SL, order: level('sl', '54000', NEWER) };
    expect(await atOnce(bot, renamed, removal(SL))).toEqual([CHANGED, GONE]);
    expect(await bot.trader.trades()).toMatchObject([{ tp: units(70_000), sl: units(54_000) }]);
  });
});

describe('a new stop loss of a position and the cancel of the one before, through two replicas', () => {
  it('leave the new one', async () => {
    const bot = await newHolder();
    const [placed, canceled] = await atOnce(bot, orderAction(level('sl', '56000', NEWER)), removal(SL));
    expect(placed).toMatchObject({ response: { data: { statuses: [{ resting: { cloid: NEWER } }] } } });
    expect(canceled).toEqual(GONE);
    expect(await bot.trader.trades()).toMatchObject([{ sl: units(56_000) }]);
  });

  it('remove the old one first where the cancel came first', async () => {
    const bot = await newHolder();
    const [canceled, placed] = await atOnce(bot, removal(SL), orderAction(level('sl', '56000', NEWER)));
    expect([REMOVED, GONE]).toContainEqual(canceled);
    expect(placed).toMatchObject({ response: { data: { statuses: [{ resting: { cloid: NEWER } }] } } });
    await eventually(
      () => bot.trader.trades(),
      ([only]) => only?.sl === units(56_000),
    );
  });
});
