import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { hlSocket, type HlSocket } from '../../harness/hyperliquid/socket.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let info: HlInfo;
let socket: HlSocket;

beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
  socket = await hlSocket(sandbox.url);
});
afterAll(async () => {
  await socket.close();
  await sandbox.stop();
});

describe('the stream of markets', () => {
  it('sends all mids, and again when a price changes', async () => {
    await socket.subscribe('allMids');
    await socket.find<{ mids: Record<string, string> }>('allMids');
    sandbox.controls.prices.jump(0, '61234');
    const { mids } = await socket.find<{ mids: Record<string, string>; dex?: string }>(
      'allMids',
      (data) => Math.abs(Number(data.mids['BTC']) / 61_234 - 1) < 0.001,
    );
    expect(Object.keys(mids)).toEqual(Object.keys(await info.ask<object>('allMids')));
    expect(socket.of<object>('allMids').every((data) => !('dex' in data))).toBe(true);
  });

  it('confirms a book with the fields left out, then sends all of it each time', async () => {
    const { data } = await socket.subscribe('l2Book', { coin: 'BTC' });
    expect(data.subscription).toEqual({ type: 'l2Book', coin: 'BTC', nSigFigs: null, mantissa: null });
    await socket.find('l2Book');
    const before = socket.of('l2Book').length;
    sandbox.controls.prices.jump(0, '60000');
    await socket.find<{ levels: { px: string }[][] }>('l2Book', ({ levels }) => Math.abs(Number(levels[0]?.[0]?.px) / 60_000 - 1) < 0.01);
    expect(socket.of('l2Book').length).toBeGreaterThan(before);
  });

  it('sends a coarser book beside the fine one', async () => {
    const other = await hlSocket(sandbox.url);
    await other.subscribe('l2Book', { coin: 'BTC', nSigFigs: 2 });
    const { levels } = await other.find<{ levels: { px: string }[][] }>('l2Book');
    expect(levels.flat().every(({ px }) => Number(px) % 1000 === 0)).toBe(true);
    await other.close();
  });

  it('sends the best bid and ask only when they move', async () => {
    await socket.subscribe('bbo', { coin: 'ETH' });
    await socket.find('bbo');
    sandbox.controls.prices.jump(1, '3210');
    await socket.find<{ bbo: { px: string }[] }>('bbo', ({ bbo }) => Math.abs(Number(bbo[0]?.px) / 3210 - 1) < 0.01);
    const sent = socket.of<{ bbo: unknown }>('bbo').map(({ bbo }) => JSON.stringify(bbo));
    expect(sent.every((bbo, at) => bbo !== sent[at - 1])).toBe(true);
  });

  it('sends candles of every length, those of the charts and those made of them', async () => {
    for (const interval of ['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '12h', '1d', '3d', '1w', '1M']) {
      await socket.subscribe('candle', { coin: 'BTC', interval });
      const candle = await socket.find<{ i: string; s: string; t: number; T: number }>('candle', ({ i }) => i === interval);
      expect(candle.s).toBe('BTC');
      expect(candle.t).toBeLessThan(candle.T);
    }
    sandbox.controls.prices.jump(0, '60500');
    await socket.find<{ i: string; c: string }>('candle', ({ i, c }) => i === '3m' && Math.abs(Number(c) / 60_500 - 1) < 0.001);
  });

  it('sends the trades of other accounts', async () => {
    await socket.subscribe('trades', { coin: 'BTC' });
    const [chain] = sandbox.controls.chains;
    if (!chain) throw new Error('no chain');
    const trader = await newTrader(chain);
    await trader.open({}, 60_500);
    const address = trader.account.address.toLowerCase();
    const isOwn = ({ users }: { readonly users: readonly string[] }): boolean => users.includes(address);
    const trades = await socket.find<{ coin: string; side: string; users: string[] }[]>('trades', (sent) => sent.some(isOwn));
    expect(trades.filter(isOwn)).toMatchObject([{ coin: 'BTC', side: 'B' }]);
  });

  it('sends the figures of one market, of all, and on the fast channel', async () => {
    await socket.subscribe('activeAssetCtx', { coin: 'BTC' });
    const { ctx } = await socket.find<{ ctx: object }>('activeAssetCtx');
    expect(ctx).toHaveProperty('markPx');
    for (const type of ['assetCtxs', 'allDexsAssetCtxs', 'fastAssetCtxs', 'spotAssetCtxs']) {
      await socket.subscribe(type);
      await socket.find(type);
    }
    const { universe } = await info.ask<{ universe: unknown[] }>('meta');
    expect((await socket.find<{ ctxs: unknown[] }>('assetCtxs')).ctxs).toHaveLength(universe.length);
  });

  it.each(['activeAssetCtx', 'activeSpotAssetCtx'])('sends the figures of the spot pair to who asks with %s', async (type) => {
    const own = await hlSocket(sandbox.url);
    await own.subscribe(type, { coin: '@0' });
    const [, [ctx]] = await info.ask<[object, [object]]>('spotMetaAndAssetCtxs');
    expect(await own.find('activeSpotAssetCtx')).toEqual({ coin: '@0', ctx });
    expect(await own.refused(JSON.stringify({ method: 'subscribe', subscription: { type: 'activeSpotAssetCtx', coin: 'BTC' } }))).toMatch(
      /^Invalid subscription /,
    );
    await own.close();
  });

  it('has other dexes, in which nothing is', async () => {
    const other = await hlSocket(sandbox.url);
    await other.subscribe('allMids', { dex: 'xyz' });
    expect(await other.find('allMids')).toEqual({ mids: {}, dex: 'xyz' });
    await other.subscribe('assetCtxs', { dex: 'xyz' });
    expect(await other.find('assetCtxs')).toEqual({ dex: 'xyz', ctxs: [] });
    await other.subscribe('outcomeMetaUpdates');
    await other.close();
  });

  it('sends nothing after an unsubscription', async () => {
    const other = await hlSocket(sandbox.url);
    await other.subscribe('l2Book', { coin: 'ETH' });
    await other.find('l2Book');
    await other.unsubscribe('l2Book', { coin: 'ETH' });
    const before = other.of('l2Book').length;
    sandbox.controls.prices.jump(1, '3300');
    await socket.find<{ bbo: { px: string }[] }>('bbo', ({ bbo }) => Math.abs(Number(bbo[0]?.px) / 3300 - 1) < 0.01);
    expect(other.of('l2Book')).toHaveLength(before);
    await other.close();
  });
});
