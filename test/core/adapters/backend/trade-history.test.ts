import type { MarketTrade } from '../../../../core/domain/market.js';
import { GatewayError } from '../../../../core/errors.js';
import { until } from '../../../harness/time/eventually.js';
import { createRig, whileWaiting, type Rig } from './harness.js';
import { json, type Handler } from './upstream.js';
import { tradingVariables, type Wire } from './wire-fixtures.js';

const PATH = '/api/trading-history/24h';
const hash = (seed: number): string => `0x${seed.toString(16).padStart(64, '0')}`;

describe('the public history', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await createRig();
    await rig.feed.start();
    await until(() => rig.upstream.sockets.events.size === 1);
  });
  afterEach(() => rig.stop());

  const now = () => rig.clock.now();
  const row = (seed: number, over: Wire = {}): Wire => ({
    id: seed,
    date: new Date(now() - seed * 1_000).toISOString(),
    block: 1_000 - seed,
    tx: hash(seed),
    address: '0x1111111111111111111111111111111111111111',
    pair: 'P0/USD',
    action: 'TradeOpenedMarket',
    price: 60_000.5,
    marketPrice: 60_000,
    long: 1,
    size: 100,
    leverage: 25,
    leverageDelta: null,
    collateralDelta: null,
    collateralIndex: 3,
    collateralPriceUsd: 0.9999,
    tradeIndex: 4,
    tradeId: 4,
    isCounterTrade: false,
    pnl: 0,
    pnl_net: 0,
    meta: {},
    ...over,
  });
  const serve = (rows: unknown, status = 200): void => rig.upstream.handle(PATH, json(rows, status));
  const asked = () => rig.upstream.requests.filter((path) => path.startsWith(PATH));
  const recent = async (pairIndex = 0, limit = 100): Promise<unknown> => {
    try {
      return await rig.feed.recentTrades({ pairIndex, limit });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { code: (error as GatewayError).code, ...(error as GatewayError).details };
    }
  };
  const patiently = async (): Promise<unknown> => {
    return whileWaiting(rig, recent());
  };
  const hashes = async (limit?: number) => ((await recent(0, limit)) as MarketTrade[]).map(({ txHash }) => txHash);
  const sendTrade = async (given: Wire): Promise<void> => {
    const block = (rig.feed.block()?.number ?? 0n) + 1n;
    rig.upstream.send('events', { name: 'new-trade-history', ...given });
    rig.upstream.send('events', { name: 'currentBlock', value: Number(block) });
    await until(() => rig.feed.block()?.number === block);
  };

  it('is asked for with the chain id and read in our words', async () => {
    serve([row(1)]);
    expect(await recent()).toEqual([
      expect.objectContaining({
        pairIndex: 0,
        price: 600_005_000_000_000n,
        sizeUsd: 249_975n * 10n ** 16n,
        side: 'long',
        action: 'open',
        at: now() - 1_000,
        txHash: hash(1),
      }),
    ]);
    expect(asked()).toEqual([`${PATH}?chainId=421614`]);
  });

  it.each([
    ['TradeOpenedMarket', 'open'],
    ['TradeOpenedLimit', 'open'],
    ['TradeClosedMarket', 'close'],
    ['TradeClosedTP', 'tp'],
    ['TradeClosedSL', 'sl'],
    ['TradeClosedLIQ', 'liquidation'],
    ['TradeLeverageUpdate', 'leverage'],
    ['TradePosSizeIncrease', 'increase'],
    ['TradePosSizeDecrease', 'decrease'],
  ])('calls %s %s', async (action, word) => {
    serve([row(1, { action })]);
    expect(await recent()).toEqual([expect.objectContaining({ action: word })]);
  });

  it.each<[string, Wire, string]>([
    ['an increase with new collateral', { action: 'TradePosSizeIncrease', collateralDelta: 10, leverageDelta: 20 }, '199.98'],
    ['an increase of leverage alone', { action: 'TradePosSizeIncrease', collateralDelta: 0, leverageDelta: 5 }, '499.95'],
    ['a decrease of collateral', { action: 'TradePosSizeDecrease', collateralDelta: 10, leverageDelta: 0 }, '249.975'],
    ['a decrease of leverage', { action: 'TradePosSizeDecrease', collateralDelta: 0, leverageDelta: 5 }, '499.95'],
    ['a close', { action: 'TradeClosedMarket' }, '2499.75'],
  ])('counts of %s what was traded', async (_, over, usd) => {
    serve([row(1, over)]);
    expect(await recent()).toEqual([expect.objectContaining({ sizeUsd: BigInt(Math.round(Number(usd) * 1000)) * 10n ** 15n })]);
  });

  it.each([
    [true, 'long'],
    ['1', 'long'],
    [0, 'short'],
    ['false', 'short'],
  ])('reads the side %p as %s', async (long, side) => {
    serve([row(1, { long })]);
    expect(await recent()).toEqual([expect.objectContaining({ side })]);
  });

  it('has the trader and the PnL of a trade where the backend gives them', async () => {
    serve([row(1, { action: 'TradeClosedMarket', pnl: -12.5 }), row(2, { address: 'somebody', pnl: null })]);
    const [closed, strange] = (await recent()) as MarketTrade[];
    expect(closed).toMatchObject({ trader: '0x1111111111111111111111111111111111111111', pnlUsd: -12_498_750_000_000_000_000n });
    expect(strange).not.toHaveProperty('trader');
    expect(strange).not.toHaveProperty('pnlUsd');
  });

  it('is newest first, filtered by market, and no longer than asked', async () => {
    serve([row(3), row(1), row(2, { pair: 'P1/USD' }), row(5), row(4)]);
    expect(await hashes()).toEqual([1, 3, 4, 5].map(hash));
    expect(await hashes(2)).toEqual([1, 3].map(hash));
    expect(await recent(3)).toEqual([]);
  });

  it('leaves out what it cannot read', async () => {
    const broken: Wire[] = [
      { price: 0 },
      { price: 'x' },
      { date: 'yesterday' },
      { tx: '0x' },
      { long: 2 },
      { action: 'TradePosPnlRealized' },
    ];
    serve([row(1), ...broken.map((over, at) => row(at + 10, over)), row(30, { size: -1 }), row(31, { pair: 'NO/PE' }), null, 5, 'x']);
    expect(await hashes()).toEqual([hash(1)]);
  });

  it('is kept current by the event stream, each execution once', async () => {
    serve([row(2)]);
    const received: string[] = [];
    rig.feed.on('trade', ({ txHash }) => void received.push(txHash));
    expect(await hashes()).toEqual([hash(2)]);
    await sendTrade(row(1));
    await sendTrade(row(1));
    await sendTrade(row(2));
    expect(await hashes()).toEqual([1, 2].map(hash));
    expect(received).toEqual([hash(1)]);
    // Upstream's history lags behind its stream, then catches up.
    rig.clock.advance(61_000);
    expect(await hashes()).toEqual([1, 2].map(hash));
    serve([row(2), row(1)]);
    rig.clock.advance(61_000);
    expect(new Set(await hashes())).toEqual(new Set([1, 2].map(hash)));
    expect(asked()).toHaveLength(3);
  });

  it('is asked for again when blocks were taken back', async () => {
    serve([row(2)]);
    await recent();
    await sendTrade(row(1));
    rig.upstream.send('events', { name: 'deepReorg', value: null });
    await sendTrade(row(9, { pair: 'NO/PE' }));
    expect(await hashes()).toEqual([hash(2)]);
    expect(asked()).toHaveLength(2);
  });

  it('remembers a bounded number of executions', async () => {
    serve(Array.from({ length: 2_000 }, (_, at) => row(at + 1)));
    expect(await hashes(1_000)).toHaveLength(500);
  });

  it.each<[string, Handler]>([
    ['500', json({}, 500)],
    ['404', json({}, 404)],
    ['429', json({}, 429)],
    ['no JSON', (_, response) => void response.end('{')],
    ['no list', json({ data: [] })],
  ])('is unavailable when upstream answers %s', async (_, handler) => {
    rig.upstream.handle(PATH, handler);
    expect(await patiently()).toEqual({ code: 'UPSTREAM_UNAVAILABLE', upstream: 'history' });
  });

  it('is served from what is at hand for ten minutes while upstream is away', async () => {
    serve([row(1)]);
    const before = await recent();
    rig.upstream.handle(PATH, json({}, 500));
    rig.clock.advance(590_000);
    expect(await patiently()).toEqual(before);
    rig.clock.advance(20_000);
    expect(await patiently()).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
  });

  it('takes a split stock for what it is called', async () => {
    await rig.stop();
    rig = await createRig((at) => {
      const variables = tradingVariables({ lastRefreshed: at });
      const pairs = variables['pairs'] as Wire[];
      return {
        ...variables,
        pairs: pairs.map((pair, index) => (index === 3 ? { ...pair, from: 'TSLA' } : index === 4 ? { ...pair, from: 'TSLA_1' } : pair)),
      };
    });
    await rig.feed.start();
    serve([row(1, { pair: 'TSLA_1/USD' }), row(2, { pair: 'TSLA/USD' })]);
    expect(await recent(4)).toEqual([expect.objectContaining({ txHash: hash(1) })]);
    expect(await recent(3)).toEqual([expect.objectContaining({ txHash: hash(2) })]);
  });
});
