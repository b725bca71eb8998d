import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { INFO_TYPES } from '../../../facade/info/info-handler.js';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { HL_INFO_SCHEMAS } from '../../harness/hyperliquid/info-schemas.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());

interface MetaAnswer {
  universe: { name: string; szDecimals: number; maxLeverage: number; isDelisted?: true }[];
}
interface CtxAnswer {
  prevDayPx: string;
  markPx: string;
  midPx: string | null;
  oraclePx: string;
  openInterest: string;
  impactPxs: [string, string] | null;
}
interface BookAnswer {
  levels: [{ px: string; sz: string }[], { px: string; sz: string }[]];
}
interface CandleAnswer {
  t: number;
  T: number;
  o: string;
  c: string;
  h: string;
  l: string;
}

const decimalsOf = (text: string): number => text.length - text.indexOf('.') - 1;

describe('the universe', () => {
  it('has one row per pair index, and keeps the row of a slot without a pair', async () => {
    const { universe } = await info.ask<MetaAnswer>('meta');
    expect(universe.map(({ name }) => name)).toEqual([
      ...['BTC', 'ETH', 'SOL', 'AVAX', 'LINK', 'PAIR5', 'ARB', 'DOGE', 'kPEPE', 'EURUSD', 'USDJPY', 'GBPUSD'],
      ...['AAPL', 'TSLA', 'SPY', 'QQQ', 'XAU', 'XAG'],
    ]);
    expect(universe.filter(({ isDelisted }) => isDelisted).map(({ name }) => name)).toEqual(['PAIR5']);
  });

  it('counts each market in lots worth about a dollar', async () => {
    const { universe } = await info.ask<MetaAnswer>('meta');
    const lots = new Map(universe.map(({ name, szDecimals }) => [name, szDecimals]));
    expect(['BTC', 'ETH', 'EURUSD', 'USDJPY', 'DOGE', 'kPEPE'].map((coin) => lots.get(coin))).toEqual([5, 4, 1, 3, 0, 0]);
  });

  it('stays as it was listed when a price moves by orders of magnitude', async () => {
    const before = await info.ask<MetaAnswer>('meta');
    sandbox.controls.prices.jump(7, '140');
    await eventually(
      () => info.ask<Record<string, string>>('allMids'),
      (mids) => Number(mids['DOGE']) > 100,
    );
    expect(await info.ask<MetaAnswer>('meta')).toEqual(before);
    sandbox.controls.prices.jump(7, '0.12');
  });

  it.each(['meta', 'metaAndAssetCtxs', 'allMids', 'perpsAtOpenInterestCap', 'openOrders', 'clearinghouseState'])(
    'of another dex is empty: %s',
    async (type) => {
      const answer = await info.ask(type, { dex: 'xyz', user: `0x${'1'.repeat(40)}` });
      expect(JSON.stringify(answer)).not.toContain('BTC');
    },
  );
});

type Interval = readonly [name: string, ms: number];
const INTERVALS: readonly Interval[] = [
  ['3m', 180_000],
  ['1h', 3_600_000],
];
/** `npm run test:slow` charts these too. */
const FURTHER_INTERVALS: readonly Interval[] = [
  ['1m', 60_000],
  ['2h', 7_200_000],
  ['12h', 43_200_000],
  ['1d', 86_400_000],
  ['1w', 7 * 86_400_000],
];

describe('the market reads', () => {
  it('have a price on its tick, whose digits show how fine it is', async () => {
    for (const [pair, price] of [
      [0, '61234.5'],
      [1, '3001.26'],
      [9, '1.08'],
      [8, '0.0000084512'],
    ] as const)
      sandbox.controls.prices.jump(pair, price);
    const mids = await eventually(
      () => info.ask<Record<string, string>>('allMids'),
      (found) => found['BTC']?.startsWith('6123') === true && found['EURUSD'] === '1.0800',
    );
    expect(decimalsOf(mids['BTC'] ?? '')).toBe(1);
    expect(mids['ETH']).toMatch(/^300\d\.\d$/);
    expect(mids['kPEPE']).toMatch(/^0\.0084\d\d$/);
    expect(mids).not.toHaveProperty('PAIR5');
  });

  it('have the price of a day ago from the charts while the gateway is younger than that', async () => {
    const hour = 3_600_000;
    const { ctx, at } = await eventually(
      async () => ({ ctx: (await info.ask<[MetaAnswer, CtxAnswer[]]>('metaAndAssetCtxs'))[1][0], at: Date.now() - 24 * hour }),
      ({ ctx: btc }) => btc?.prevDayPx !== btc?.oraclePx,
    );
    const req = { coin: 'BTC', interval: '1h', startTime: at - 3 * hour, endTime: at };
    const hours = await info.ask<CandleAnswer[]>('candleSnapshot', { req });
    expect(hours.filter(({ T }) => T < at).map(({ c }) => c)).toContain(ctx?.prevDayPx);
  });

  it('give a context for every market, with interest in each that can be traded', async () => {
    const [meta, contexts] = await info.ask<[MetaAnswer, CtxAnswer[]]>('metaAndAssetCtxs');
    contexts.forEach((context, at) => {
      const isDelisted = meta.universe[at]?.isDelisted === true;
      expect(Number(context.openInterest) > 0).toBe(!isDelisted);
      if (isDelisted) return;
      const [bid, ask] = context.impactPxs ?? ['0', '0'];
      expect(Number(bid)).toBeLessThan(Number(ask));
      expect(Number(context.oraclePx) / Number(context.markPx)).toBeCloseTo(1, 3);
    });
  });

  it('show a book of at most twenty levels a side around the price, coarser on demand', async () => {
    const mids = await info.ask<Record<string, string>>('allMids');
    const { levels } = await info.ask<BookAnswer>('l2Book', { coin: 'ETH' });
    const [bids, asks] = levels;
    expect(bids.map(({ px }) => Number(px))).toEqual(bids.map(({ px }) => Number(px)).sort((a, b) => b - a));
    expect(asks.map(({ px }) => Number(px))).toEqual(asks.map(({ px }) => Number(px)).sort((a, b) => a - b));
    expect(Number(asks[0]?.px) / Number(mids['ETH'])).toBeCloseTo(1, 2);
    const coarse = await info.ask<BookAnswer>('l2Book', { coin: 'ETH', nSigFigs: 3 });
    expect(coarse.levels.flat().every(({ px }) => Number(px) % 10 === 0)).toBe(true);
    const fifths = await info.ask<BookAnswer>('l2Book', { coin: 'ETH', nSigFigs: 5, mantissa: 5 });
    expect(fifths.levels.flat().every(({ px }) => Math.round(Number(px) * 10) % 5 === 0)).toBe(true);
    expect(await info.ask('l2Book', { coin: 'NOSUCH' })).toBeNull();
    expect(await info.ask('l2Book', { coin: 'PAIR5' })).toBeNull();
  });

  it.each(process.env['SLOW_TESTS'] === '1' ? [...INTERVALS, ...FURTHER_INTERVALS] : INTERVALS)(
    'chart %s candles without a gap, the last one still forming',
    async (interval, size) => {
      const now = Date.now();
      const req = { coin: 'BTC', interval, startTime: now - 4 * size };
      // A candle that has just begun is there with its first price.
      const candles = await eventually(
        () => info.ask<CandleAnswer[]>('candleSnapshot', { req }),
        (found) => (found.at(-1)?.T ?? 0) >= now,
      );
      expect(candles.length).toBeGreaterThanOrEqual(4);
      expect(candles.length).toBeLessThanOrEqual(5);
      candles.forEach(({ t, T, o, c, h, l }, at) => {
        expect(T).toBe(t + size - 1);
        expect(t).toBe((candles[0]?.t ?? 0) + at * size);
        expect(Number(h)).toBeGreaterThanOrEqual(Math.max(Number(o), Number(c)));
        expect(Number(l)).toBeLessThanOrEqual(Math.min(Number(o), Number(c)));
      });
    },
  );

  it('begin weeks on Mondays and months on their first day', async () => {
    const startTime = Date.now() - 20 * 86_400_000;
    const weeks = await info.ask<CandleAnswer[]>('candleSnapshot', { req: { coin: 'BTC', interval: '1w', startTime } });
    expect(new Set(weeks.map(({ t }) => new Date(t).getUTCDay()))).toEqual(new Set([1]));
    const months = await info.ask<CandleAnswer[]>('candleSnapshot', { req: { coin: 'BTC', interval: '1M', startTime } });
    expect(new Set(months.map(({ t }) => new Date(t).getUTCDate()))).toEqual(new Set([1]));
    expect(months.every(({ t, T }) => new Date(T + 1).getUTCDate() === 1 && T > t)).toBe(true);
  });

  it('give the newest five thousand candles where more are asked for, and none of an unknown coin', async () => {
    const candles = await info.ask<CandleAnswer[]>('candleSnapshot', { req: { coin: 'BTC', interval: '1m', startTime: 0 } });
    expect(candles.length).toBeGreaterThan(4_990);
    expect(candles.at(-1)?.T).toBeGreaterThan(Date.now() - 120_000);
    expect(await info.ask('candleSnapshot', { req: { coin: 'NOSUCH', interval: '1m', startTime: 0 } })).toEqual([]);
  });
});

describe('the table of info types', () => {
  const user = privateKeyToAddress(generatePrivateKey());
  const fields = {
    coin: 'BTC',
    user,
    builder: user,
    startTime: 0,
    id: 20,
    oid: 1,
    token: 0,
    tokenId: `0x${'0'.repeat(32)}`,
    req: { coin: 'BTC', interval: '1h', startTime: Date.now() - 3_600_000 },
  };

  it('has a description of every answer, and an answer for every description', () =>
    expect([...INFO_TYPES.keys()].sort()).toEqual([...HL_INFO_SCHEMAS.keys()].sort()));

  it.each([...HL_INFO_SCHEMAS.keys()])('answers %s for an unknown address, in the shape it promises', async (type) => {
    await info.ask(type, fields);
  });

  it('says that an account is missing instead of failing', async () => {
    expect(await info.ask('userRole', { user })).toEqual({ role: 'missing' });
    expect(await info.ask('clearinghouseState', { user })).toMatchObject({ withdrawable: '0.0', assetPositions: [] });
    expect(await info.ask('orderStatus', { user, oid: 12345 })).toEqual({ status: 'unknownOid' });
    expect(await info.ask('orderStatus', { user, oid: `0x${'A1'.repeat(16)}` })).toEqual({ status: 'unknownOid' });
  });
});
