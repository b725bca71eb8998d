import { Wallet } from 'ethers';
import type { ChainControls } from '../../../sandbox/controls.js';
import { eventually } from '../../harness/time/eventually.js';
import { moveTime } from '../../harness/time/move-time.js';
import { FACADE_CHAIN, newFacadeTrader } from '../../harness/traders/facade-trader.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import { order, postExchange, signL1 } from '../../harness/hyperliquid/exchange.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { hlSocket, type HlSocket } from '../../harness/hyperliquid/socket.js';
import { answeredAtOnce } from '../../harness/venue/answer-hold.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

const BTC = 0;

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
let socket: HlSocket | null = null;
beforeAll(async () => {
  sandbox = await startOwnVenue(); // its time is moved
  chain = firstChain(sandbox);
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());
beforeEach(() => jumpTo(60_000));
afterEach(async () => {
  await socket?.close();
  socket = null;
  chain.resetOracle();
});

async function jumpTo(price: number): Promise<void> {
  sandbox.controls.prices.jump(BTC, String(price));
  await eventually(
    () => sandbox.gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (oracle) => oracle === BigInt(price) * 10n ** 10n,
  );
}

interface Update {
  readonly order: { readonly oid: number };
  readonly status: string;
}

/** A bot that is subscribed to its orders and to cancels it did not ask for. */
async function newBot() {
  const { trader, address: user, agentKey } = await newFacadeTrader(sandbox);
  const stream = (socket = await hlSocket(sandbox.url));
  for (const type of ['orderUpdates', 'userEvents']) await stream.subscribe(type, { user });
  const send = async (...orders: object[]): Promise<number[]> => {
    const action = { type: 'order', orders, grouping: 'na' };
    return (await act(action)).map((status) => (status['resting'] ?? status['filled'])?.['oid'] ?? 0);
  };
  const act = async (action: Record<string, unknown>) => {
    const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action));
    expect(body).toMatchObject({ status: 'ok' });
    const { response } = body as { response: { data?: { statuses: Record<string, Record<string, number>>[] } } };
    return response.data?.statuses ?? [];
  };
  /** The number of an order that waits for the oracle, once its request is on the chain. */
  const asks = async (placed: object): Promise<number[]> => {
    const sent = await answeredAtOnce(sandbox, () => send(placed));
    await eventually(
      () => sandbox.gateway.store.account.liveOrders(FACADE_CHAIN, user.toLowerCase() as `0x${string}`),
      (live) => live.some(({ id, orderKey }) => id === BigInt(sent[0] ?? 0) && orderKey !== null),
    );
    return sent;
  };
  const ends = async (oid: number, word: string): Promise<void> => {
    await stream.find<Update[]>('orderUpdates', (updates) =>
      updates.some(({ order: { oid: updated }, status }) => updated === oid && status === word),
    );
    const { order: shown } = await info.ask<{ order: { status: string } }>('orderStatus', { user, oid });
    expect(shown.status).toBe(word);
  };
  const isPublished = (oid: number) =>
    stream.find<{ nonUserCancel?: { coin: string; oid: number }[] }>('user', ({ nonUserCancel = [] }) =>
      nonUserCancel.some(({ coin, oid: canceled }) => coin === 'BTC' && canceled === oid),
    );
  return { trader, user, stream, act, send, asks, ends, isPublished };
}

const buy = (changes: object = {}) => order({ a: BTC, b: true, p: '63000', s: '0.1', r: false, ...changes });
const sell = (changes: object = {}) => buy({ b: false, p: '50000', r: true, ...changes });
const level = (tpsl: 'tp' | 'sl', triggerPx: string) => sell({ t: { trigger: { isMarket: true, triggerPx, tpsl } } });

describe('an order that goes without its owner canceled it', () => {
  it('is the sibling of a level that was filled', async () => {
    const bot = await newBot();
    await bot.send(buy());
    const [tp = 0, sl = 0] = await bot.send(level('tp', '70000'), level('sl', '55000'));
    await bot.stream.find<Update[]>('orderUpdates', (updates) => updates.some(({ order: { oid } }) => oid === sl));
    await jumpTo(54_900);
    await bot.ends(sl, 'filled');
    await bot.ends(tp, 'siblingFilledCanceled');
    await bot.isPublished(tp);
  });

  it('is a level of a position that was closed', async () => {
    const bot = await newBot();
    await bot.send(buy());
    const [sl = 0] = await bot.send(level('sl', '55000'));
    await bot.stream.find<Update[]>('orderUpdates', (updates) => updates.some(({ order: { oid } }) => oid === sl));
    await bot.send(sell());
    await bot.ends(sl, 'reduceOnlyCanceled');
    await bot.isPublished(sl);
  });

  it('is an entry whose schedule came due', async () => {
    const bot = await newBot();
    const [entry = 0] = await bot.send(buy({ p: '50000', t: { limit: { tif: 'Gtc' } } }));
    await bot.act({ type: 'scheduleCancel', time: sandbox.clock.now() + 60_000 });
    await moveTime(sandbox, 60_000);
    await bot.ends(entry, 'scheduledCancel');
    await bot.isPublished(entry);
    const history = await info.ask<{ order: { oid: number }; status: string }[]>('historicalOrders', { user: bot.user });
    expect(history.find(({ order: { oid } }) => oid === entry)?.status).toBe('scheduledCancel');
  });

  it('is a request that the oracle never answered', async () => {
    const bot = await newBot();
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    const [lost = 0] = await bot.asks(buy());
    await chain.mine(400);
    await bot.ends(lost, 'canceled');
    await bot.isPublished(lost);
  });

  it('is not one that its owner canceled', async () => {
    const bot = await newBot();
    const [entry = 0] = await bot.send(buy({ p: '50000', t: { limit: { tif: 'Gtc' } } }));
    await bot.act({ type: 'cancel', cancels: [{ a: BTC, o: entry }] });
    await bot.ends(entry, 'canceled');
    await bot.send(buy());
    await bot.stream.find<{ fills?: object[] }>('user', ({ fills }) => fills !== undefined);
    expect(bot.stream.of<object>('user').some((event) => 'nonUserCancel' in event)).toBe(false);
  });
});

describe('a cancel while the oracle is silent', () => {
  it('says that the order can still fill, and from when on it can be had back', async () => {
    const bot = await newBot();
    chain.setOraclePolicy(BTC, { mode: 'hold' });
    try {
      const [oid = 0] = await bot.asks(buy());
      // Without blocks its time is never over.
      await chain.pauseMining(true);
      const [said] = await answeredAtOnce(sandbox, () => bot.act({ type: 'cancel', cancels: [{ a: BTC, o: oid }] }));
      expect(said).toEqual({ error: expect.stringMatching(/^Order is executing, reclaim possible at 20\d\d-[\dT:.-]+Z\. asset=0$/) });
      const listed = await info.ask<{ oid: number }[]>('openOrders', { user: bot.user });
      expect(listed.map((each) => each.oid)).toEqual([oid]);
    } finally {
      await chain.pauseMining(false);
      chain.setOraclePolicy(BTC, { mode: 'auto' });
    }
    await eventually(
      () => bot.trader.trades(),
      ({ length }) => length === 1,
    );
  });
});
