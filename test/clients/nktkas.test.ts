import * as current from '@nktkas/hyperliquid';
import { SymbolConverter } from '@nktkas/hyperliquid/utils';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import * as earlier from 'nktkas-0.30';
import { WebSocket } from 'ws';
import { SymbolConverter as EarlierSymbolConverter } from 'nktkas-0.30/utils';
import { FACADE_CHAIN, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { newTrader } from '../harness/traders/chain-trader.js';
import { eventually } from '../harness/time/eventually.js';
import { postExchange } from '../harness/hyperliquid/exchange.js';
import {
  addsUp,
  BTC,
  chainPrice,
  CLIENT_TIMEOUT_MS,
  expectEveryAnswerFits,
  findsPastStop,
  isFilledForNoMore,
  newCloid,
  noTrade,
  onlyTrade,
  PRICE,
  seesMovedStop,
  sizeOf,
  startClientBench,
  tradesAfterSilence,
  type ClientBench,
  type PlainBot,
} from './client-bench.js';
import { replaceGlobal } from '../harness/process/replace-global.js';
import { describeClient } from './describe-client.js';

/** Node has a socket of its own from 22 on, and the client wants it there; 0.30 dispatches an event on it when it closes. */
class NodeSocket extends WebSocket {
  dispatchEvent(): boolean {
    return true;
  }
}

let bench: ClientBench;
let restoreGlobal: () => void;
beforeAll(async () => {
  restoreGlobal = replaceGlobal('WebSocket', NodeSocket);
  bench = await startClientBench();
});
afterAll(async () => {
  restoreGlobal();
  await bench.stop();
});

type Clients = Pick<typeof current, 'HttpTransport' | 'InfoClient' | 'ExchangeClient' | 'WebSocketTransport' | 'SubscriptionClient'>;

interface Version {
  readonly folder: string;
  readonly clients: Clients;
  readonly symbols: (transport: current.HttpTransport) => Promise<{
    getAssetId(name: string): number | undefined;
    getSzDecimals(name: string): number | undefined;
  }>;
  /** 0.30 loses the chain without a slash at the end. */
  readonly slash: string;
  readonly isEarlier: boolean;
}

const VERSIONS: readonly Version[] = [
  {
    folder: '@nktkas/hyperliquid',
    clients: current,
    symbols: (transport) => SymbolConverter.create({ transport }),
    slash: '',
    isEarlier: false,
  },
  {
    folder: 'nktkas-0.30',
    // The two versions differ in their types alone where these tests use them.
    clients: earlier as unknown as Clients,
    symbols: (transport) => EarlierSymbolConverter.create({ transport: transport }),
    slash: '/',
    isEarlier: true,
  },
];

const limit = (tif: 'Gtc' | 'Ioc' | 'Alo') => ({ limit: { tif } });
const trigger = (triggerPx: number, tpsl: 'tp' | 'sl') => ({ trigger: { isMarket: true, triggerPx: String(triggerPx), tpsl } });
type OrderFields = Partial<current.OrderParameters['orders'][number]>;
const buy = (s: string, fields: OrderFields = {}) => ({
  a: BTC,
  b: true,
  p: String(PRICE * 1.05),
  s,
  r: false,
  t: limit('Ioc'),
  ...fields,
});
const sell = (s: string, fields: OrderFields = {}) => buy(s, { b: false, p: String(PRICE * 0.95), ...fields });

const httpOf = (
  { clients, slash }: Pick<Version, 'clients' | 'slash'>,
  options: current.HttpTransportOptions = {},
): current.HttpTransport => new clients.HttpTransport({ apiUrl: `${bench.base}${slash}`, timeout: CLIENT_TIMEOUT_MS, ...options });

/** As the client signs it with its defaults: for the main network, where the name has to carry the deployment's tag. */
async function approvesTagged({ clients, slash }: Version, wallet: Wallet): Promise<void> {
  const master = new clients.ExchangeClient({ transport: httpOf({ clients, slash }), wallet });
  const { body } = await bench.sandbox.get(`/v1/${FACADE_CHAIN}`);
  const { agentNameTag } = body as { agentNameTag: string };
  const agentAddress = new Wallet(generatePrivateKey()).address;
  await expect(master.approveAgent({ agentAddress, agentName: 'bot' })).rejects.toThrow(agentNameTag);
  expect(await master.approveAgent({ agentAddress, agentName: `${agentNameTag} bot` })).toMatchObject(DONE);
}

interface Bot extends FacadeTrader {
  readonly info: current.InfoClient;
  readonly exchange: current.ExchangeClient;
  /** The status of the only order of an action. */
  order(order: ReturnType<typeof buy>): Promise<unknown>;
  /** The same, of an order that rests. */
  rest(order: ReturnType<typeof buy>): Promise<number>;
}

async function newBot({ clients, slash }: Version): Promise<Bot> {
  const made = await bench.newBot();
  const transport = httpOf({ clients, slash });
  const exchange = new clients.ExchangeClient({ transport, wallet: new Wallet(made.agentKey) });
  const order = async (each: ReturnType<typeof buy>): Promise<unknown> =>
    (await exchange.order({ orders: [each], grouping: 'na' })).response.data.statuses[0];
  return {
    ...made,
    info: new clients.InfoClient({ transport }),
    exchange,
    order,
    async rest(each) {
      const status = await order(each);
      expect(status).toMatchObject({ resting: { oid: expect.any(Number) } });
      return (status as { resting: { oid: number } }).resting.oid;
    },
  };
}

async function plainBot(version: Version): Promise<PlainBot> {
  const bot = await newBot(version);
  const { address: user } = bot;
  return {
    ...bot,
    buy: (size) => bot.order(buy(String(size))),
    sell: (size) => bot.order(sell(String(size))),
    stopLoss: async (size, price) => String(await bot.rest(sell(String(size), { r: true, p: String(price), t: trigger(price, 'sl') }))),
    cancel: (id) => bot.exchange.cancel({ cancels: [{ a: BTC, o: Number(id) }] }),
    fills: async () =>
      (await bot.info.userFills({ user })).map(({ oid, side, sz }) => ({
        order: String(oid),
        size: side === 'B' ? Number(sz) : -Number(sz),
      })),
    position: async () => Number((await bot.info.clearinghouseState({ user })).assetPositions[0]?.position.szi ?? 0),
    stopPrice: async (id) => {
      const listed = (await bot.info.frontendOpenOrders({ user })).find(({ oid }) => String(oid) === id);
      return listed && Number(listed.triggerPx);
    },
    pastOrders: async () => (await bot.info.historicalOrders({ user })).map(({ order }) => String(order.oid)),
  };
}

const FILLED = { filled: { totalSz: expect.any(String), avgPx: expect.any(String), oid: expect.any(Number) } };
const DONE = { status: 'ok', response: { type: 'default' } };

/** Something over a socket that is closed afterwards. */
async function overSocket({ clients }: Version, work: (transport: current.WebSocketTransport) => Promise<void>): Promise<void> {
  const transport = new clients.WebSocketTransport({ url: bench.stream, timeout: CLIENT_TIMEOUT_MS });
  try {
    await transport.ready();
    await work(transport);
  } finally {
    transport.close();
  }
}

describe.each(VERSIONS)('unmodified', (version) => {
  describeClient({ name: '@nktkas/hyperliquid', folder: version.folder, isEarlier: version.isEarlier }, (flow) => {
    flow('starts up', async () => {
      const transport = httpOf(version);
      const symbols = await version.symbols(transport);
      expect([symbols.getAssetId('BTC'), symbols.getSzDecimals('BTC'), symbols.getAssetId('ETH')]).toEqual([BTC, 5, 1]);
    });

    flow('reads markets, books and candles', async () => {
      const { info } = await newBot(version);
      const [{ universe }, contexts] = await info.metaAndAssetCtxs();
      expect(universe[BTC]).toMatchObject({ name: 'BTC', szDecimals: 5 });
      expect(Number(contexts[BTC]?.markPx)).toBeCloseTo(PRICE, -2);
      expect(Number((await info.allMids())['BTC'])).toBeCloseTo(PRICE, -2);
      const book = await info.l2Book({ coin: 'BTC' });
      expect(Number(book?.levels[0][0]?.px)).toBeLessThan(Number(book?.levels[1][0]?.px));
      expect((await info.candleSnapshot({ coin: 'BTC', interval: '1h', startTime: Date.now() - 7_200_000 })).length).toBeGreaterThan(0);
    });

    flow('approves an agent', async () => {
      const trader = await newTrader(firstChain(bench.sandbox), { delegate: bench.sandbox.controls.relayer });
      const transport = httpOf(version, { isTestnet: true });
      const agent = new Wallet(generatePrivateKey());
      const master = new version.clients.ExchangeClient({ transport, wallet: new Wallet(trader.privateKey) });
      expect(await master.approveAgent({ agentAddress: agent.address, agentName: null })).toMatchObject(DONE);
      const exchange = new version.clients.ExchangeClient({ transport, wallet: agent });
      await exchange.order({ orders: [buy('0.01')], grouping: 'na' });
      await onlyTrade(trader, ({ long }) => long);
      await approvesTagged(version, new Wallet(trader.privateKey));
    });

    flow('opens and closes at the market', async () => {
      const bot = await newBot(version);
      expect(await bot.order(buy('0.1'))).toMatchObject(FILLED);
      const trade = await onlyTrade(bot.trader, ({ long }) => long);
      expect(sizeOf(trade)).toBeCloseTo(0.1, 2);
      const { assetPositions } = await bot.info.clearinghouseState({ user: bot.address });
      const szi = assetPositions[0]?.position.szi ?? '';
      expect(await bot.order(sell(szi, { r: true }))).toMatchObject(FILLED);
      await noTrade(bot.trader);
    });

    flow('flips a position', async () => {
      const bot = await newBot(version);
      await bot.order(buy('0.1'));
      expect(await bot.order(sell('0.3'))).toMatchObject(FILLED);
      expect(sizeOf(await onlyTrade(bot.trader, ({ long }) => !long))).toBeCloseTo(0.2, 2);
    });

    flow('rests a limit order', async () => {
      const bot = await newBot(version);
      await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc') }));
      const trade = await onlyTrade(bot.trader, ({ tradeType }) => tradeType === 1);
      expect(trade.openPrice).toBeLessThanOrEqual(chainPrice(50_000));
      expect(sizeOf(trade)).toBeCloseTo(0.1, 2);
    });

    flow('places a post-only order', async () => {
      const bot = await newBot(version);
      await bot.rest(buy('0.1', { p: '50000', t: limit('Alo') }));
      await expect(bot.order(buy('0.1', { p: '62000', t: limit('Alo') }))).rejects.toThrow(
        'Post only order would have immediately matched',
      );
      await onlyTrade(bot.trader, ({ tradeType }) => tradeType === 1);
    });

    flow('protects a position with stop loss and take profit', async () => {
      const bot = await newBot(version);
      await bot.order(buy('0.1'));
      await bot.rest(sell('0.1', { r: true, p: '50000', t: trigger(55_000, 'sl') }));
      await bot.rest(sell('0.1', { r: true, p: '70000', t: trigger(70_000, 'tp') }));
      await onlyTrade(bot.trader, ({ sl, tp }) => sl === chainPrice(55_000) && tp === chainPrice(70_000));
      bench.sandbox.controls.prices.jump(BTC, '54000');
      try {
        await noTrade(bot.trader);
      } finally {
        bench.sandbox.controls.prices.jump(BTC, String(PRICE));
      }
      const fills = await eventually(
        () => bot.info.userFills({ user: bot.address }),
        ({ length }) => length === 2,
      );
      expect(fills[0]).toMatchObject({ dir: 'Close Long', side: 'A' });
    });

    flow('enters with a stop', async () => {
      const bot = await newBot(version);
      await bot.rest(buy('0.1', { p: '66000', t: trigger(65_000, 'sl') }));
      await onlyTrade(bot.trader, ({ tradeType, openPrice }) => tradeType === 2 && openPrice >= chainPrice(64_000));
    });

    flow('opens with stop loss and take profit attached', async () => {
      const bot = await newBot(version);
      const children = [
        sell('0.1', { r: true, p: '70000', t: trigger(70_000, 'tp') }),
        sell('0.1', { r: true, p: '50000', t: trigger(55_000, 'sl') }),
      ];
      const { response } = await bot.exchange.order({ orders: [buy('0.1'), ...children], grouping: 'normalTpsl' });
      expect(response.data.statuses).toMatchObject([FILLED, 'waitingForTrigger', 'waitingForTrigger']);
      await onlyTrade(bot.trader, ({ sl, tp }) => sl === chainPrice(55_000) && tp === chainPrice(70_000));
    });

    flow('changes an order', async () => {
      const bot = await newBot(version);
      const oid = await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc') }));
      const changed = buy('0.2', { p: '48000', t: limit('Gtc') });
      expect(await bot.exchange.modify({ oid, order: changed })).toEqual(DONE);
      const trade = await onlyTrade(bot.trader, ({ openPrice }) => openPrice <= chainPrice(48_000));
      expect(sizeOf(trade)).toBeCloseTo(0.2, 2);
      const [open] = await eventually(
        () => bot.info.openOrders({ user: bot.address }),
        ([first]) => first?.limitPx === '48000.0',
      );
      const { response } = await bot.exchange.batchModify({
        modifies: [{ oid: open?.oid ?? 0, order: buy('0.2', { p: '47000', t: limit('Gtc') }) }],
      });
      expect(response.data.statuses).toMatchObject([{ resting: { oid: expect.any(Number) } }]);
      await onlyTrade(bot.trader, ({ openPrice }) => openPrice <= chainPrice(47_000));
    });

    flow('cancels by id', async () => {
      const bot = await newBot(version);
      const o = await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc') }));
      const { response } = await bot.exchange.cancel({ cancels: [{ a: BTC, o }] });
      expect(response.data.statuses).toEqual(['success']);
      await noTrade(bot.trader);
      await expect(bot.exchange.cancel({ cancels: [{ a: BTC, o }] })).rejects.toThrow('never placed, already canceled, or filled');
    });

    flow('cancels by cloid', async () => {
      const bot = await newBot(version);
      const c = newCloid();
      await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc'), c }));
      expect((await bot.info.orderStatus({ user: bot.address, oid: c })).status).toBe('order');
      const { response } = await bot.exchange.cancelByCloid({ cancels: [{ asset: BTC, cloid: c }] });
      expect(response.data.statuses).toEqual(['success']);
      await noTrade(bot.trader);
    });

    flow('cancels at a time set before', async () => {
      const bot = await newBot(version);
      await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc') }));
      await onlyTrade(bot.trader);
      expect(await bot.exchange.scheduleCancel({ time: Date.now() + 20_000 })).toEqual(DONE);
      await noTrade(bot.trader);
    });

    flow('sets the leverage', async () => {
      const bot = await newBot(version);
      expect(await bot.exchange.updateLeverage({ asset: BTC, isCross: false, leverage: 25 })).toEqual(DONE);
      await bot.order(buy('0.1'));
      await onlyTrade(bot.trader, ({ leverage }) => leverage === 25_000);
      const { leverage } = await bot.info.activeAssetData({ user: bot.address, coin: 'BTC' });
      expect(leverage).toMatchObject({ type: 'isolated', value: 25 });
    });

    flow('changes the margin', async () => {
      const bot = await newBot(version);
      await bot.exchange.updateLeverage({ asset: BTC, isCross: false, leverage: 10 });
      await bot.order(buy('0.1'));
      const { collateralAmount: before } = await onlyTrade(bot.trader);
      expect(await bot.exchange.updateIsolatedMargin({ asset: BTC, isBuy: true, ntli: 300_000_000 })).toEqual(DONE);
      const { collateralAmount: more } = await onlyTrade(bot.trader, (trade) => trade.collateralAmount > before);
      expect(more - before).toBeLessThanOrEqual(300_000_000n);
      expect(await bot.exchange.updateIsolatedMargin({ asset: BTC, isBuy: true, ntli: -200_000_000 })).toEqual(DONE);
      await onlyTrade(bot.trader, (trade) => trade.collateralAmount < more);
    });

    flow('reads balances and positions', async () => {
      const bot = await newBot(version);
      await bot.order(buy('0.1'));
      const trade = await onlyTrade(bot.trader);
      const state = await bot.info.clearinghouseState({ user: bot.address });
      expect(Number(state.withdrawable)).toBe(Number(await bot.trader.usdc()) / 1e6);
      expect(state.assetPositions).toHaveLength(1);
      expect(Number(state.assetPositions[0]?.position.szi)).toBeCloseTo(sizeOf(trade), 4);
      expect(Number(state.assetPositions[0]?.position.entryPx)).toBeCloseTo(Number(trade.openPrice) / 1e10, 0);
      expect(Number(state.marginSummary.accountValue)).toBeGreaterThan(99_000);
    });

    flow('reads open orders and the status of an order', async () => {
      const bot = await newBot(version);
      const cloid = newCloid();
      const oid = await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc'), c: cloid }));
      expect(await bot.info.openOrders({ user: bot.address })).toMatchObject([{ oid, coin: 'BTC', side: 'B', limitPx: '50000.0', cloid }]);
      expect(await bot.info.frontendOpenOrders({ user: bot.address })).toMatchObject([{ oid, orderType: 'Limit', tif: 'Gtc' }]);
      expect(await bot.info.orderStatus({ user: bot.address, oid })).toMatchObject({ order: { status: 'open', order: { oid } } });
      await bot.exchange.cancel({ cancels: [{ a: BTC, o: oid }] });
      expect(await bot.info.orderStatus({ user: bot.address, oid })).toMatchObject({ order: { status: 'canceled' } });
      expect(await bot.info.openOrders({ user: bot.address })).toEqual([]);
      await noTrade(bot.trader);
    });

    flow('reads fills', async () => {
      const bot = await newBot(version);
      const began = Date.now() - 60_000;
      const { filled } = (await bot.order(buy('0.1'))) as { filled: { oid: number; totalSz: string; avgPx: string } };
      const [fill] = await bot.info.userFills({ user: bot.address });
      expect(fill).toMatchObject({ oid: filled.oid, coin: 'BTC', dir: 'Open Long', side: 'B', closedPnl: '0.0' });
      expect([Number(fill?.sz), Number(fill?.px)]).toEqual([Number(filled.totalSz), Number(filled.avgPx)]);
      expect(await bot.info.userFillsByTime({ user: bot.address, startTime: began })).toHaveLength(1);
      expect(sizeOf(await onlyTrade(bot.trader))).toBeCloseTo(Number(fill?.sz), 4);
    });

    flow('has fills that add up to its position', async () => addsUp(await plainBot(version)));
    flow('is filled for no more than it asked', async () => isFilledForNoMore(bench, await plainBot(version)));
    flow('sees a stop loss where the contract moved it', async () => seesMovedStop(await plainBot(version)));
    flow('finds a stop loss among its past orders', async () => findsPastStop(await plainBot(version)));
    flow('trades after 70 seconds of silence', async () => tradesAfterSilence(await plainBot(version)));

    flow('gets the reason of a refused order', async () => {
      const bot = await newBot(version);
      await expect(bot.order(buy('0.0001'))).rejects.toThrow('Order must have minimum value of $10.');
      await expect(bot.order(sell('0.1', { r: true }))).rejects.toThrow('Reduce only order would increase position.');
      await expect(bot.order(buy('0.1', { p: '55000' }))).rejects.toThrow('Order could not immediately match');
      await expect(bot.order(buy('100'))).rejects.toThrow('Insufficient margin to place order.');
      expect(await bot.trader.trades()).toEqual([]);
    });

    flow('cannot move funds', async () => {
      const bot = await newBot(version);
      const transport = httpOf(version);
      const master = new version.clients.ExchangeClient({ transport, wallet: new Wallet(bot.trader.privateKey) });
      const destination = `0x${'11'.repeat(20)}` as const;
      const before = await bot.trader.usdc();
      await expect(master.usdSend({ destination, amount: '1' })).rejects.toThrow('funds never leave the wallet');
      await expect(master.withdraw3({ destination, amount: '1' })).rejects.toThrow('funds never leave the wallet');
      await expect(bot.exchange.vaultTransfer({ vaultAddress: destination, isDeposit: true, usd: 1 })).rejects.toThrow(
        'Vaults are not supported',
      );
      expect(await bot.trader.usdc()).toBe(before);
    });

    flow('streams prices and books', () =>
      overSocket(version, async (transport) => {
        const stream = new version.clients.SubscriptionClient({ transport });
        const latest = { mids: 0, bid: 0, mark: 0, close: 0 };
        await stream.allMids(({ mids }) => (latest.mids = Number(mids['ETH'])));
        await stream.l2Book({ coin: 'ETH' }, ({ levels }) => (latest.bid = Number(levels[0][0]?.px)));
        await stream.activeAssetCtx({ coin: 'ETH' }, ({ ctx }) => (latest.mark = Number(ctx.markPx)));
        await stream.candle({ coin: 'ETH', interval: '1m' }, ({ c }) => (latest.close = Number(c)));
        await eventually(
          () => Object.values(latest),
          (prices) => prices.every((price) => price > 0),
        );
      }),
    );

    flow('streams orders, fills and positions', () =>
      overSocket(version, async (transport) => {
        const bot = await newBot(version);
        const { address: user } = bot;
        const stream = new version.clients.SubscriptionClient({ transport });
        const [statuses, fills]: [string[], string[]] = [[], []];
        let szi = '';
        await stream.orderUpdates({ user }, (updates) => statuses.push(...updates.map(({ status }) => status)));
        await stream.userFills({ user }, (event) => fills.push(...event.fills.map(({ dir }) => dir)));
        await stream.clearinghouseState(
          { user },
          ({ clearinghouseState: { assetPositions } }) => (szi = assetPositions[0]?.position.szi ?? ''),
        );
        await bot.order(buy('0.1'));
        const trade = await onlyTrade(bot.trader);
        await eventually(
          () => [statuses.at(-1), fills.at(-1), szi !== ''],
          ([status, dir, held]) => status === 'filled' && dir === 'Open Long' && held === true,
        );
        expect(Number(szi)).toBeCloseTo(sizeOf(trade), 4);
      }),
    );

    flow('trades over the socket', () =>
      overSocket(version, async (transport) => {
        const bot = await newBot(version);
        const exchange = new version.clients.ExchangeClient({ transport, wallet: new Wallet(bot.agentKey) });
        const { response } = await exchange.order({ orders: [buy('0.1', { p: '50000', t: limit('Gtc') })], grouping: 'na' });
        const [status] = response.data.statuses as { resting: { oid: number } }[];
        await onlyTrade(bot.trader, ({ tradeType }) => tradeType === 1);
        await exchange.cancel({ cancels: [{ a: BTC, o: status?.resting.oid ?? 0 }] });
        await noTrade(bot.trader);
      }),
    );
  });
});

it('takes nothing a client signed a second time', async () => {
  const [version] = VERSIONS;
  if (!version) throw new Error('no version');
  const bot = await newBot(version);
  await bot.rest(buy('0.1', { p: '50000', t: limit('Gtc') }));
  const before = await onlyTrade(bot.trader);
  const [envelope] = bench.proxy.seen.filter(({ type }) => type === 'order').slice(-1);
  const funds = await bot.trader.usdc();
  for (const { definition } of bench.sandbox.controls.chains) {
    const { body } = await postExchange(bench.sandbox.url, definition.slug, envelope?.request);
    expect(body).toEqual({ status: 'err', response: expect.stringMatching(/^(?:Invalid nonce: duplicate nonce|User or API Wallet) /) });
  }
  expect(await bot.trader.trades()).toEqual([before]);
  expect(await bot.trader.usdc()).toBe(funds);
});

it('answers both versions in the shapes they expect', () => expectEveryAnswerFits(bench.proxy));
