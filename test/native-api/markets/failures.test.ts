import { createOnchainConfig } from '../../../core/adapters/evm/market-config/onchain-config.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { MarketConfig } from '../../../core/domain/market.js';
import { createFaultProxy, type FaultProxy } from '../../../sandbox/fault-proxy.js';
import { createUpstream, json, type Upstream } from '../../core/adapters/backend/upstream.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway, type SecondGatewayOptions, type SecondGateway } from '../../harness/venue/second-gateway.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';
import { createShiftedClock, type ShiftedClock } from '../../harness/time/shifted-clock.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const BASE = '/v1/arbitrum-sepolia';
let sandbox: TestVenue;
let clock: ShiftedClock;
let upstream: Upstream;
let beside: SecondGateway | null = null;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());
beforeEach(async () => {
  clock = createShiftedClock();
  upstream = await createUpstream();
});
afterEach(async () => {
  await beside?.stop();
  beside = null;
  await upstream.stop();
});

/** A gateway of the same venue on a clock that can be moved. */
async function start(hosts: SecondGatewayOptions['hosts'] = {}): Promise<SecondGateway> {
  beside = await startSecondGateway(sandbox, { clock, hosts });
  return beside;
}
const status = async (path: string): Promise<number> => (await reply(path)).status;
const reply = async (path: string) => {
  if (!beside) throw new Error('no gateway was started');
  return beside.get(`${BASE}${path}`);
};
const answers = (path: string, wanted: number) =>
  eventually(
    () => status(path),
    (got) => got === wanted,
  );
const venueOf = (gateway: SecondGateway) => {
  const venue = gateway.gateway.venues.get('arbitrum-sepolia');
  if (!venue) throw new Error('no venue');
  return venue;
};
const hostile = () => ({
  backendUrl: upstream.endpoints.backendUrl,
  pricingUrl: upstream.endpoints.pricingUrl,
  globalUrl: upstream.endpoints.globalUrl,
});

describe('before the first configuration', () => {
  it('every market read answers NOT_READY, and the process lives', async () => {
    upstream.handle('/', json({}, 500));
    const gateway = await start({ backendUrl: hostile().backendUrl });
    for (const path of [
      '/markets',
      '/prices',
      '/markets/BTC-USD',
      '/markets/BTC-USD/book',
      '/markets/BTC-USD/funding',
      '/markets/BTC-USD/candles',
      '/markets/BTC-USD/trades',
    ])
      expect((await reply(path)).body).toMatchObject({ code: 'NOT_READY' });
    expect(await status('/markets')).toBe(503);
    expect((await gateway.get('/health')).status).toBe(200);
    expect((await gateway.get('/ready')).status).toBe(503);
  });
});

describe('a price stream that goes silent', () => {
  it('takes the book away after ten seconds, leaves the lists, and gives it back', async () => {
    await start();
    await answers('/markets/BTC-USD/book', 200);
    await sandbox.post('/sandbox/feed', { paused: true });
    try {
      clock.move(11_000);
      await answers('/markets/BTC-USD/book', 503);
      expect((await reply('/markets/BTC-USD/book')).body).toMatchObject({
        code: 'NOT_READY',
        details: { reason: 'the price stream is silent' },
      });
      for (const path of [
        '/markets',
        '/prices',
        '/markets/BTC-USD',
        '/markets/BTC-USD/funding',
        '/markets/BTC-USD/candles',
        '/markets/BTC-USD/trades',
      ])
        expect([path, await status(path)]).toEqual([path, 200]);
    } finally {
      await sandbox.post('/sandbox/feed', { paused: false });
    }
    await answers('/markets/BTC-USD/book', 200);
  });

  it('of one open crypto market alone takes away that market alone', async () => {
    upstream.handle('/charts', json({ time: Date.now(), closes: [60000, 3000], indexPrices: [60000, 3000] }));
    await start({ pricingUrl: hostile().pricingUrl });
    await answers('/markets', 200);
    await eventually(
      () => upstream.sockets.prices.size,
      (size) => size === 1,
    );
    const tick = (prices: number[]) => upstream.send('prices', { m: prices, i: prices, t: clock.now() });
    tick([0, 60000, 1, 3000]);
    await answers('/markets/BTC-USD/book', 200);
    clock.move(61_000);
    await eventually(
      () => upstream.sockets.prices.size,
      (size) => size === 1,
    );
    tick([1, 3001]);
    await answers('/markets/ETH-USD/book', 200);
    const { status: code, body } = await reply('/markets/BTC-USD/book');
    expect([code, body]).toEqual([
      503,
      expect.objectContaining({ code: 'NOT_READY', details: { reason: expect.any(String), market: 'BTC/USD' } }),
    ]);
    tick([0, 60001]);
    await answers('/markets/BTC-USD/book', 200);
  });
});

describe('a market that is shut', () => {
  it('keeps its last price in every read, and says that it is not open', async () => {
    const forex = ['EUR/USD', 'USD/JPY', 'GBP/USD'];
    for (const market of forex) await sandbox.post('/sandbox/market', { market, isOpen: false });
    await start();
    await eventually(
      () => reply('/markets/EUR-USD'),
      ({ body }) => (body as { isOpen?: boolean }).isOpen === false,
    );
    clock.move(9_000);
    await answers('/markets/EUR-USD/book', 200);
    expect((await reply('/markets/EUR-USD')).body).toMatchObject({ isOpen: false });
    for (const market of forex) await sandbox.post('/sandbox/market', { market, isOpen: true });
    await eventually(
      () => reply('/markets/EUR-USD'),
      ({ body }) => (body as { isOpen?: boolean }).isOpen === true,
    );
  });

  it('a crypto market that is switched off is listed, not open, and its book still shown', async () => {
    await start();
    await answers('/markets/AVAX-USD/book', 200);
    await sandbox.post('/sandbox/market', { market: 'AVAX/USD', isOpen: false });
    try {
      await eventually(
        () => reply('/markets/AVAX-USD'),
        ({ body }) => (body as { isOpen?: boolean }).isOpen === false,
      );
      expect(await status('/markets/AVAX-USD/book')).toBe(200);
    } finally {
      await sandbox.post('/sandbox/market', { market: 'AVAX/USD', isOpen: true });
    }
  });
});

describe('a backend whose word is older than two minutes', () => {
  let proxy: FaultProxy;
  beforeEach(async () => {
    proxy = await createFaultProxy({ target: sandbox.controls.chains[0]?.rpcUrl ?? '', clock: systemClock });
  });
  afterEach(() => proxy.close());

  it('is replaced by the chain, with the same figures', async () => {
    const gateway = await start();
    await answers('/markets', 200);
    const before = (await reply('/markets')).body as {
      data: { symbol: string; fees: unknown; maxLeverage: string; collaterals: unknown }[];
    };
    clock.move(130_000);
    await eventually(
      () => venueOf(gateway).feed.status().configFrom,
      (from) => from === 'chain',
    );
    expect(venueOf(gateway).feed.status().parts.config.state).toBe('stale');
    const after = (await reply('/markets')).body as typeof before;
    const figures = ({ data }: typeof before) =>
      data.map(({ symbol, fees, maxLeverage, collaterals }) => ({ symbol, fees, maxLeverage, collaterals }));
    expect(figures(after)).toEqual(figures(before));
    await answers('/markets/BTC-USD/book', 200);
    expect(JSON.stringify((await gateway.get('/ready')).body)).not.toContain('config feed');
  });

  it('and a node that is down leave nothing to stand on', async () => {
    const gateway = await start({ rpcUrls: [proxy.url] });
    await answers('/markets', 200);
    proxy.set({ mode: 'down' });
    clock.move(130_000);
    await answers('/markets', 503);
    expect((await reply('/markets/BTC-USD/book')).body).toMatchObject({ code: 'NOT_READY' });
    expect((await gateway.get('/ready')).status).toBe(503);
    proxy.set({ mode: 'ok' });
    await eventually(
      () => status('/markets'),
      (got) => got === 200,
    );
  });

  it('is read from the chain digit by digit', async () => {
    const [chain] = sandbox.controls.chains;
    const venue = sandbox.gateway.venues.get('arbitrum-sepolia');
    if (!chain || !venue) throw new Error('no chain');
    const trader = await newTrader(chain);
    await trader.open(
      { pairIndex: 1, long: true, leverage: 10_000, openPrice: 3_000n * 10n ** 10n, collateralAmount: 500n * 10n ** 6n },
      60_000,
    );
    await eventually(
      () => trader.pending(),
      (open) => open === 0,
    );
    const onchain = createOnchainConfig({ definition: venue.definition, chain: venue.chain, clock: systemClock, log: createRecordedLog() });
    onchain.need(true);
    try {
      await eventually(
        () => onchain.config(),
        (config) => config !== null,
      );
      // Hours are not on chain, and which windows are listed depends on the moment; everything else is the same.
      const comparable = (config: MarketConfig | null) => ({
        ...config,
        refreshedAt: 0,
        openClasses: null,
        pairs: config?.pairs.map(
          (pair) => pair && { ...pair, windows: pair.windows.filter(({ oiLongUsd, oiShortUsd }) => oiLongUsd + oiShortUsd > 0n) },
        ),
        collaterals: config?.collaterals.map((collateral) =>
          collateral.isActive ? { ...collateral, address: collateral.address.toLowerCase() } : collateral.index,
        ),
      });
      await eventually(
        () => {
          onchain.need(false);
          onchain.need(true);
          return eventually(
            () => onchain.config(),
            (config) => config !== null,
          );
        },
        (config) => print(comparable(config)) === print(comparable(venue.feed.config())),
      );
      expect(comparable(onchain.config())).toEqual(comparable(venue.feed.config()));
    } finally {
      onchain.stop();
    }
  });

  const print = (value: unknown): string => JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
});

describe('an upstream that fails while a client waits', () => {
  it('is named without its address: charts and history', async () => {
    upstream.handle('/', json({}, 500));
    await start({ globalUrl: hostile().globalUrl });
    await answers('/markets', 200);
    const { status: code, body } = await reply('/markets/BTC-USD/trades');
    expect([code, body]).toEqual([502, expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE', details: { upstream: 'history' } })]);
    expect(JSON.stringify(body)).not.toContain('127.0.0.1');
    expect(await status('/markets/BTC-USD/candles')).toBe(200);
  });
});
