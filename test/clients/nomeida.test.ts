import { createRequire } from 'node:module';
import { BASE_URLS, Hyperliquid, WSS_URLS, type ClearinghouseState, type OrderRequest, type OrderResponse } from 'hyperliquid';
import { eventually } from '../harness/time/eventually.js';
import type { FacadeTrader } from '../harness/traders/facade-trader.js';
import {
  addsUp,
  chainPrice,
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

let bench: ClientBench;
let restoreGlobal: () => void;
const theirs = { base: BASE_URLS.PRODUCTION, stream: WSS_URLS.PRODUCTION };
beforeAll(async () => {
  // It prints every order, and that Node has no socket of its own.
  Object.assign(console, { log: () => undefined, warn: () => undefined });
  bench = await startClientBench();
  // It has no setting for its address, but these are its own and exported.
  BASE_URLS.PRODUCTION = bench.base;
  WSS_URLS.PRODUCTION = bench.stream;
  // As a module it looks for the socket's package here.
  restoreGlobal = replaceGlobal('require', createRequire(import.meta.url));
});
afterAll(async () => {
  restoreGlobal();
  Object.assign(BASE_URLS, { PRODUCTION: theirs.base });
  Object.assign(WSS_URLS, { PRODUCTION: theirs.stream });
  await bench.stop();
});

const COIN = 'BTC-PERP';
const opened: Hyperliquid[] = [];
afterEach(() => opened.splice(0).forEach((sdk) => sdk.disconnect()));

interface Bot extends FacadeTrader {
  readonly sdk: Hyperliquid;
  readonly order: (order: Partial<OrderRequest>) => Promise<OrderResponse>;
}

function connect(options: object): Hyperliquid {
  const sdk = new Hyperliquid({ enableWs: false, disableAssetMapRefresh: true, ...options });
  opened.push(sdk);
  return sdk;
}

async function newBot(enableWs = false): Promise<Bot> {
  const made = await bench.newBot();
  const sdk = connect({ privateKey: made.agentKey, walletAddress: made.address, enableWs });
  const order: Bot['order'] = (fields) =>
    sdk.exchange.placeOrder({
      coin: COIN,
      is_buy: true,
      sz: 0.1,
      limit_px: 50_000,
      order_type: { limit: { tif: 'Gtc' } },
      reduce_only: false,
      ...fields,
    }) as Promise<OrderResponse>;
  return { ...made, sdk, order };
}

async function plainBot(): Promise<PlainBot> {
  const bot = await newBot();
  const { sdk, order, address } = bot;
  return {
    ...bot,
    buy: (size) => sdk.custom.marketOpen(COIN, true, size),
    sell: (size) => sdk.custom.marketOpen(COIN, false, size),
    stopLoss: async (sz, price) =>
      String(restingOid(await order({ is_buy: false, reduce_only: true, sz, limit_px: price, order_type: trigger(price, 'sl') }))),
    cancel: (id) => sdk.exchange.cancelOrder({ coin: COIN, o: Number(id) }),
    fills: async () =>
      (await sdk.info.getUserFills(address)).map(({ oid, side, sz }) => ({
        order: String(oid),
        size: side === 'buy' ? Number(sz) : -Number(sz),
      })),
    position: async () => Number((await sdk.info.perpetuals.getClearinghouseState(address)).assetPositions[0]?.position.szi ?? 0),
    stopPrice: async (id) => {
      const listed = (await sdk.info.getFrontendOpenOrders(address)).find(({ oid }) => String(oid) === id);
      return listed && Number(listed.triggerPx);
    },
    pastOrders: async () => (await sdk.info.getHistoricalOrders(address)).map(({ order: past }) => String(past.oid)),
  };
}

const statusOf = ({ response }: OrderResponse): unknown => (response as unknown as { data: { statuses: unknown[] } }).data.statuses[0];
const restingOid = (answer: OrderResponse): number => {
  const status = statusOf(answer);
  expect(status).toMatchObject({ resting: { oid: expect.any(Number) } });
  return (status as { resting: { oid: number } }).resting.oid;
};
const FILLED = { filled: { totalSz: expect.any(String), avgPx: expect.any(String), oid: expect.any(Number) } };
const trigger = (triggerPx: number, tpsl: 'tp' | 'sl') => ({ trigger: { triggerPx, isMarket: true, tpsl } });
const DONE = { status: 'ok', response: { type: 'default' } };

describeClient({ name: 'hyperliquid (nomeida)', folder: 'hyperliquid' }, (flow) => {
  flow('starts up', async () => {
    const { sdk } = await newBot();
    await sdk.connect();
    expect((await sdk.custom.getAllAssets()).perp).toEqual(expect.arrayContaining([COIN, 'ETH-PERP']));
    expect(sdk.isAuthenticated()).toBe(true);
  });

  flow('reads markets, books and candles', async () => {
    const { sdk } = await newBot();
    expect(Number((await sdk.info.getAllMids())[COIN])).toBeCloseTo(PRICE, -2);
    const [{ universe }, contexts] = await sdk.info.perpetuals.getMetaAndAssetCtxs();
    expect(universe[0]?.name).toBe(COIN);
    expect(contexts).toHaveLength(universe.length);
    const { levels } = await sdk.info.getL2Book(COIN);
    expect(Number(levels[0][0]?.px)).toBeLessThan(Number(levels[1][0]?.px));
    expect((await sdk.info.getCandleSnapshot(COIN, '1h', Date.now() - 7_200_000, Date.now())).length).toBeGreaterThan(0);
  });

  flow('opens and closes at the market', async () => {
    const { sdk, trader } = await newBot();
    expect(statusOf(await sdk.custom.marketOpen(COIN, true, 0.1))).toMatchObject(FILLED);
    expect(sizeOf(await onlyTrade(trader, ({ long }) => long))).toBeCloseTo(0.1, 2);
    expect(statusOf(await sdk.custom.marketClose(COIN))).toMatchObject(FILLED);
    await noTrade(trader);
  });

  flow('flips a position', async () => {
    const { sdk, trader } = await newBot();
    await sdk.custom.marketOpen(COIN, true, 0.1);
    await sdk.custom.marketOpen(COIN, false, 0.3);
    expect(sizeOf(await onlyTrade(trader, ({ long }) => !long))).toBeCloseTo(0.2, 2);
  });

  flow('rests a limit order', async () => {
    const { order, trader } = await newBot();
    restingOid(await order({}));
    const trade = await onlyTrade(trader, ({ tradeType }) => tradeType === 1);
    expect(trade.openPrice).toBeLessThanOrEqual(chainPrice(50_000));
    expect(sizeOf(trade)).toBeCloseTo(0.1, 2);
  });

  flow('places a post-only order', async () => {
    const { order, trader } = await newBot();
    restingOid(await order({ order_type: { limit: { tif: 'Alo' } } }));
    expect(statusOf(await order({ limit_px: 62_000, order_type: { limit: { tif: 'Alo' } } }))).toEqual({
      error: expect.stringContaining('Post only order would have immediately matched'),
    });
    await onlyTrade(trader, ({ tradeType }) => tradeType === 1);
  });

  flow('protects a position with stop loss and take profit', async () => {
    const { sdk, order, trader } = await newBot();
    await sdk.custom.marketOpen(COIN, true, 0.1);
    const against = { is_buy: false, reduce_only: true };
    const sl = restingOid(await order({ ...against, limit_px: 54_000, order_type: trigger(55_000, 'sl') }));
    restingOid(await order({ ...against, limit_px: 70_000, order_type: trigger(70_000, 'tp') }));
    await onlyTrade(trader, (trade) => trade.sl === chainPrice(55_000) && trade.tp === chainPrice(70_000));
    await eventually(
      () => sdk.info.getUserOpenOrders(trader.account.address),
      ({ length }) => length === 2,
    );
    await sdk.exchange.cancelOrder({ coin: COIN, o: sl });
    await onlyTrade(trader, (trade) => trade.sl === 0n && trade.tp === chainPrice(70_000));
  });

  flow('enters with a stop', async () => {
    const { order, trader } = await newBot();
    restingOid(await order({ limit_px: 66_000, order_type: trigger(65_000, 'sl') }));
    await onlyTrade(trader, ({ tradeType }) => tradeType === 2);
  });

  flow('opens with stop loss and take profit attached', async () => {
    const { sdk, trader } = await newBot();
    const child = { coin: COIN, is_buy: false, sz: 0.1, reduce_only: true };
    const answer = (await sdk.exchange.placeOrder({
      orders: [
        { coin: COIN, is_buy: true, sz: 0.1, limit_px: 63_000, order_type: { limit: { tif: 'Ioc' } }, reduce_only: false },
        { ...child, limit_px: 70_000, order_type: trigger(70_000, 'tp') },
        { ...child, limit_px: 54_000, order_type: trigger(55_000, 'sl') },
      ],
      grouping: 'normalTpsl',
    })) as OrderResponse;
    expect(statusOf(answer)).toMatchObject(FILLED);
    await onlyTrade(trader, ({ sl, tp }) => sl === chainPrice(55_000) && tp === chainPrice(70_000));
  });

  flow('changes an order', async () => {
    const { sdk, order, trader } = await newBot();
    const oid = restingOid(await order({}));
    const changed = {
      coin: COIN,
      is_buy: true,
      sz: 0.2,
      limit_px: 48_000,
      order_type: { limit: { tif: 'Gtc' as const } },
      reduce_only: false,
    };
    expect(await sdk.exchange.modifyOrder(oid, changed)).toEqual(DONE);
    expect(sizeOf(await onlyTrade(trader, ({ openPrice }) => openPrice <= chainPrice(48_000)))).toBeCloseTo(0.2, 2);
  });

  flow('cancels by id', async () => {
    const { sdk, order, trader } = await newBot();
    const o = restingOid(await order({}));
    expect(await sdk.exchange.cancelOrder({ coin: COIN, o })).toMatchObject({ response: { data: { statuses: ['success'] } } });
    await noTrade(trader);
  });

  flow('cancels by cloid', async () => {
    const { sdk, order, trader } = await newBot();
    const cloid = newCloid();
    restingOid(await order({ cloid }));
    expect(await sdk.exchange.cancelOrderByCloid(COIN, cloid)).toMatchObject({ response: { data: { statuses: ['success'] } } });
    await noTrade(trader);
  });

  flow('cancels at a time set before', async () => {
    const { sdk, order, trader } = await newBot();
    restingOid(await order({}));
    await onlyTrade(trader);
    expect(await sdk.exchange.scheduleCancel(Date.now() + 20_000)).toEqual(DONE);
    await noTrade(trader);
  });

  flow('sets the leverage', async () => {
    const { sdk, trader } = await newBot();
    expect(await sdk.exchange.updateLeverage(COIN, 'isolated', 25)).toEqual(DONE);
    await sdk.custom.marketOpen(COIN, true, 0.1);
    await onlyTrade(trader, ({ leverage }) => leverage === 25_000);
  });

  flow('changes the margin', async () => {
    const { sdk, trader } = await newBot();
    await sdk.custom.marketOpen(COIN, true, 0.1);
    const { collateralAmount } = await onlyTrade(trader);
    expect(await sdk.exchange.updateIsolatedMargin(COIN, true, 300_000_000)).toEqual(DONE);
    await onlyTrade(trader, (trade) => trade.collateralAmount > collateralAmount);
  });

  flow('reads balances and positions', async () => {
    const { sdk, trader, address } = await newBot();
    await sdk.custom.marketOpen(COIN, false, 0.1);
    const trade = await onlyTrade(trader);
    const { withdrawable, assetPositions } = await sdk.info.perpetuals.getClearinghouseState(address);
    expect(Number(withdrawable)).toBe(Number(await trader.usdc()) / 1e6);
    expect(assetPositions).toMatchObject([{ position: { coin: COIN } }]);
    expect(-Number(assetPositions[0]?.position.szi)).toBeCloseTo(sizeOf(trade), 4);
  });

  flow('reads open orders and the status of an order', async () => {
    const { sdk, order, trader, address } = await newBot();
    const oid = restingOid(await order({}));
    expect(await sdk.info.getUserOpenOrders(address)).toMatchObject([{ oid, coin: COIN, side: 'buy', limitPx: 50_000 }]);
    expect(await sdk.info.getFrontendOpenOrders(address)).toMatchObject([{ oid, orderType: 'Limit' }]);
    expect(await sdk.info.getOrderStatus(address, oid)).toMatchObject({ order: { status: 'open' } });
    await sdk.custom.cancelAllOrders();
    expect(await sdk.info.getOrderStatus(address, oid)).toMatchObject({ order: { status: 'canceled' } });
    await noTrade(trader);
  });

  flow('reads fills', async () => {
    const { sdk, trader, address } = await newBot();
    await sdk.custom.marketOpen(COIN, true, 0.1);
    const [fill, ...others] = await sdk.info.getUserFills(address);
    expect(fill).toMatchObject({ coin: COIN, side: 'buy', dir: 'Open Long' });
    expect(others).toEqual([]);
    expect(await sdk.info.getUserFillsByTime(address, Date.now() - 60_000, Date.now() + 60_000)).toHaveLength(1);
    expect(sizeOf(await onlyTrade(trader))).toBeCloseTo(Number(fill?.sz), 4);
  });

  flow('has fills that add up to its position', async () => addsUp(await plainBot()));
  flow('is filled for no more than it asked', async () => isFilledForNoMore(bench, await plainBot()));
  flow('sees a stop loss where the contract moved it', async () => seesMovedStop(await plainBot()));
  flow('finds a stop loss among its past orders', async () => findsPastStop(await plainBot()));
  flow('trades after 70 seconds of silence', async () => tradesAfterSilence(await plainBot()));

  flow('gets the reason of a refused order', async () => {
    const { order, trader } = await newBot();
    expect(statusOf(await order({ reduce_only: true, is_buy: false }))).toEqual({
      error: 'Reduce only order would increase position. asset=0',
    });
    expect(statusOf(await order({ sz: 100 }))).toEqual({
      error: expect.stringMatching(/^Insufficient margin to place order\. .* asset=0$/) as string,
    });
    expect(await trader.trades()).toEqual([]);
  });

  flow('cannot move funds', async () => {
    const { trader } = await newBot();
    const master = connect({ privateKey: trader.privateKey });
    const before = await trader.usdc();
    const refused = { status: 'err', response: 'Custody actions are not available: funds never leave the wallet.' };
    expect(await master.exchange.usdTransfer(`0x${'11'.repeat(20)}`, 10)).toEqual(refused);
    expect(await master.exchange.initiateWithdrawal(`0x${'11'.repeat(20)}`, 10)).toEqual(refused);
    expect(await master.exchange.transferBetweenSpotAndPerp(10, true)).toEqual(refused);
    expect(await trader.usdc()).toBe(before);
  });

  flow('streams prices and books', async () => {
    const { sdk } = await newBot(true);
    await sdk.connect();
    const latest = { mid: 0, bid: 0, close: 0 };
    await sdk.subscriptions.subscribeToAllMids((mids) => (latest.mid = Number(mids['ETH-PERP'])));
    await sdk.subscriptions.subscribeToL2Book('ETH-PERP', ({ levels }) => (latest.bid = Number(levels[0][0]?.px)));
    await sdk.subscriptions.subscribeToCandle('ETH-PERP', '1m', ({ c }: { c: unknown }) => (latest.close = Number(c)));
    await eventually(
      () => Object.values(latest),
      (prices) => prices.every((price) => price > 0),
    );
  });

  flow('streams orders, fills and positions', async () => {
    const { sdk, trader, address } = await newBot(true);
    await sdk.connect();
    const [statuses, fills]: [string[], string[]] = [[], []];
    let szi = 0;
    await sdk.subscriptions.subscribeToOrderUpdates(address, (updates) => void statuses.push(...updates.map(({ status }) => status)));
    await sdk.subscriptions.subscribeToUserFills(address, (event) => void fills.push(...event.fills.map(({ dir }) => dir)));
    await sdk.subscriptions.subscribeToWebData2(address, ({ clearinghouseState }) => {
      const { assetPositions } = clearinghouseState as ClearinghouseState;
      szi = Number(assetPositions[0]?.position.szi ?? 0);
    });
    await bench.subscribed(address, 'orderUpdates', 'userFills', 'webData2');
    await sdk.custom.marketOpen(COIN, true, 0.1);
    const trade = await onlyTrade(trader);
    await eventually(
      () => [statuses.at(-1), fills.at(-1), Math.abs(szi - sizeOf(trade)) < 0.0001],
      ([status, dir, isHeld]) => status === 'filled' && dir === 'Open Long' && isHeld === true,
    );
  });

  flow('trades over the socket', async () => {
    const { sdk, trader } = await newBot(true);
    await sdk.connect();
    await sdk.wsPayloads.marketOpen(COIN, true, 0.1);
    await onlyTrade(trader, ({ long }) => long);
    await sdk.wsPayloads.marketClose(COIN);
    await noTrade(trader);
  });
});

it('answers it in the shapes it expects', () => expectEveryAnswerFits(bench.proxy));
