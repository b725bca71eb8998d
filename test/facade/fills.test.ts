import { Wallet } from 'ethers';
import type { ChainControls } from '../../sandbox/controls.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../harness/hyperliquid/info.js';
import { hlSocket, type HlSocket } from '../harness/hyperliquid/socket.js';
import { eventually } from '../harness/time/eventually.js';
import { FACADE_CHAIN, newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { answersUntil, answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

const ETH = 1;
/** Four decimals of size at this price. */
const PRICE = 3_000;

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;

const priced = async (price: number): Promise<void> => {
  sandbox.controls.prices.jump(ETH, String(price));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(ETH)?.oracle,
    (oracle) => oracle === BigInt(price) * 10n ** 10n,
  );
};

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
});
beforeEach(() => priced(PRICE));
afterAll(async () => {
  chain.setOraclePolicy(ETH, { mode: 'auto' });
  await sandbox.stop();
});

interface Fill {
  tid: number;
  oid: number;
  px: string;
  sz: string;
  side: 'A' | 'B';
  time: number;
  hash: string;
  startPosition: string;
  dir: string;
  crossed: boolean;
  fee: string;
  cloid?: string;
}
interface Shown {
  order: { oid: number; sz: string; origSz: string; cloid: string | null };
  status: string;
}
interface Update {
  order: { oid: number; sz: string; origSz: string };
  status: string;
}
type Answered = Record<'filled', { totalSz: string; avgPx: string; oid: number }>;

const buy = (s: string, changes: object = {}) => order({ a: ETH, p: '3300', s, ...changes });
const sell = (s: string, changes: object = {}) => order({ a: ETH, b: false, p: '2700', s, ...changes });

async function send({ agentKey }: FacadeTrader, wire: object): Promise<Answered> {
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), orderAction(wire as never)));
  const [status] = (body as { response: { data: { statuses: Answered[] } } }).response.data.statuses;
  if (!status) throw new Error(`no answer: ${JSON.stringify(body)}`);
  return status;
}

/** The price moves after the order was sent and before the oracle answers. */
async function sendWhile(bot: FacadeTrader, wire: object, price: number): Promise<Answered> {
  chain.setOraclePolicy(ETH, { mode: 'hold' });
  answersWhenKnown(sandbox);
  const answer = send(bot, wire);
  try {
    await eventually(
      () => bot.trader.pending(),
      (pending) => pending === 1,
    );
    sandbox.controls.prices.jump(ETH, String(price));
  } finally {
    chain.setOraclePolicy(ETH, { mode: 'auto' });
  }
  await chain.mine(1);
  return answer;
}

const fillsOf = (bot: FacadeTrader, fields: object = {}) => info.ask<Fill[]>('userFills', { user: bot.address, ...fields });
const statusOf = async (bot: FacadeTrader, oid: number) =>
  (await info.ask<{ order: Shown }>('orderStatus', { user: bot.address, oid })).order;
const historyOf = (bot: FacadeTrader) => info.ask<Shown[]>('historicalOrders', { user: bot.address });

async function positionOf(bot: FacadeTrader): Promise<string> {
  const { assetPositions } = await info.ask<{ assetPositions: { position: { coin: string; szi: string } }[] }>('clearinghouseState', {
    user: bot.address,
  });
  return assetPositions.find(({ position }) => position.coin === 'ETH')?.position.szi ?? '0.0';
}

/** In lots: fractions of decimals do not add up. */
const lots = (text: string): number => Math.round(Number(text) * 10_000);
const signed = ({ sz, side }: Fill): number => (side === 'B' ? lots(sz) : -lots(sz));

/** Fills, newest first, add up to the position, and each begins where the one before it ended. */
async function expectWhole(bot: FacadeTrader, fills: readonly Fill[]): Promise<void> {
  const ended = [...fills].reverse().reduce((position, fill) => {
    expect(lots(fill.startPosition)).toBe(position);
    return position + signed(fill);
  }, 0);
  await eventually(
    async () => lots(await positionOf(bot)),
    (szi) => szi === ended,
  );
}

async function follow(bot: FacadeTrader): Promise<HlSocket> {
  const socket = await hlSocket(sandbox.url);
  for (const type of ['orderUpdates', 'userFills', 'userEvents']) await socket.subscribe(type, { user: bot.address });
  return socket;
}

interface Traded extends Pick<Fill, 'tid' | 'px' | 'sz' | 'side' | 'time' | 'hash'> {
  users: [string, string];
}

/** The public trades of the market are the same fills, with the contract on the other side. */
async function expectOnTape(bot: FacadeTrader, socket: HlSocket, fills: readonly Fill[]): Promise<void> {
  const trader = bot.address.toLowerCase();
  const own = (trades: readonly Traded[]): Traded[] => trades.filter(({ users }) => users.includes(trader));
  const expected = fills.map(({ tid, px, sz, side, time, hash }) => expect.objectContaining({ tid, px, sz, side, time, hash }) as unknown);
  const trades = own(await info.ask<Traded[]>('recentTrades', { coin: 'ETH' }));
  expect(trades).toEqual(expected);
  for (const { side, users } of trades) expect(users.indexOf(trader)).toBe(side === 'B' ? 0 : 1);
  const sent = await eventually(
    () => own(socket.of<Traded[]>('trades').flat()),
    (all) => all.length === fills.length,
  );
  expect(sent.reverse()).toEqual(expected);
}

describe('an order that gets more than it asked for', () => {
  it('is filled for what it asked for, and the rest is a fill of an order of its own in every answer', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await follow(bot);
    await socket.subscribe('trades', { coin: 'ETH' });
    const cloid = `0x${'5a'.repeat(16)}`;
    const { filled } = await sendWhile(bot, buy('3', { c: cloid }), 2_970);
    expect(filled).toMatchObject({ totalSz: '3.0' });
    const [beyond, own, ...none] = await fillsOf(bot);
    expect(none).toEqual([]);
    expect(own).toMatchObject({ sz: '3.0', oid: filled.oid, cloid, startPosition: '0.0', hash: beyond?.hash });
    expect(beyond).toMatchObject({ startPosition: '3.0', side: 'B' });
    expect(beyond).not.toHaveProperty('cloid');
    expect(lots(beyond?.sz ?? '')).toBeGreaterThan(200);
    expect([beyond?.oid === own?.oid, beyond?.tid === own?.tid, (beyond?.time ?? 0) > (own?.time ?? 0)]).toEqual([false, false, true]);
    await expectWhole(bot, await fillsOf(bot));
    expect(filled.avgPx).toBe(own?.px);
    expect(own?.px).toMatch(/^\d{4}\.\d$/);

    const excess = beyond?.oid ?? 0;
    expect(await statusOf(bot, filled.oid)).toMatchObject({ status: 'filled', order: { sz: '0.0', origSz: '3.0', cloid } });
    expect(await statusOf(bot, excess)).toMatchObject({
      status: 'filled',
      order: { oid: excess, sz: '0.0', origSz: beyond?.sz, cloid: null },
    });
    expect((await historyOf(bot)).map(({ order: { oid }, status }) => [oid, status])).toEqual([
      [excess, 'filled'],
      [filled.oid, 'filled'],
    ]);
    await socket.find<Update[]>('orderUpdates', (updates) =>
      updates.some(({ order: { oid }, status }) => oid === excess && status === 'filled'),
    );
    const message = await socket.find<{ fills: Fill[]; isSnapshot?: true }>('userFills', ({ isSnapshot }) => !isSnapshot);
    expect(message.fills).toEqual([own, beyond]);
    expect((await socket.find<{ fills: Fill[] }>('user', ({ fills }) => fills.length > 0)).fills).toEqual([own, beyond]);
    for (const { order: shown } of socket.of<Update[]>('orderUpdates').flat()) {
      expect(lots(shown.sz)).toBeGreaterThanOrEqual(0);
      expect(lots(shown.sz)).toBeLessThanOrEqual(lots(shown.origSz));
    }

    // The bot knows of three: closing them closes what is beyond them along.
    await priced(PRICE);
    const closed = await send(bot, sell('3', { r: true }));
    expect(closed.filled).toMatchObject({ totalSz: '3.0' });
    const fills = await fillsOf(bot);
    expect(fills.map(({ sz }) => sz)).toEqual([beyond?.sz, '3.0', beyond?.sz, '3.0']);
    expect(fills[0]?.oid).not.toBe(closed.filled.oid);
    expect(await statusOf(bot, closed.filled.oid)).toMatchObject({ status: 'filled', order: { sz: '0.0' } });
    await expectWhole(bot, fills);
    expect(await bot.trader.trades()).toHaveLength(0);
    const byTime = await info.ask<Fill[]>('userFillsByTime', { user: bot.address, startTime: own?.time ?? 0, endTime: beyond?.time ?? 0 });
    expect(byTime).toEqual([own, beyond]);
    expect(await fillsOf(bot, { aggregateByTime: true })).toEqual(fills);
    await expectOnTape(bot, socket, fills);
    await socket.close();
  });
});

describe('an order that rested', () => {
  interface Volumes {
    dailyUserVlm: { userCross: string; userAdd: string }[];
    userCrossRate: string;
    userAddRate: string;
  }
  const limit = { t: { limit: { tif: 'Gtc' } } };
  const onTrigger = (triggerPx: string, tpsl: 'tp' | 'sl') => ({ t: { trigger: { isMarket: true, triggerPx, tpsl } } });
  const filled = async (bot: FacadeTrader, count: number) =>
    eventually(
      () => fillsOf(bot),
      ({ length }) => length === count,
    );

  it('makes all of what it gets, its excess too, and the volumes of the fees agree', async () => {
    const bot = await newFacadeTrader(sandbox);
    await sendWhile(bot, buy('3'), 2_970);
    await priced(PRICE);
    expect(await send(bot, sell('3', { p: '3100', r: true, ...limit }))).toMatchObject({ resting: {} });
    await priced(3_101);
    const fills = await filled(bot, 4);
    expect(fills.map(({ dir, crossed }) => [dir, crossed])).toEqual([
      ...Array<unknown>(2).fill(['Close Long', false]),
      ...Array<unknown>(2).fill(['Open Long', true]),
    ]);
    expect(new Set(fills.slice(0, 2).map(({ hash }) => hash)).size).toBe(1);
    const { dailyUserVlm, userCrossRate, userAddRate } = await info.ask<Volumes>('userFees', { user: bot.address });
    const volume = (crossed: boolean): number =>
      fills.reduce((sum, fill) => (fill.crossed === crossed ? sum + Number(fill.sz) * Number(fill.px) : sum), 0);
    const today = dailyUserVlm.at(-1);
    expect(Math.abs(Number(today?.userAdd) / volume(false) - 1)).toBeLessThan(1e-4);
    expect(Math.abs(Number(today?.userCross) / volume(true) - 1)).toBeLessThan(1e-4);
    // The contract charges both the same, and closes by the value at opening.
    expect(userAddRate).toBe(userCrossRate);
    const rate = ({ fee, sz, px }: Fill) => Number(fee) / (Number(sz) * Number(px));
    for (const fill of fills) expect(rate(fill)).toBeCloseTo(Number(fill.crossed ? userCrossRate : userAddRate), 4);
  });

  it('makes as an entry, and takes if it waited for a trigger', async () => {
    const expectAll = async (bot: FacadeTrader, crossed: boolean): Promise<void> => {
      const fills = await eventually(
        () => fillsOf(bot),
        ({ length }) => length > 0,
      );
      expect(fills.filter((fill) => fill.crossed !== crossed)).toEqual([]);
    };
    const [maker, onRise, onFall] = await Promise.all([1, 2, 3].map(() => newFacadeTrader(sandbox)));
    if (!maker || !onRise || !onFall) throw new Error('three bots');
    expect(await send(maker, buy('0.1', { p: '2950', ...limit }))).toMatchObject({ resting: {} });
    expect(await send(onFall, buy('0.1', { p: '3100', ...onTrigger('2950', 'tp') }))).toMatchObject({ resting: {} });
    expect(await send(onRise, buy('0.1', { p: '3300', ...onTrigger('3050', 'sl') }))).toMatchObject({ resting: {} });
    await priced(2_940);
    await expectAll(maker, false);
    await expectAll(onFall, true);
    await priced(3_060);
    await expectAll(onRise, true);
  });
});

describe('an order that gets less than it asked for', () => {
  it('is answered with what it got, and ends canceled with the rest', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await follow(bot);
    const { filled } = await sendWhile(bot, buy('3'), 3_030);
    const [only, ...none] = await fillsOf(bot);
    expect(none).toEqual([]);
    expect(filled.totalSz).toBe(only?.sz);
    expect(lots(filled.totalSz)).toBeLessThan(30_000);
    const shown = await statusOf(bot, filled.oid);
    expect(shown).toMatchObject({ status: 'canceled', order: { origSz: '3.0' } });
    expect(lots(shown.order.sz)).toBe(30_000 - lots(filled.totalSz));
    const [update] = await socket.find<Update[]>('orderUpdates', (updates) => updates.some(({ status }) => status === 'canceled'));
    expect(update?.order).toMatchObject({ oid: filled.oid, sz: shown.order.sz });
    await expectWhole(bot, await fillsOf(bot));
    await socket.close();
  });
});

describe('an order whose price hardly moves', () => {
  it('is filled exactly, one after the other, through a partial close and a flip', async () => {
    const bot = await newFacadeTrader(sandbox);
    for (const wire of [buy('1'), buy('0.7'), sell('0.5'), sell('2'), buy('0.8')]) {
      const { filled } = await send(bot, wire);
      expect(filled).toMatchObject({ totalSz: Number(wire.s).toFixed(1) });
    }
    const fills = await fillsOf(bot);
    await expectWhole(bot, fills);
    expect(await positionOf(bot)).toBe('0.0');
    expect(new Set(fills.map(({ oid }) => oid)).size).toBe(5);
    expect((await historyOf(bot)).map(({ status, order: { sz } }) => [status, sz])).toEqual(Array(5).fill(['filled', '0.0']));
    expect(await bot.trader.trades()).toHaveLength(0);
  });

  it('is sized for no more than was asked where the funds allow no more', async () => {
    // 5x by default: 0.1 ETH takes a little more than 60 USDC with the spread, and half a lot a cent more.
    const rich = await newFacadeTrader(sandbox);
    await send(rich, buy('0.1'));
    const [trade] = await rich.trader.trades();
    const collateral = Number(trade?.collateralAmount ?? 0n) / 1e6;
    const bot = await newFacadeTrader(sandbox, (collateral - 0.003).toFixed(6));
    expect(await send(bot, buy('0.1'))).toMatchObject({ filled: {} });
    const [own] = await bot.trader.trades();
    expect(own?.collateralAmount).toBeLessThan(trade?.collateralAmount ?? 0n);
  });
});

describe('an order for immediate execution', () => {
  const openOf = (bot: FacadeTrader) => info.ask<{ oid: number }[]>('openOrders', { user: bot.address });

  it('is neither listed nor open before it is answered, and then until it is resolved', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await follow(bot);
    chain.setOraclePolicy(ETH, { mode: 'hold' });
    const answers = answersUntil(sandbox);
    const answer = send(bot, buy('0.1')) as Promise<unknown> as Promise<{ resting: { oid: number } }>;
    try {
      await eventually(
        () => bot.trader.pending(),
        (pending) => pending === 1,
      );
      const [pending] = await eventually(
        () => historyOf(bot),
        (orders) => orders.length === 1,
      );
      expect(await openOf(bot)).toEqual([]);
      answers.end();
      const { oid } = (await answer).resting;
      expect(pending?.order.oid).toBe(oid);
      expect(await openOf(bot)).toMatchObject([{ oid }]);
      await socket.find<Update[]>('orderUpdates', (updates) =>
        updates.some(({ order: shown, status }) => shown.oid === oid && status === 'open'),
      );
    } finally {
      answers.end();
      chain.setOraclePolicy(ETH, { mode: 'auto' });
    }
    await chain.mine(1);
    await socket.find<Update[]>('orderUpdates', (updates) => updates.some(({ status }) => status === 'filled'));
    expect(await openOf(bot)).toEqual([]);
    await socket.close();
  });

  it('that is filled at once is never sent as open', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await follow(bot);
    await send(bot, buy('0.1'));
    await socket.find<Update[]>('orderUpdates', (updates) => updates.some(({ status }) => status === 'filled'));
    expect(socket.of<Update[]>('orderUpdates').flat()).toMatchObject([{ status: 'filled' }]);
    await socket.close();
  });
});

describe('a good-till-cancelled order that misses its price', () => {
  it('rests under the number and the name it was sent with', async () => {
    const bot = await newFacadeTrader(sandbox);
    const socket = await follow(bot);
    const cloid = `0x${'6b'.repeat(16)}`;
    chain.setOraclePolicy(ETH, { mode: 'reject', reason: 3 });
    let answer: unknown;
    try {
      answer = await send(bot, buy('0.1', { p: '3003', t: { limit: { tif: 'Gtc' } }, c: cloid }));
      await priced(3_100);
    } finally {
      chain.setOraclePolicy(ETH, { mode: 'auto' });
    }
    const { oid } = (answer as { resting: { oid: number } }).resting;
    expect(answer).toEqual({ resting: { oid, cloid } });
    expect(await info.ask('openOrders', { user: bot.address })).toMatchObject([{ oid, cloid, sz: '0.1' }]);
    expect((await historyOf(bot)).map(({ order: { oid: own }, status }) => [own, status])).toEqual([[oid, 'open']]);
    await socket.find<Update[]>('orderUpdates', (updates) => updates.some(({ status }) => status === 'open'));
    const updates = socket.of<Update[]>('orderUpdates').flat();
    expect(updates.map(({ order: shown, status }) => [shown.oid, status])).toEqual([[oid, 'open']]);
    await eventually(
      () => bot.trader.trades(),
      (trades) => trades.length === 1,
    );
    const canceled = await postExchange(
      sandbox.url,
      FACADE_CHAIN,
      await signL1(new Wallet(bot.agentKey), { type: 'cancelByCloid', cancels: [{ asset: ETH, cloid }] }),
    );
    expect(canceled.body).toMatchObject({ response: { data: { statuses: ['success'] } } });
    expect(await statusOf(bot, oid)).toMatchObject({ status: 'canceled', order: { oid, sz: '0.1', origSz: '0.1' } });
    await socket.close();
  });
});
