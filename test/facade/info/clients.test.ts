import { HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { SymbolConverter } from '@nktkas/hyperliquid/utils';
import ccxt from 'ccxt';
import type { ChainControls } from '../../../sandbox/controls.js';
import { expectViewEqualsChain, lowerOf } from '../../harness/diamond/chain-checker.js';
import { newTrader, type ChainTrader } from '../../harness/traders/chain-trader.js';
import { price } from '../../harness/diamond/diamond-calls.js';
import { eventually } from '../../harness/time/eventually.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

/** Clients as the registry has them, reading what a trader did without the facade. */

/** How long the clients wait for an answer: their own 10 seconds pass on a busy machine. */
const TIMEOUT_MS = 110_000;

let sandbox: TestVenue;
let chain: ChainControls;
let trader: ChainTrader;
let base: string;
beforeAll(async () => {
  sandbox = await sharedVenue();
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
  base = `${sandbox.url}/hl/arbitrum-sepolia`;
  trader = await newTrader(chain);
  sandbox.controls.prices.jump(0, '60000');
  await trader.open({ openPrice: price(60_000), tp: price(66_000) }, 50_000);
  await eventually(
    () => trader.pending(),
    (pending) => pending === 0,
  );
  await trader.open({ pairIndex: 1, tradeType: 1, openPrice: price(1_000) });
  await expectViewEqualsChain(sandbox.gateway, 'arbitrum-sepolia', trader);
});
afterAll(() => sandbox.stop());

describe('ccxt', () => {
  const BTC = 'BTC/USDC:USDC';
  const open = () =>
    new ccxt.hyperliquid({
      walletAddress: trader.account.address,
      timeout: TIMEOUT_MS,
      enableRateLimit: false, // its pauses between requests, of up to a second, are for the real exchange
      urls: { api: { public: base, private: base } },
    });

  it('loads the markets with their precision', async () => {
    const exchange = open();
    await exchange.loadMarkets();
    expect(exchange.market(BTC)).toMatchObject({
      active: true,
      precision: { amount: 0.00001, price: 1 },
      limits: { leverage: { max: 150 } },
    });
    expect(exchange.market('PAIR5/USDC:USDC').active).toBe(false);
    expect(exchange.market('EURUSD/USDC:USDC').precision).toMatchObject({ amount: 0.1, price: 0.0001 });
  });

  it('reads balance, position, orders and fills', async () => {
    const exchange = open();
    const balance = await exchange.fetchBalance();
    expect(balance['USDC']?.total).toBeGreaterThan(9_800);
    const [position] = await exchange.fetchPositions();
    expect(position).toMatchObject({ symbol: BTC, side: 'long', contracts: 0.01666, leverage: 10 });
    const orders = await exchange.fetchOpenOrders();
    expect(orders.map(({ symbol, side, type }) => `${symbol} ${side} ${type ?? ''}`).sort()).toEqual([
      'BTC/USDC:USDC sell take profit market',
      'ETH/USDC:USDC buy limit',
    ]);
    const limit = orders.find(({ type }) => type === 'limit');
    expect(await exchange.fetchOrder(limit?.id ?? '', limit?.symbol)).toMatchObject({ id: limit?.id, status: 'open', price: 1_000 });
    const [fill] = await exchange.fetchMyTrades();
    expect(fill).toMatchObject({ symbol: BTC, side: 'buy', amount: 0.01666 });
  });

  it('reads book, candles, tickers, fees and the time', async () => {
    const exchange = open();
    const book = await exchange.fetchOrderBook(BTC);
    expect(Number(book.bids[0]?.[0])).toBeLessThan(Number(book.asks[0]?.[0]));
    expect((await exchange.fetchOHLCV(BTC, '1h', Date.now() - 3 * 3_600_000)).length).toBeGreaterThanOrEqual(3);
    const ticker = await exchange.fetchTicker(BTC);
    expect(Number(ticker.bid)).toBeLessThan(Number(ticker.ask));
    expect((await exchange.fetchTradingFee(BTC)).taker).toBe(0.0006);
    expect(await exchange.fetchTime()).toBeGreaterThan(1_700_000_000_000);
    expect((await exchange.fetchStatus()).status).toBe('ok');
  });
});

describe('@nktkas/hyperliquid', () => {
  it('finds the numbers of coins and reads the account', async () => {
    const transport = new HttpTransport({ apiUrl: `${base}/`, timeout: TIMEOUT_MS });
    const symbols = await SymbolConverter.create({ transport });
    expect([symbols.getAssetId('BTC'), symbols.getSzDecimals('BTC'), symbols.getAssetId('kPEPE')]).toEqual([0, 5, 8]);
    const info = new InfoClient({ transport });
    const user = lowerOf(trader);
    const { assetPositions } = await info.clearinghouseState({ user });
    expect(assetPositions.map(({ position: { coin, szi } }) => [coin, szi])).toEqual([['BTC', '0.01666']]);
    const orders = await info.frontendOpenOrders({ user });
    expect(orders).toHaveLength(2);
    for (const { oid } of orders)
      expect(await info.orderStatus({ user, oid })).toMatchObject({ status: 'order', order: { status: 'open' } });
    expect(await info.userFills({ user })).toHaveLength(1);
  });
});
