import { Wallet } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import type { ChainTrader } from '../harness/traders/chain-trader.js';
import { cutOff } from '../harness/database/cut-waiting.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader } from '../harness/traders/facade-trader.js';
import { answeredAtOnce, answersUntil } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const BTC = 0;
const PRICE = 60_000;
const NEVER_PLACED = `Order was never placed, already canceled, or filled. asset=${BTC}`;

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === BigInt(PRICE) * 10n ** 10n,
  );
});
afterAll(() => sandbox.stop());

interface Bot {
  readonly trader: ChainTrader;
  readonly address: `0x${string}`;
  post(action: Record<string, unknown>): ReturnType<typeof postExchange>;
  send(action: Record<string, unknown>): Promise<unknown>;
}

async function newBot(usdc?: string): Promise<Bot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox, usdc);
  const agent = new Wallet(agentKey);
  const post = async (action: Record<string, unknown>) => postExchange(sandbox.url, FACADE_CHAIN, await signL1(agent, action));
  return {
    post,
    trader,
    address: address.toLowerCase() as `0x${string}`,
    async send(action) {
      const { status, body } = await post(action);
      expect({ status, body }).toMatchObject({ status: 200 });
      return body;
    },
  };
}

const orders = (...list: object[]) => ({ type: 'order', orders: list, grouping: 'na' });
const cancel = (...oids: number[]) => ({ type: 'cancel', cancels: oids.map((o) => ({ a: BTC, o })) });
const limit = (tif: string) => ({ limit: { tif } });
const buy = (s: string, changes: object = {}) =>
  order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: limit('Ioc'), ...changes });
const sell = (s: string, changes: object = {}) => buy(s, { b: false, p: String(PRICE * 0.95), ...changes });
const rest = (s: string, changes: object = {}) => buy(s, { p: '50000', t: limit('Gtc'), ...changes });
const stop = (triggerPx: string) => sell('0.1', { r: true, p: '40000', t: { trigger: { isMarket: true, triggerPx, tpsl: 'sl' } } });

type Status = Record<string, Record<string, unknown>>;
const statuses = (body: unknown) => (body as { response: { data: { statuses: Status[] } } }).response.data.statuses;
const oidOf = (status: Status | undefined) => Number(status?.['resting']?.['oid'] ?? status?.['filled']?.['oid']);
const units = (price: number) => BigInt(price) * 10n ** 10n;

const tradesOf = ({ trader }: Bot, holds: (trades: Awaited<ReturnType<ChainTrader['trades']>>) => boolean) =>
  eventually(() => trader.trades(), holds);
const relayed = async () => {
  const address = sandbox.controls.relayer;
  const { nonce } = (await sandbox.gateway.venues.get(FACADE_CHAIN)?.chain.relay.account(address)) ?? { nonce: 0 };
  return nonce;
};

describe('a database that breaks off while an order is stored', () => {
  it('is answered NOT_READY: a bot that reads "not placed" would send the order twice', async () => {
    const bot = await newBot();
    const database = await venueDatabase(sandbox);
    try {
      const batch = orders(rest('0.1', { p: '1' }), rest('0.1'));
      expect(await cutOff(database, 'exchange_legs', () => bot.post(batch))).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
      expect(await bot.trader.trades()).toEqual([]);
      expect(statuses(await bot.send(batch))).toMatchObject([{ error: expect.any(String) as string }, { resting: {} }]);
      await tradesOf(bot, ({ length }) => length === 1);
    } finally {
      await database.end();
    }
  });
});

describe('numbers no contract can count', () => {
  const huge = `1${'0'.repeat(50)}`;
  const strange = [
    buy(huge),
    buy('0.1', { p: huge }),
    sell('0.1', { p: huge, t: limit('Gtc') }),
    buy('0.1', { p: huge, t: { trigger: { isMarket: true, triggerPx: huge, tpsl: 'sl' } } }),
    // A size that the collateral could not be written for.
    buy('100000000000000000000', { p: '63000' }),
  ];

  it('are refused beside orders that are executed, and are no hindrance to a buyer who takes any price', async () => {
    const bot = await newBot();
    const answers = statuses(await bot.send(orders(...strange, rest('0.1'), buy('0.1', { p: '60000000' }))));
    expect(answers).toEqual([
      ...strange.map(() => ({ error: expect.stringContaining(`asset=${BTC}`) as string })),
      { resting: expect.objectContaining({ oid: expect.any(Number) as number }) as object },
      { filled: expect.objectContaining({ oid: expect.any(Number) as number }) as object },
    ]);
  });
});

describe('a cloid', () => {
  it('sent twice at once makes one order', async () => {
    const bot = await newBot();
    const c = `0x${'c1'.repeat(16)}`;
    const answers = await Promise.all([1, 2, 3].map(async () => statuses(await bot.send(orders(rest('0.1', { c }))))[0]));
    expect(answers.filter((status) => status !== undefined && 'resting' in status)).toHaveLength(1);
    await tradesOf(bot, ({ length }) => length === 1);
    expect(await bot.trader.trades()).toHaveLength(1);
  });
});

describe('a cancel', () => {
  it('that names an order often is paid for once', async () => {
    const bot = await newBot();
    const oid = oidOf(statuses(await bot.send(orders(rest('0.1'))))[0]);
    await tradesOf(bot, ({ length }) => length === 1);
    const before = await relayed();
    const answers = statuses(await bot.send(cancel(...Array.from({ length: 20 }, () => oid))));
    expect(answers).toHaveLength(20);
    expect(answers[0]).toBe('success');
    expect(await relayed()).toBe(before + 1);
  });

  it('of another trader’s order finds nothing and leaves it where it is', async () => {
    const [owner, thief] = [await newBot(), await newBot()];
    const oid = oidOf(statuses(await owner.send(orders(rest('0.1'))))[0]);
    await tradesOf(owner, ({ length }) => length === 1);
    expect(statuses(await thief.send(cancel(oid)))).toEqual([{ error: NEVER_PLACED }]);
    expect(statuses(await thief.send({ type: 'batchModify', modifies: [{ oid, order: rest('0.2') }] }))).toEqual([
      { error: expect.stringContaining('Cannot modify') },
    ]);
    expect(await owner.trader.trades()).toHaveLength(1);
  });
});

describe('a change', () => {
  it('of a stop loss that cannot be placed leaves the old one; a cancel takes away the one it names and no newer one', async () => {
    const bot = await newBot();
    await bot.send(orders(buy('0.1')));
    const recent = oidOf(statuses(await bot.send(orders(stop('55000'))))[0]);
    expect(statuses(await bot.send(cancel(recent)))).toEqual(['success']);
    expect((await bot.trader.trades())[0]).toMatchObject({ sl: 0n });

    const oid = oidOf(statuses(await bot.send(orders(stop('55000'))))[0]);
    await tradesOf(bot, ([trade]) => trade?.sl === units(55_000));
    const [refused] = statuses(await bot.send({ type: 'batchModify', modifies: [{ oid, order: stop('65000') }] }));
    expect(refused).toEqual({ error: `Invalid TP/SL price. asset=${BTC}` });
    expect((await bot.trader.trades())[0]).toMatchObject({ sl: units(55_000) });
    const before = await relayed();
    const [moved] = statuses(await bot.send({ type: 'batchModify', modifies: [{ oid, order: stop('56000') }] }));
    expect(moved).toMatchObject({ resting: { oid: expect.any(Number) } });
    await tradesOf(bot, ([trade]) => trade?.sl === units(56_000));
    expect(await relayed()).toBe(before + 1);

    const old = oidOf(moved);
    await bot.send(orders(stop('57000')));
    await eventually(
      () => sandbox.gateway.store.account.openPositions(FACADE_CHAIN, bot.address),
      ([listed]) => listed?.position.sl === units(57_000),
    );
    expect(statuses(await bot.send(cancel(old)))).toEqual([{ error: NEVER_PLACED }]);
    expect((await bot.trader.trades())[0]).toMatchObject({ sl: units(57_000) });
  });

  it('of an order by its cloid, which the new one keeps, happens, and again', async () => {
    const bot = await newBot();
    const c = `0x${'c2'.repeat(16)}`;
    await bot.send(orders(rest('0.1', { c })));
    await tradesOf(bot, ({ length }) => length === 1);
    for (const p of ['49000', '48000']) {
      const [moved] = statuses(await bot.send({ type: 'batchModify', modifies: [{ oid: c, order: rest('0.1', { p, c }) }] }));
      expect(moved).toMatchObject({ resting: { oid: expect.any(Number) } });
      // It rests a little below `p`, so that what is paid in the end is no more than that.
      const limit = units(Number(p));
      await tradesOf(bot, ([trade]) => trade !== undefined && trade.openPrice <= limit && trade.openPrice > (limit * 99n) / 100n);
    }
    expect(await bot.trader.trades()).toHaveLength(1);
    expect(statuses(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid: c }] }))).toEqual(['success']);
    await tradesOf(bot, ({ length }) => length === 0);
  });

  it('of a filled order changes nothing, and twice in a batch happens once', async () => {
    const bot = await newBot();
    const [filled] = statuses(await bot.send(orders(buy('0.1'))));
    expect(statuses(await bot.send({ type: 'batchModify', modifies: [{ oid: oidOf(filled), order: rest('0.2') }] }))).toEqual([
      { error: 'Cannot modify canceled or filled order' },
    ]);
    const oid = oidOf(statuses(await bot.send(orders(rest('0.1'))))[0]);
    await tradesOf(bot, ({ length }) => length === 2);
    const modifies = ['49000', '48000'].map((p) => ({ oid, order: rest('0.1', { p }) }));
    const answers = statuses(await bot.send({ type: 'batchModify', modifies }));
    expect(answers).toEqual([{ resting: { oid: expect.any(Number) } }, { error: 'Cannot modify canceled or filled order' }]);
    expect(await bot.trader.trades()).toHaveLength(2);
  });

  it('of a request that waits for the oracle says that it can still fill', async () => {
    const bot = await newBot();
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    try {
      const answers = answersUntil(sandbox);
      const placed = bot.send(orders(buy('0.1')));
      const [waiting] = await eventually(
        () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, bot.address),
        ([only]) => only?.order.status === 'pending',
      );
      // Without blocks its time is never over.
      await chain.pauseMining(true);
      const change = { oid: Number(waiting?.id), order: rest('0.1') };
      const [status] = statuses(await answeredAtOnce(sandbox, () => bot.send({ type: 'batchModify', modifies: [change] })));
      answers.end();
      expect(status).toEqual({ error: expect.stringMatching(/^Order is executing, reclaim possible at .+ asset=0$/) });
      expect(statuses(await placed)).toEqual([{ resting: { oid: change.oid } }]);
    } finally {
      await chain.pauseMining(false);
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
  });
});
