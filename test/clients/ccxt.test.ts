import ccxt, { type hyperliquid, type Order } from 'ccxt';
import { eventually } from '../harness/time/eventually.js';
import type { FacadeTrader } from '../harness/traders/facade-trader.js';
import {
  addsUp,
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
  tradesOnceThey,
  type ClientBench,
  type PlainBot,
} from './client-bench.js';
import { describeClient } from './describe-client.js';
import { roundTrips, signalsOf, type Side } from './sample-strategy.js';

let bench: ClientBench;
beforeAll(async () => (bench = await startClientBench()));
afterAll(() => bench.stop());

const SYMBOL = 'BTC/USDC:USDC';
/** Its price moves. */
const ETH = 'ETH/USDC:USDC';

/** The strategy looks for an entry and an exit of each side among the candles of these markets. */
const STRATEGY_SYMBOLS = [ETH, 'SOL/USDC:USDC', 'LINK/USDC:USDC'];
const [STRATEGY_DAYS, STRATEGY_USD] = [10, 2_000];

interface Bot extends FacadeTrader {
  readonly exchange: hyperliquid;
}

const SETTINGS = { enableRateLimit: false, timeout: CLIENT_TIMEOUT_MS };
const open = (credentials: object): hyperliquid =>
  new ccxt.hyperliquid({ ...credentials, ...SETTINGS, urls: { api: { public: bench.base, private: bench.base } } });

const idOf = ({ id }: Order): string => id ?? '';

/** How far the orders of a ladder lie below the price. */
const RUNGS = [0.01, 0.02, 0.03, 0.04];
/** Notional of an order as a share of the balance: together they take two fifths of it at a leverage of three. */
const SHARE = 0.3;
/** A larger change of the size makes grid bots replace an order. */
const TOLERANCE = 0.02;

/** As grid bots do: it sizes its orders by the balance, replaces those whose size no longer fits, and posts what is missing. */
function createLadder(exchange: hyperliquid) {
  const ladder = { posted: 0, canceled: 0, keep };
  async function keep(): Promise<void> {
    const total = Number((await exchange.fetchBalance())['USDC']?.total);
    const open = await exchange.fetchOpenOrders(SYMBOL);
    for (const rung of RUNGS) {
      const limit = PRICE * (1 - rung);
      const size = (total * SHARE) / limit;
      const own = open.find(({ price }) => Math.abs((price ?? 0) - limit) < 1);
      const fits = own !== undefined && Math.abs((own.amount ?? 0) - size) < size * TOLERANCE;
      if (own !== undefined && !fits) {
        ladder.canceled += 1;
        await exchange.cancelOrder(idOf(own), SYMBOL);
      }
      if (fits) continue;
      ladder.posted += 1;
      await exchange.createOrder(SYMBOL, 'limit', 'buy', Number(size.toFixed(3)), limit);
    }
  }
  return ladder;
}

/** The same client with its stream. */
async function streaming(work: (bot: FacadeTrader & { readonly exchange: StreamingHyperliquid }) => Promise<void>): Promise<void> {
  const made = await bench.newBot();
  const api = { public: bench.base, private: bench.base, ws: { public: bench.stream } };
  const exchange = new ccxt.pro.hyperliquid({
    walletAddress: made.address,
    privateKey: made.agentKey,
    ...SETTINGS,
    urls: { api },
  });
  try {
    // It wants this for any stream without TLS.
    await exchange.loadHttpProxyAgent();
    await work({ ...made, exchange });
  } finally {
    await exchange.close();
  }
}

type StreamingHyperliquid = InstanceType<typeof ccxt.pro.hyperliquid>;

async function newBot(): Promise<Bot> {
  const made = await bench.newBot();
  return { ...made, exchange: open({ walletAddress: made.address, privateKey: made.agentKey }) };
}

async function plainBot(): Promise<PlainBot> {
  const bot = await newBot();
  const { exchange } = bot;
  const market = (side: 'buy' | 'sell', size: number): Promise<Order> => exchange.createOrder(SYMBOL, 'market', side, size, PRICE);
  return {
    ...bot,
    buy: (size) => market('buy', size),
    sell: (size) => market('sell', size),
    stopLoss: async (size, price) =>
      idOf(await exchange.createOrder(SYMBOL, 'market', 'sell', size, price, { stopLossPrice: price, reduceOnly: true })),
    cancel: (id) => exchange.cancelOrder(id, SYMBOL),
    fills: async () =>
      (await exchange.fetchMyTrades(SYMBOL)).map(({ order, side, amount }) => ({
        order: order ?? '',
        size: side === 'buy' ? Number(amount) : -Number(amount),
      })),
    position: async () => {
      const [held] = await exchange.fetchPositions([SYMBOL]);
      return (held?.side === 'short' ? -1 : 1) * (held?.contracts ?? 0);
    },
    stopPrice: async (id) => (await exchange.fetchOpenOrders(SYMBOL)).find((order) => order.id === id)?.triggerPrice,
    pastOrders: async () => (await exchange.fetchOrders(SYMBOL)).map(idOf),
  };
}

describeClient({ name: 'ccxt', folder: 'ccxt' }, (flow) => {
  flow('starts up', async () => {
    const { exchange } = await newBot();
    const markets = await exchange.loadMarkets();
    expect(markets[SYMBOL]).toMatchObject({ active: true, swap: true, precision: { amount: 0.00001 }, baseId: '0' });
    expect(bench.proxy.seen.filter(({ endpoint }) => endpoint === 'exchange').map(({ type }) => type)).toEqual(
      expect.arrayContaining(['approveBuilderFee', 'setReferrer']),
    );
    expect((await exchange.fetchStatus()).status).toBe('ok');
  });

  flow('reads markets, books and candles', async () => {
    const { exchange } = await newBot();
    const ticker = await exchange.fetchTicker(SYMBOL);
    expect([ticker.last, ticker.bid, ticker.ask].map((price) => Math.round(Number(price) / 100))).toEqual([600, 600, 600]);
    const { bids, asks } = await exchange.fetchOrderBook(SYMBOL);
    expect(Number(bids[0]?.[0])).toBeLessThan(Number(asks[0]?.[0]));
    expect((await exchange.fetchOHLCV(SYMBOL, '1h', Date.now() - 3 * 3_600_000)).length).toBeGreaterThan(0);
    expect(Object.keys(await exchange.fetchTickers([SYMBOL]))).toEqual([SYMBOL]);
    expect((await exchange.fetchFundingRates([SYMBOL]))[SYMBOL]?.symbol).toBe(SYMBOL);
    expect((await exchange.fetchTradingFee(SYMBOL)).taker).toBeGreaterThan(0);
  });

  flow('opens and closes at the market', async () => {
    const { exchange, trader } = await newBot();
    const opened = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
    expect(opened).toMatchObject({ id: expect.stringMatching(/^\d+$/), filled: expect.any(Number), average: expect.any(Number) });
    expect(sizeOf(await onlyTrade(trader, ({ long }) => long))).toBeCloseTo(Number(opened.filled), 4);
    const [position] = await exchange.fetchPositions([SYMBOL]);
    const closed = await exchange.createOrder(SYMBOL, 'market', 'sell', position?.contracts ?? 0, PRICE, { reduceOnly: true });
    expect(closed.filled).toBe(position?.contracts);
    await noTrade(trader);
  });

  flow('flips a position', async () => {
    const { exchange, trader } = await newBot();
    await exchange.createOrder(SYMBOL, 'market', 'sell', 0.1, PRICE);
    await exchange.createOrder(SYMBOL, 'market', 'buy', 0.3, PRICE);
    expect(sizeOf(await onlyTrade(trader, ({ long }) => long))).toBeCloseTo(0.2, 2);
  });

  flow('rests a limit order', async () => {
    const { exchange, trader } = await newBot();
    const rested = await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000);
    expect(rested.id).toMatch(/^\d+$/);
    const trade = await onlyTrade(trader, ({ tradeType }) => tradeType === 1);
    expect(trade.openPrice).toBeLessThanOrEqual(chainPrice(50_000));
    expect(sizeOf(trade)).toBeCloseTo(0.1, 2);
  });

  flow('places a post-only order', async () => {
    const { exchange, trader } = await newBot();
    await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000, { postOnly: true });
    const crossing = exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 62_000, { postOnly: true });
    await expect(crossing).rejects.toThrow(ccxt.InvalidOrder);
    await onlyTrade(trader, ({ tradeType }) => tradeType === 1);
  });

  flow('protects a position with stop loss and take profit', async () => {
    const { exchange, trader } = await newBot();
    const { filled } = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
    const stop = await exchange.createOrder(SYMBOL, 'market', 'sell', filled ?? 0, 55_000, { stopLossPrice: 55_000, reduceOnly: true });
    await exchange.createOrder(SYMBOL, 'limit', 'sell', filled ?? 0, 70_000, { takeProfitPrice: 70_000, reduceOnly: true });
    await onlyTrade(trader, ({ sl, tp }) => sl === chainPrice(55_000) && tp === chainPrice(70_000));
    await eventually(
      () => exchange.fetchOpenOrders(SYMBOL),
      ({ length }) => length === 2,
    );
    await exchange.cancelOrder(idOf(stop), SYMBOL);
    await onlyTrade(trader, ({ sl, tp }) => sl === 0n && tp === chainPrice(70_000));
  });

  flow('enters with a stop', async () => {
    const { exchange, trader } = await newBot();
    const stop = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, 65_000, { triggerPrice: 65_000 });
    expect(stop.id).toMatch(/^\d+$/);
    await onlyTrade(trader, ({ tradeType }) => tradeType === 2);
  });

  flow('opens with stop loss and take profit attached', async () => {
    const { exchange, trader } = await newBot();
    const attached = { stopLoss: { triggerPrice: 55_000 }, takeProfit: { triggerPrice: 70_000 } };
    const opened = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE, attached);
    expect(opened.filled).toBeCloseTo(0.1, 4);
    await onlyTrade(trader, ({ sl, tp }) => sl === chainPrice(55_000) && tp === chainPrice(70_000));
  });

  flow('changes an order', async () => {
    const { exchange, trader } = await newBot();
    const rested = await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000);
    const changed = await exchange.editOrder(idOf(rested), SYMBOL, 'limit', 'buy', 0.2, 48_000);
    expect(changed.id).not.toBe(rested.id);
    expect(sizeOf(await onlyTrade(trader, ({ openPrice }) => openPrice <= chainPrice(48_000)))).toBeCloseTo(0.2, 2);
    const old = (): Promise<Order> => exchange.fetchOrder(idOf(rested), SYMBOL);
    await eventually(old, ({ status }) => status === 'canceled');
    expect(await exchange.fetchOrder(idOf(changed), SYMBOL)).toMatchObject({ status: 'open', price: 48_000 });
  });

  flow('cancels by id', async () => {
    const { exchange, trader } = await newBot();
    const first = await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000);
    const second = await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 49_000);
    await tradesOnceThey(trader, ({ length }) => length === 2);
    expect((await exchange.cancelOrders([idOf(first), idOf(second)], SYMBOL)).map(({ status }) => status)).toEqual(['success', 'success']);
    await noTrade(trader);
    await expect(exchange.cancelOrder(idOf(first), SYMBOL)).rejects.toThrow(ccxt.OrderNotFound);
  });

  flow('cancels by cloid', async () => {
    const { exchange, trader } = await newBot();
    const clientOrderId = newCloid();
    await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000, { clientOrderId });
    expect(await exchange.fetchOrder('', SYMBOL, { clientOrderId })).toMatchObject({ clientOrderId, status: 'open' });
    await exchange.cancelOrder('', SYMBOL, { clientOrderId });
    await noTrade(trader);
  });

  flow('cancels at a time set before', async () => {
    const { exchange, trader } = await newBot();
    await exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 50_000);
    await onlyTrade(trader);
    await exchange.cancelAllOrdersAfter(7_500);
    await noTrade(trader);
  });

  flow('sets the leverage', async () => {
    const { exchange, trader } = await newBot();
    await exchange.setLeverage(20, SYMBOL);
    await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
    await onlyTrade(trader, ({ leverage }) => leverage === 20_000);
    expect((await exchange.fetchPositions([SYMBOL]))[0]).toMatchObject({ leverage: 20, marginMode: 'cross' });
    await exchange.setMarginMode('isolated', SYMBOL, { leverage: 10 });
    expect((await exchange.fetchPositions([SYMBOL]))[0]).toMatchObject({ marginMode: 'isolated' });
  });

  flow('changes the margin', async () => {
    const { exchange, trader } = await newBot();
    await exchange.setMarginMode('isolated', SYMBOL, { leverage: 10 });
    await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
    const { collateralAmount } = await onlyTrade(trader);
    await exchange.addMargin(SYMBOL, 200);
    const more = await onlyTrade(trader, (trade) => trade.collateralAmount > collateralAmount);
    await exchange.reduceMargin(SYMBOL, 100);
    await onlyTrade(trader, (trade) => trade.collateralAmount < more.collateralAmount);
  });

  flow('reads balances and positions', async () => {
    const { exchange, trader } = await newBot();
    await exchange.createOrder(SYMBOL, 'market', 'sell', 0.1, PRICE);
    const trade = await onlyTrade(trader);
    const { USDC } = await exchange.fetchBalance();
    expect(USDC?.total).toBeCloseTo(100_000, -3);
    expect(USDC?.used).toBeGreaterThan(0);
    expect(USDC?.free).toBeLessThanOrEqual(Number(await trader.usdc()) / 1e6 + 1);
    const [position] = await exchange.fetchPositions();
    expect(position).toMatchObject({ symbol: SYMBOL, side: 'short', leverage: 5 });
    expect(position?.contracts).toBeCloseTo(sizeOf(trade), 4);
    expect(position?.entryPrice).toBeCloseTo(Number(trade.openPrice) / 1e10, 0);
    expect(position?.liquidationPrice).toBeGreaterThan(PRICE);
  });

  flow('keeps a ladder that it sizes by its balance', async () => {
    const { exchange } = await newBot();
    await exchange.setLeverage(3, SYMBOL);
    const ladder = createLadder(exchange);
    for (let round = 0; round < 5; round += 1) await ladder.keep();
    expect([ladder.posted, ladder.canceled]).toEqual([RUNGS.length, 0]);
    const before = await exchange.fetchBalance();
    expect(before['USDC']?.total).toBe(100_000);
    bench.sandbox.controls.prices.jump(0, String(PRICE * 0.985));
    try {
      await eventually(
        () => exchange.fetchPositions([SYMBOL]),
        ([position]) => (position?.contracts ?? 0) > 0,
      );
      expect(ladder.canceled).toBe(0);
    } finally {
      bench.sandbox.controls.prices.jump(0, String(PRICE));
    }
  });

  flow('reads open orders and the status of an order', async () => {
    const { exchange, trader } = await newBot();
    const id = idOf(await exchange.createOrder(SYMBOL, 'limit', 'sell', 0.1, 70_000));
    expect(await exchange.fetchOpenOrders(SYMBOL)).toMatchObject([{ id, side: 'sell', price: 70_000, status: 'open', timeInForce: 'GTC' }]);
    expect(await exchange.fetchOrder(id, SYMBOL)).toMatchObject({ id, status: 'open', amount: 0.1 });
    await exchange.cancelOrder(id, SYMBOL);
    expect(await exchange.fetchOpenOrders(SYMBOL)).toEqual([]);
    expect(await exchange.fetchCanceledOrders(SYMBOL)).toMatchObject([{ id, status: 'canceled' }]);
    await expect(exchange.fetchOrder('4503599627370495', SYMBOL)).rejects.toThrow(ccxt.OrderNotFound);
    await noTrade(trader);
  });

  flow('reads fills', async () => {
    const { exchange, trader } = await newBot();
    const { id, filled, average } = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
    const [fill] = await exchange.fetchMyTrades(SYMBOL);
    expect(fill).toMatchObject({ order: id, side: 'buy', amount: filled, price: average, fee: { currency: 'USDC' } });
    expect(await exchange.fetchMyTrades(SYMBOL, Date.now() - 60_000)).toHaveLength(1);
    expect(await exchange.fetchClosedOrders(SYMBOL)).toMatchObject([{ id, status: 'closed' }]);
    expect(sizeOf(await onlyTrade(trader))).toBeCloseTo(fill?.amount ?? 0, 4);
  });

  flow('has fills that add up to its position', async () => addsUp(await plainBot()));
  flow('is filled for no more than it asked', async () => isFilledForNoMore(bench, await plainBot()));
  flow('sees a stop loss where the contract moved it', async () => seesMovedStop(await plainBot()));
  flow('finds a stop loss among its past orders', async () => findsPastStop(await plainBot()));
  flow('trades after 70 seconds of silence', async () => tradesAfterSilence(await plainBot()));

  flow('gets the reason of a refused order', async () => {
    const { exchange, trader } = await newBot();
    await expect(exchange.createOrder(SYMBOL, 'limit', 'buy', 100, 59_000)).rejects.toThrow(ccxt.InsufficientFunds);
    await expect(exchange.createOrder(SYMBOL, 'market', 'sell', 0.1, PRICE, { reduceOnly: true })).rejects.toThrow(ccxt.InvalidOrder);
    await expect(exchange.createOrder(SYMBOL, 'limit', 'buy', 0.0001, 50_000)).rejects.toThrow(ccxt.InvalidOrder);
    await expect(exchange.createOrder(SYMBOL, 'limit', 'buy', 0.1, 55_000, { timeInForce: 'IOC' })).rejects.toThrow(ccxt.InvalidOrder);
    expect(await trader.trades()).toEqual([]);
  });

  flow('cannot move funds', async () => {
    const { trader, address } = await newBot();
    const master = open({ walletAddress: address, privateKey: trader.privateKey });
    const before = await trader.usdc();
    const other = `0x${'11'.repeat(20)}`;
    await expect(master.withdraw('USDC', 10, other)).rejects.toThrow('funds never leave the wallet');
    await expect(master.transfer('USDC', 10, 'swap', 'spot')).rejects.toThrow('funds never leave the wallet');
    await expect(master.transfer('USDC', 10, 'swap', other)).rejects.toThrow();
    expect(await trader.usdc()).toBe(before);
  });

  flow('streams prices and books', () =>
    streaming(async ({ exchange }) => {
      expect((await exchange.watchTicker(ETH)).last).toBeGreaterThan(0);
      const { bids, asks } = await exchange.watchOrderBook(ETH);
      expect(Number(bids[0]?.[0])).toBeLessThan(Number(asks[0]?.[0]));
      expect((await exchange.watchOHLCV(ETH, '1m')).length).toBeGreaterThan(0);
      expect((await exchange.watchTickers([ETH]))[ETH]).toBeDefined();
    }),
  );

  flow('streams orders, fills and positions', () =>
    streaming(async ({ exchange, trader, address }) => {
      await exchange.loadMarkets();
      const [orders, fills] = [exchange.watchOrders(SYMBOL), exchange.watchMyTrades(SYMBOL)];
      await bench.subscribed(address, 'orderUpdates', 'userFills');
      const { id } = await exchange.createOrder(SYMBOL, 'market', 'buy', 0.1, PRICE);
      expect(await orders).toMatchObject([{ id, symbol: SYMBOL, side: 'buy' }]);
      expect(await fills).toMatchObject([{ order: id, symbol: SYMBOL, side: 'buy' }]);
      const trade = await onlyTrade(trader);
      const [position] = await exchange.watchPositions([SYMBOL]);
      expect(position?.contracts).toBeCloseTo(sizeOf(trade), 4);
      expect((await exchange.watchBalance())['USDC']?.total).toBeCloseTo(100_000, -3);
    }),
  );

  flow('trades over the socket', () =>
    streaming(async ({ exchange, trader }) => {
      const rested = await exchange.createOrderWs(SYMBOL, 'limit', 'buy', 0.1, 50_000);
      await onlyTrade(trader, ({ openPrice }) => openPrice <= chainPrice(50_000));
      const changed = await exchange.editOrderWs(idOf(rested), SYMBOL, 'limit', 'buy', 0.1, 48_000);
      await onlyTrade(trader, ({ openPrice }) => openPrice <= chainPrice(48_000));
      await exchange.cancelOrderWs(idOf(changed), SYMBOL);
      await noTrade(trader);
    }),
  );

  flow('runs a strategy that asks for volume', async () => {
    const { exchange, trader } = await newBot();
    const done = new Set<Side>();
    for (const symbol of STRATEGY_SYMBOLS) {
      const rows = await exchange.fetchOHLCV(symbol, '5m', Date.now() - STRATEGY_DAYS * 86_400_000, 5_000);
      expect(rows.length).toBeGreaterThan(STRATEGY_DAYS * 280);
      for (const side of roundTrips(signalsOf(rows))) {
        if (done.has(side)) continue;
        const [entry, exit] = side === 'long' ? (['buy', 'sell'] as const) : (['sell', 'buy'] as const);
        const last = Number((await exchange.fetchTicker(symbol)).last);
        const amount = Number(exchange.amountToPrecision(symbol, STRATEGY_USD / last));
        await exchange.createOrder(symbol, 'market', entry, amount, last);
        await onlyTrade(trader, ({ long }) => long === (side === 'long'));
        const [position] = await exchange.fetchPositions([symbol]);
        await exchange.createOrder(symbol, 'market', exit, position?.contracts ?? 0, last, { reduceOnly: true });
        await noTrade(trader);
        done.add(side);
      }
    }
    expect([...done].sort()).toEqual(['long', 'short']);
  });
});

it('answers it in the shapes it expects', () => expectEveryAnswerFits(bench.proxy));
