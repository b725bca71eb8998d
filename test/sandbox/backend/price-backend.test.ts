import type { Hex } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { priceUnits } from '../../../sandbox/backend/price-walk.js';
import { SANDBOX_MARKETS } from '../../../sandbox/markets.js';
import { account } from '../../harness/diamond/bare-diamond.js';
import { argsOf, controlCall, diamondCall, price } from '../../harness/diamond/diamond-calls.js';
import { eventually, until } from '../../harness/time/eventually.js';
import { createVenue, listen, type Venue } from './venue.js';

/** A contract is deployed and traded on, on a machine that may be busy. */
const [BTC, BLANK, PEPE, EUR, AAPL, TSLA] = [0, 5, 8, 9, 12, 13];

interface Named {
  readonly name: string;
  readonly value: Record<string, unknown>;
}

describe('the price backend of the sandbox', () => {
  let venue: Venue;
  beforeAll(async () => {
    venue = await createVenue();
  });
  afterAll(() => venue.stop());

  const get = async (path: string): Promise<{ status: number; body: unknown; encoding: string | null }> => {
    const response = await fetch(`${venue.backend.pricingUrl}${path}`);
    return { status: response.status, body: await response.json(), encoding: response.headers.get('content-encoding') };
  };
  const historyOf = async (address: string): Promise<Record<string, unknown>[]> => {
    const { body } = await get('/api/trading-history/24h?chainId=421614');
    return (body as Record<string, unknown>[]).filter((row) => row['address'] === address);
  };
  /** Lets time pass until the feed has seen what it should. */
  const settles = async (condition: () => boolean): Promise<void> => {
    await eventually(
      async () => {
        await venue.clock.pass(250);
        return condition();
      },
      (holds) => holds,
    );
  };

  it("gives the production feed a configuration that is the contract's", async () => {
    const { feed, world } = venue;
    await settles(() => feed.status().ready);
    const config = feed.config();
    expect(config.pairs.map((pair) => (pair ? `${pair.from}/${pair.to}` : null))).toEqual(
      SANDBOX_MARKETS.map((market) => (market ? `${market.from}/${market.to}` : null)),
    );
    expect(config.pairs[TSLA]?.customMaxLeverage).toBe(4_000n);
    expect(config.collaterals.filter(({ isActive }) => isActive).map(({ symbol, index }) => [symbol, index])).toEqual(
      world.collaterals.map(({ symbol, index }) => [symbol, index]),
    );
    const contract = { address: world.diamond, abi: diamondAbi } as const;
    const [above, , bands] = await world.client.readContract({ ...contract, functionName: 'getPairDepthBandsDecoded', args: [0n] });
    expect(config.pairs[BTC]?.depth.above).toEqual({ totalUsd: above, shares: bands.map(BigInt) });
    const usdc = config.collaterals.find(({ symbol }) => symbol === 'USDC');
    const args = [usdc?.index ?? 0, BTC] as const;
    expect(usdc?.pairs[BTC]?.skewDepth).toBe(await world.client.readContract({ ...contract, functionName: 'getPairSkewDepth', args }));
    expect(usdc?.pairs[BTC]?.maxOi).toBe(await world.client.readContract({ ...contract, functionName: 'getPairMaxOi', args }));
    expect(config.marketOrdersTimeoutBlocks).toBe(
      await world.client.readContract({ ...contract, functionName: 'getMarketOrdersTimeoutBlocks' }),
    );
    expect(venue.log.entries.filter(({ event }) => event === 'feed.malformed-elements')).toEqual([]);
  });

  it("gives it the walk's prices, to the last digit", async () => {
    const { feed, walk } = venue;
    await settles(() => feed.status().parts.price.state === 'ok');
    await venue.clock.pass(1_000);
    walk.stop();
    const markets = [...walk.prices().keys()];
    await settles(() => markets.every((pairIndex) => feed.prices().get(pairIndex)?.index === walk.price(pairIndex)));
    walk.start();
    expect(feed.prices().has(BLANK)).toBe(false);
    expect(feed.price(PEPE).index).toBeLessThan(10n ** 6n);
  });

  it('speaks v3 and v4 with a heartbeat every second', async () => {
    const [v3, v4] = [await listen(`${venue.backend.pricingUrl}/v3`), await listen(`${venue.backend.pricingUrl}/v4`)];
    await venue.clock.pass(2_000, 25);
    await until(() => v3.frames.length > 10 && v4.frames.length > 10);
    const flat = v3.frames as number[][];
    expect(flat.every(Array.isArray)).toBe(true);
    expect(flat.filter(({ length }) => length === 1).length).toBeGreaterThanOrEqual(1);
    const { m, i, t } = v4.frames.find((frame) => !Array.isArray(frame)) as { m: number[]; i: number[]; t: number };
    expect(m.length % 2).toBe(0);
    expect(i).toEqual(m);
    expect(venue.clock.now() - t).toBeLessThanOrEqual(2_000);
    v3.close();
    v4.close();
  });

  it('shows a jump at once in the charts and soon to the feed', async () => {
    venue.walk.jump(BTC, priceUnits('41000'));
    const { body } = await get('/charts');
    expect((body as { closes: number[] }).closes[BTC]).toBe(41000);
    expect((body as { closes: unknown[] }).closes[BLANK]).toBeNull();
    await settles(() => venue.feed.prices().get(BTC)?.index === priceUnits('41000'));
    venue.walk.jump(BTC, priceUnits('60000'));
    await settles(() => venue.feed.prices().get(BTC)?.index === priceUnits('60000'));
  });

  it('falls silent when paused, so that the feed knows its prices are stale, and speaks again', async () => {
    venue.walk.jump(BTC, priceUnits('60000'));
    venue.backend.setPaused(true);
    await settles(() => venue.feed.status().parts.price.state === 'stale');
    expect(() => venue.feed.price(BTC)).toThrow('silent');
    venue.backend.setPaused(false);
    await settles(() => venue.feed.status().parts.price.state === 'ok');
    expect(venue.feed.price(BTC).index).toBe(priceUnits('60000'));
  });

  it('closes one market, then its class, and opens them again', async () => {
    const { feed, hours, clock } = venue;
    const sessions = () => [AAPL, TSLA].map((pairIndex) => feed.session(pairIndex, clock.now()));
    hours.set(AAPL, false);
    await settles(() => sessions().join() === 'disabled,open');
    hours.set(TSLA, false);
    await settles(() => sessions().join() === 'closed,closed');
    expect(feed.session(EUR, clock.now())).toBe('open');
    hours.set(AAPL, null);
    hours.set(TSLA, null);
    await settles(() => sessions().join() === 'open,open');
  });

  it('publishes a trade on every channel, and the feed has its exposure', async () => {
    const { world, feed, backend } = venue;
    const events = await listen(backend.backendUrl('arbitrum-sepolia'));
    const trader = await world.fund(account(0x7e57));
    await world.open(trader, price(60_000));
    const named = (name: string) => (events.frames as Named[]).filter((frame) => frame.name === name);
    await settles(() => named('new-trade-history').length === 1 && named('registerTrade').length === 1);
    expect(named('liveEvent').map(({ value }) => value['event'])).toEqual(['MarketOrderInitiated', 'MarketExecuted']);
    expect(named('registerTrade')[0]?.value).toMatchObject({
      trade: { user: trader.address, pairIndex: '0', long: true, leverage: '10000' },
    });
    expect(named('openInterestPairUpdated')[0]?.value).toMatchObject({ collateralIndex: '3', pairIndex: '0' });
    expect(named('currentBlock').length).toBeGreaterThan(0);

    const contract = { address: world.diamond, abi: diamondAbi } as const;
    const { oiLongToken } = await world.client.readContract({ ...contract, functionName: 'getPairOiAfterV10Token', args: [3, BTC] });
    expect(oiLongToken).toBeGreaterThan(0n);
    await settles(() => feed.config().collaterals.find(({ index }) => index === 3)?.pairs[BTC]?.oiToken.long === oiLongToken);
    expect(feed.config().pairs[BTC]?.windows.some(({ oiLongUsd }) => oiLongUsd > 0n)).toBe(true);

    expect(await historyOf(trader.address)).toMatchObject([
      {
        pair: 'BTC/USD',
        action: 'TradeOpenedMarket',
        address: trader.address,
        marketPrice: 60000,
        long: 1,
        size: 100,
        leverage: 10,
        pnl: 0,
      },
    ]);
    const { body: open } = await get(`/open-trades/${trader.address}`);
    expect(open).toMatchObject([
      { trade: { user: trader.address, isOpen: true }, tradeInfo: { contractsVersion: '2' }, tradeFeesData: {} },
    ]);
    expect((await get('/open-trades')).body).toEqual(expect.arrayContaining(open as unknown[]));
    expect((await get(`/arbitrum-sepolia/user-trading-variables/${trader.address}`)).body).toMatchObject({
      pendingMarketOrders: [],
      collaterals: [{ decimals: 18 }, {}, { balance: '9900000000', decimals: 6 }, {}],
    });
    events.close();
  });

  it('keeps the history of what happened to the trade after it was opened', async () => {
    const { world } = venue;
    const trader = await world.fund(account(0x7e58));
    const { index } = await world.open(trader, price(60_000));
    const answered = async (
      data: Hex,
      event: 'LeverageUpdateInitiated' | 'PositionSizeUpdateInitiated' | 'MarketOrderInitiated',
    ): Promise<void> => {
      const { logs } = await world.send(trader, data);
      await world.fulfil(argsOf(logs, event).orderId, price(60_100));
    };
    await answered(diamondCall('increasePositionSize', [index, 100_000_000n, 10_000, price(60_100), 1000]), 'PositionSizeUpdateInitiated');
    await answered(diamondCall('updateLeverage', [index, 8_000]), 'LeverageUpdateInitiated');
    await answered(diamondCall('decreasePositionSize', [index, 20_000_000n, 0, price(60_100)]), 'PositionSizeUpdateInitiated');
    await answered(diamondCall('closeTradeMarket', [index, price(60_100)]), 'MarketOrderInitiated');
    const seen = await eventually(
      async () => {
        await venue.clock.pass(250);
        return historyOf(trader.address);
      },
      ({ length }) => length === 5,
    );
    expect(seen.map(({ action, long, marketPrice }) => [action, long, marketPrice])).toEqual([
      ['TradeClosedMarket', 1, 60100],
      ['TradePosSizeDecrease', 1, 60100],
      ['TradeLeverageUpdate', 1, 60100],
      ['TradePosSizeIncrease', 1, 60100],
      ['TradeOpenedMarket', 1, 60000],
    ]);
    expect(seen[3]).toMatchObject({ size: 200, collateralDelta: 100, leverageDelta: 10 });
    expect(seen[2]).toMatchObject({ leverage: 8 });
    expect(seen[0]?.['pnl']).toBeGreaterThan(0);
    expect((await get(`/open-trades/${trader.address}`)).body).toEqual([]);
  });

  it('follows governance', async () => {
    const { world, feed, clock } = venue;
    await world.control(controlCall('sandboxSetTradingActivated', [1]));
    await settles(() => feed.session(BTC, clock.now()) === 'close_only');
    await world.control(controlCall('sandboxSetTradingActivated', [0]));
    await settles(() => feed.session(BTC, clock.now()) === 'open');
  });

  it('announces a reorganisation and forgets what it undid', async () => {
    const { world, backend, feed } = venue;
    const events = await listen(backend.backendUrl('arbitrum-sepolia'));
    const trader = await world.fund(account(0x7e59));
    const oiLong = () => feed.config().collaterals.find(({ index }) => index === 3)?.pairs[BTC]?.oiToken.long;
    const contract = { address: world.diamond, abi: diamondAbi, functionName: 'getPairOiAfterV10Token', args: [3, BTC] } as const;
    const { oiLongToken: before } = await world.client.readContract(contract);
    await settles(() => oiLong() === before);
    const snapshot = await world.request('evm_snapshot');
    await world.open(trader, price(60_000));
    await settles(() => oiLong() !== before);
    await world.request('evm_revert', [snapshot]);
    await world.mineBlocks(5);
    await settles(() => (events.frames as Named[]).some(({ name }) => name === 'deepReorg'));
    await settles(() => oiLong() === before);
    events.close();
  });

  it('answers like production at the edges', async () => {
    const address = account(0x7e57).address;
    expect(await get(`/open-trades/${address.toLowerCase()}`)).toMatchObject({ status: 400 });
    expect(await get('/trading-variables/groups,pairs,nonsense')).toMatchObject({ status: 200, body: { groups: {}, pairs: {} } });
    expect(Object.keys((await get('/trading-variables/groups')).body as object)).toEqual(['groups']);
    expect((await get('/trading-variables-keys')).body).toEqual(expect.arrayContaining(['pairs', 'collaterals', 'isForexOpen']));
    expect(await get('/trading-variables')).toMatchObject({ status: 200, encoding: 'gzip' });
    expect((await get('/trading-variables/all')).body).toMatchObject({ allTrades: [] });
    expect(await get('/api/trading-history/24h')).toMatchObject({ status: 400 });
    expect(await get('/health')).toMatchObject({ status: 200 });
    for (const path of ['/nonsense', '/charts/0', '/api/trading-history/5h?chainId=421614', '/base/trading-variables'])
      expect(await get(path)).toMatchObject({ status: 404 });
    expect(await get('/charts/0/x/2/3')).toMatchObject({ status: 400 });
  });

  it('has candles of the past from the first moment', async () => {
    const to = Math.floor(venue.clock.now() / 1000);
    const { body } = await get(`/charts/${PEPE}/${to - 3600}/${to}/5`);
    const { table } = body as { table: { time: number; open: number; high: number; low: number; close: number }[] };
    expect(table.length).toBeGreaterThanOrEqual(12);
    expect(table.map(({ time }, at) => time - at * 300_000)).toEqual(table.map(() => table[0]?.time));
    expect(table.every(({ open, high, low, close }) => low > 0 && low <= Math.min(open, close) && high >= Math.max(open, close))).toBe(
      true,
    );
  });
});
