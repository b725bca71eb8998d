import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import type { ChainControls } from '../../sandbox/controls.js';
import { newTrader, type ChainTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { moveTime } from '../harness/time/move-time.js';
import { approveAgent, order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { answeredAtOnce, answersWhenKnown } from '../harness/venue/answer-hold.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
const BTC = 0;
const PRICE = 60_000;
/** The contract's number for it. */
const SLIPPAGE = 3;
/** As many as one action of most bots has, or with `npm run test:slow` as an exchange takes. */
const MANY = process.env['SLOW_TESTS'] === '1' ? 200 : 20;

let sandbox: TestVenue;
let chain: ChainControls;

beforeAll(async () => {
  sandbox = await startOwnVenue(); // its time is moved
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('no chain');
  chain = first;
  sandbox.controls.prices.jump(BTC, String(PRICE));
  await eventually(
    () => sandbox.gateway.venues.get(CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (price) => price === BigInt(PRICE) * 10n ** 10n,
  );
});
afterAll(() => sandbox.stop());

interface Bot {
  readonly trader: ChainTrader;
  send(action: Record<string, unknown>): Promise<unknown>;
}

/** A trader who has delegated to the relayer, and whose agent is approved. */
async function newBot(usdc = '100000'): Promise<Bot> {
  const trader = await newTrader(chain, { delegate: sandbox.controls.relayer, usdc });
  const agent = new Wallet(generatePrivateKey());
  const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
  expect(await postExchange(sandbox.url, CHAIN, approval)).toMatchObject({ body: { status: 'ok' } });
  return {
    trader,
    async send(action) {
      const { status, body } = await postExchange(sandbox.url, CHAIN, await signL1(agent, action));
      expect(status).toBe(200);
      return body;
    },
  };
}

const orderAction = (orders: object[]) => ({ type: 'order', orders, grouping: 'na' });
const limit = (tif: string) => ({ limit: { tif } });
const buy = (s: string, changes: object = {}) =>
  order({ a: BTC, b: true, p: String(PRICE * 1.05), s, r: false, t: limit('Ioc'), ...changes });
const sell = (s: string, changes: object = {}) => buy(s, { b: false, p: String(PRICE * 0.95), ...changes });
const statuses = (body: unknown) =>
  (body as { response: { data: { statuses: Record<string, Record<string, unknown>>[] } } }).response.data.statuses;

const settledTrades = (trader: ChainTrader, count: number) =>
  eventually(
    () => trader.trades(),
    (trades) => trades.length === count,
  );

describe('a bot', () => {
  it('buys at the market, receives the fill, closes what it holds, and flips from long to short with one order', async () => {
    const bot = await newBot();
    const [opened] = statuses(await bot.send(orderAction([buy('0.1')])));
    expect(opened).toMatchObject({ filled: { totalSz: expect.any(String), avgPx: expect.any(String), oid: expect.any(Number) } });
    expect(Number(opened?.['filled']?.['totalSz'])).toBeCloseTo(0.1, 2);
    const [trade] = await settledTrades(bot.trader, 1);
    expect(trade).toMatchObject({ long: true, pairIndex: BTC, leverage: 5_000 });
    const [closed] = statuses(await bot.send(orderAction([sell('0.1', { r: true })])));
    expect(closed).toMatchObject({ filled: { oid: expect.any(Number) } });
    await settledTrades(bot.trader, 0);
    await bot.send({ type: 'updateLeverage', asset: BTC, isCross: true, leverage: 10 });
    await bot.send(orderAction([buy('0.1')]));
    // On a busy machine the order may be answered as resting; the flip needs its position.
    await eventually(
      () => sandbox.gateway.store.account.openPositions(CHAIN, bot.trader.account.address.toLowerCase() as `0x${string}`),
      ({ length }) => length === 1,
    );
    const [flipped] = statuses(await bot.send(orderAction([sell('0.3')])));
    expect(flipped).toMatchObject({ filled: { oid: expect.any(Number) } });
    expect(Number(flipped?.['filled']?.['totalSz'])).toBeCloseTo(0.3, 2);
    expect(await settledTrades(bot.trader, 1)).toMatchObject([{ long: false, leverage: 10_000 }]);
  });

  it('rests an order, changes it, and cancels it by its cloid', async () => {
    const bot = await newBot();
    const cloid = `0x${'ab'.repeat(16)}`;
    const [rested] = statuses(await bot.send(orderAction([buy('0.1', { p: '50000', t: limit('Gtc'), c: cloid })])));
    expect(rested).toMatchObject({ resting: { oid: expect.any(Number), cloid } });
    const [trade] = await settledTrades(bot.trader, 1);
    expect(trade?.openPrice).toBeLessThan(500_000_000_000_000n);
    const again = statuses(await bot.send(orderAction([buy('0.1', { p: '50000', t: limit('Gtc'), c: cloid })])));
    expect(again[0]).toMatchObject({ error: expect.stringContaining(`asset=${BTC}`) });
    const oid = Number(rested?.['resting']?.['oid']);
    const changed = statuses(
      await bot.send({ type: 'batchModify', modifies: [{ oid, order: buy('0.2', { p: '49000', t: limit('Gtc'), c: cloid }) }] }),
    );
    expect(changed[0]).toMatchObject({ resting: { oid: expect.any(Number) } });
    expect(changed[0]?.['resting']?.['oid']).not.toBe(oid);
    await eventually(
      () => bot.trader.trades(),
      ([only]) => only !== undefined && only.openPrice < 490_000_000_000_000n,
    );
    expect(statuses(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] }))).toEqual(['success']);
    await settledTrades(bot.trader, 0);
    expect(statuses(await bot.send({ type: 'cancel', cancels: [{ a: BTC, o: oid }] }))).toEqual([
      { error: `Order was never placed, already canceled, or filled. asset=${BTC}` },
    ]);
  });

  it('gets an order once that it sends several times at once under the cloid of a past one', async () => {
    const bot = await newBot();
    const cloid = `0x${'ac'.repeat(16)}`;
    const resting = orderAction([buy('0.1', { p: '50000', t: limit('Gtc'), c: cloid })]);
    for (let round = 0; round < 3; round += 1) {
      const answers = (await Promise.all([resting, resting, resting].map((action) => bot.send(action)))).flatMap(statuses);
      expect(answers.filter((status) => 'resting' in status)).toMatchObject([{ resting: { cloid } }]);
      expect(answers.filter((status) => 'error' in status)).toEqual(
        Array.from({ length: 2 }, () => ({ error: `An order with this cloid is still open. asset=${BTC}` })),
      );
      await settledTrades(bot.trader, 1);
      expect(statuses(await bot.send({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] }))).toEqual(['success']);
      await settledTrades(bot.trader, 0);
    }
  });

  it('protects its position with a stop loss, takes it away again, and adds margin', async () => {
    const bot = await newBot();
    await bot.send(orderAction([buy('0.1')]));
    const stop = sell('0.1', { r: true, p: '50000', t: { trigger: { isMarket: true, triggerPx: '55000', tpsl: 'sl' } } });
    const [protectedBy] = statuses(await bot.send(orderAction([stop])));
    expect(protectedBy).toMatchObject({ resting: { oid: expect.any(Number) } });
    await eventually(
      () => bot.trader.trades(),
      ([trade]) => trade?.sl === 550_000_000_000_000n,
    );
    const o = Number(protectedBy?.['resting']?.['oid']);
    await eventually(
      () => sandbox.gateway.store.account.openPositions(CHAIN, bot.trader.account.address.toLowerCase() as `0x${string}`),
      ([listed]) => listed?.position.sl === 550_000_000_000_000n,
    );
    expect(statuses(await bot.send({ type: 'cancel', cancels: [{ a: BTC, o }] }))).toEqual(['success']);
    await eventually(
      () => bot.trader.trades(),
      ([trade]) => trade?.sl === 0n,
    );
    const [before] = await settledTrades(bot.trader, 1);
    expect(await bot.send({ type: 'updateIsolatedMargin', asset: BTC, isBuy: true, ntli: 300_000_000 })).toEqual({
      status: 'ok',
      response: { type: 'default' },
    });
    const [after] = await eventually(
      () => bot.trader.trades(),
      ([trade]) => trade !== undefined && trade.collateralAmount > (before?.collateralAmount ?? 0n),
    );
    expect(after?.collateralAmount).toBeLessThanOrEqual((before?.collateralAmount ?? 0n) + 300_000_000n);
    expect(await bot.send({ type: 'updateIsolatedMargin', asset: 1, isBuy: true, ntli: 1 })).toMatchObject({
      response: 'Cannot update margin for empty position.',
    });
  });

  const guarded = (...orders: object[]) => ({ type: 'order', orders, grouping: 'normalTpsl' });
  const child = (s: string, triggerPx: string, tpsl: string, changes: object = {}) =>
    sell(s, { r: true, p: triggerPx, t: { trigger: { isMarket: true, triggerPx, tpsl } }, ...changes });

  it('receives an error for every child that cannot guard its order, and has the others', async () => {
    const bot = await newBot();
    const parent = buy('0.1', { p: '50000', t: limit('Gtc') });
    const children = [
      child('0.05', '70000', 'tp'),
      child('0.1', '45000', 'sl'),
      child('0.1', '44000', 'sl'),
      sell('0.1', { r: true, p: '71000', t: limit('Gtc') }),
    ];
    expect(statuses(await bot.send(guarded(parent, ...children)))).toEqual([
      { resting: { oid: expect.any(Number) } },
      { error: 'A take profit or stop loss guards all that its order opens here: send the size of that order. asset=0' },
      'waitingForFill',
      { error: 'An order has one take profit and one stop loss here. asset=0' },
      { error: 'Only a take profit and a stop loss can wait for the fill of another order here. asset=0' },
    ]);
    expect(await settledTrades(bot.trader, 1)).toMatchObject([{ tp: 0n, sl: 450_000_000_000_000n }]);
  });

  it('does not open without the stop loss it asked for, nor where the oracle refuses', async () => {
    const bot = await newBot();
    expect(statuses(await bot.send(guarded(buy('0.1'), child('0.1', '70000', 'tp'), child('0.05', '55000', 'sl'))))).toEqual([
      { error: 'Not placed: what should guard it cannot. asset=0' },
      { error: 'Not placed: what should guard it cannot. asset=0' },
      { error: expect.stringContaining('send the size of that order') },
    ]);
    expect(await bot.trader.trades()).toEqual([]);
    chain.setOraclePolicy(BTC, { mode: 'reject', reason: SLIPPAGE });
    try {
      expect(statuses(await bot.send(orderAction([buy('0.1')])))).toEqual([
        {
          error: expect.stringMatching(
            /^Order could not immediately match against any resting orders\. The oracle's price moved too far: .* asset=0$/,
          ),
        },
      ]);
    } finally {
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
    expect(await bot.trader.trades()).toHaveLength(0);
  });

  it('opens with take profit and stop loss, and closes with orders whose children guard nothing', async () => {
    const bot = await newBot();
    const [parent, ...children] = statuses(await bot.send(guarded(buy('0.1'), child('0.1', '70000', 'tp'), child('0.1', '55000', 'sl'))));
    expect(parent).toMatchObject({ filled: { oid: expect.any(Number) } });
    expect(children).toEqual(['waitingForTrigger', 'waitingForTrigger']);
    const [trade] = await settledTrades(bot.trader, 1);
    expect(trade).toMatchObject({ tp: 700_000_000_000_000n, sl: 550_000_000_000_000n });
    const guardsNothing = { error: 'Nothing was opened that it could guard. asset=0' };
    const resting = sell('0.1', { p: '65000', t: limit('Gtc') });
    expect(statuses(await bot.send(guarded(resting, child('0.1', '68000', 'sl', { b: true }))))).toEqual([
      { resting: { oid: expect.any(Number) } },
      guardsNothing,
    ]);
    for (const [s, r, left] of [
      ['0.05', true, 1],
      ['0.05', false, 0],
    ] as const) {
      expect(statuses(await bot.send(guarded(sell(s, { r }), child(s, '65000', 'sl', { b: true }))))).toEqual([
        { filled: expect.objectContaining({ oid: expect.any(Number) }) },
        guardsNothing,
      ]);
      await settledTrades(bot.trader, left);
    }
  });

  it('guards its position with triggers alone, and never opens with them', async () => {
    const bot = await newBot();
    const guards = (...orders: object[]) => ({ type: 'order', orders, grouping: 'positionTpsl' });
    const stop = (changes: object = {}) => child('0.1', '55000', 'sl', changes);
    const refusal = { status: 'err', response: 'Unexpected number of trigger orders' };
    expect(await bot.send(guards(buy('0.1'), stop()))).toEqual(refusal);
    expect(await bot.trader.trades()).toEqual([]);
    const nothingToGuard = [{ error: 'Reduce only order would increase position. asset=0' }];
    expect(statuses(await bot.send(guards(stop({ r: false }))))).toEqual(nothingToGuard);
    await bot.send(orderAction([buy('0.1')]));
    await settledTrades(bot.trader, 1);
    expect(statuses(await bot.send(guards(stop({ r: false }))))).toEqual(['waitingForTrigger']);
    const [trade] = await eventually(
      () => bot.trader.trades(),
      ([only]) => only?.sl === 550_000_000_000_000n,
    );
    expect(trade).toMatchObject({ long: true });
    expect(await bot.trader.trades()).toHaveLength(1);
  });

  it('gets one status per order of a batch, in order, each in the words it knows, with the minimum that holds at its leverage', async () => {
    const bot = await newBot();
    const answers = statuses(
      await bot.send(
        orderAction([
          buy('0.01'),
          buy('0.1', { a: 999 }),
          buy('0'),
          buy('0.1234567'),
          buy('0.1', { p: '61234.56' }),
          buy('0.1', { p: '55000' }),
          buy('0.1', { t: limit('Alo') }),
          sell('0.1', { r: true }),
          buy('0.0001'),
          buy('100'),
        ]),
      ),
    );
    expect(answers).toEqual([
      { filled: expect.objectContaining({ oid: expect.any(Number) }) },
      { error: 'Order has invalid asset. asset=999' },
      { error: 'Order has zero size. asset=0' },
      { error: 'Order has invalid size. asset=0' },
      { error: 'Order has invalid price. asset=0' },
      { error: "Order could not immediately match against any resting orders. The oracle's price is 60000.0, the limit 55000.0. asset=0" },
      { error: 'Post only order would have immediately matched, bbo was 59988.0@60012.0. asset=0' },
      { error: 'Reduce only order would increase position. asset=0' },
      { error: expect.stringMatching(/^Order must have minimum value of \$10\. At 5x the minimum here is \$[\d.]+\. asset=0$/) },
      { error: expect.stringMatching(/^Insufficient margin to place order\. The order takes .* which holds .* asset=0$/) },
    ]);
    const least = Number(/minimum here is \$([\d.]+)\./.exec((answers[8] as unknown as { error: string }).error)?.[1]);
    const lots = Math.ceil((least / PRICE) * 100_000);
    const [below, enough] = statuses(await bot.send(orderAction([buy(String((lots - 2) / 100_000)), buy(String((lots + 1) / 100_000))])));
    expect([below, enough]).toMatchObject([{ error: expect.stringContaining(`minimum here is $${least}.`) }, { filled: {} }]);
  });

  it(`is answered for ${MANY} orders in one action`, async () => {
    const bot = await newBot('1000000');
    const rests = Array.from({ length: MANY }, (_, at) => buy('0.01', { p: String(50_000 + at), t: limit('Gtc') }));
    const answered = statuses(await bot.send(orderAction(rests)));
    expect(answered).toEqual(rests.map(() => ({ resting: { oid: expect.any(Number) } })));
  });
});

describe('requests that the oracle never answers', () => {
  beforeAll(() => chain.setOraclePolicy(BTC, { mode: 'hold' }));
  afterAll(() => chain.setOraclePolicy(BTC, { mode: 'auto' }));

  const held = async (): Promise<{ bot: Bot; before: bigint; oid: number }> => {
    const bot = await newBot();
    const before = await bot.trader.usdc();
    const [status] = statuses(await answeredAtOnce(sandbox, () => bot.send(orderAction([buy('0.1')]))));
    expect(status).toMatchObject({ resting: { oid: expect.any(Number) } });
    await eventually(
      () => bot.trader.usdc(),
      (usdc) => usdc < before,
    );
    return { bot, before, oid: Number(status?.['resting']?.['oid']) };
  };

  it('are called resting; their collateral comes back by itself, and a cancel takes it back from the contract', async () => {
    const left = await held();
    const canceled = await held();
    answersWhenKnown(sandbox);
    const answer = canceled.bot.send({ type: 'cancel', cancels: [{ a: BTC, o: canceled.oid }] });
    await chain.mine(400);
    expect(statuses(await answer)).toEqual(['success']);
    expect(await canceled.bot.trader.usdc()).toBe(canceled.before);
    await eventually(
      () => left.bot.trader.usdc(),
      (usdc) => usdc === left.before,
    );
  });
});

describe('a scheduled cancel', () => {
  it('takes back entries when its time comes, and leaves protections alone', async () => {
    const bot = await newBot();
    await bot.send(orderAction([buy('0.1')]));
    const stop = sell('0.1', { r: true, p: '50000', t: { trigger: { isMarket: true, triggerPx: '55000', tpsl: 'sl' } } });
    await bot.send(orderAction([stop, buy('0.1', { p: '50000', t: limit('Gtc') })]));
    await settledTrades(bot.trader, 2);
    expect(await bot.send({ type: 'scheduleCancel', time: Date.now() + 1_000 })).toMatchObject({ status: 'err' });
    expect(await bot.send({ type: 'scheduleCancel', time: sandbox.clock.now() + 60_000 })).toMatchObject({ status: 'ok' });
    await moveTime(sandbox, 60_000);
    const [left] = await eventually(
      () => bot.trader.trades(),
      (trades) => trades.length === 1,
    );
    expect(left).toMatchObject({ tradeType: 0, sl: 550_000_000_000_000n });
  });
});
