import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import { venueOf } from '../../../core/gateway.js';
import { countStored } from '../../../core/indexer/chain-steps.js';
import type { CandleRange, CandleStore } from '../../../core/ports/stores/candles.js';
import { CANDLE_SHAPES, SNAPSHOT_INTERVALS, volumeFloor, type SnapshotInterval } from '../../../facade/info/candles.js';
import { createUniverses, lotOf } from '../../../facade/universe.js';
import { diamondCall, price } from '../../harness/diamond/diamond-calls.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { hlSocket } from '../../harness/hyperliquid/socket.js';
import { eventually } from '../../harness/time/eventually.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { firstChain } from '../../harness/venue/first-chain.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

const CHAIN = 'arbitrum-sepolia';
/** The price of a market that was moved by hand stands still. */
const [LINK, PEPE] = [4, 8];
const DAY_MS = 86_400_000;

interface CandleAnswer {
  readonly t: number;
  readonly T: number;
  readonly i: string;
  readonly o: string;
  readonly c: string;
  readonly v: string;
  readonly n: number;
}

let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());

const settings = () => sandbox.gateway.facade as { floorsCandleVolume: boolean };
const candles = (coin: string, interval: SnapshotInterval, spanMs: number): Promise<CandleAnswer[]> =>
  info.ask<CandleAnswer[]>('candleSnapshot', { req: { coin, interval, startTime: Date.now() - spanMs } });

/** What was really traded: a candle without a trade shows a lot. */
const realVolume = (candle: CandleAnswer | undefined): number => (candle === undefined || candle.n === 0 ? 0 : Number(candle.v));

interface Traded {
  readonly sz: string;
  readonly time: number;
}

/** A wallet that knows nothing of the gateway opens a trade; resolves with it as the market shows it. */
async function trade(coin: string, pairIndex: number, at: string): Promise<Traded> {
  const chain = firstChain(sandbox);
  sandbox.controls.prices.jump(pairIndex, at);
  const trader = await newTrader(chain);
  await trader.open({ pairIndex, openPrice: (price(1) * BigInt(Math.round(Number(at) * 1e6))) / 1_000_000n }, 50_000);
  const address = trader.account.address.toLowerCase();
  const tape = await eventually(
    () => info.ask<(Traded & { users: readonly string[] })[]>('recentTrades', { coin }),
    (trades) => trades.some(({ users }) => users.includes(address)),
  );
  const own = tape.find(({ users }) => users.includes(address));
  if (!own) throw new Error('there is no trade');
  return own;
}

describe('the volume of a candle', () => {
  it.each([
    ['LINK', LINK, '14', 1],
    ['kPEPE', PEPE, '0.00001', 0],
  ] as const)('of %s is what all traders of the contract traded in it, in every interval', async (coin, pairIndex, at, decimals) => {
    const spans = SNAPSHOT_INTERVALS.map((interval) => {
      const { start, next } = CANDLE_SHAPES[interval];
      return [interval, 2 * (next(start(Date.now())) - start(Date.now()))] as const;
    });
    const read = () => Promise.all(spans.map(([interval, span]) => candles(coin, interval, span)));
    const before = await read();
    const { sz, time } = await trade(coin, pairIndex, at);
    const at_ = (list: readonly CandleAnswer[] | undefined) => list?.find(({ t, T }) => t <= time && time <= T);
    const count = (list: readonly CandleAnswer[] | undefined): number => at_(list)?.n ?? 0;
    // The tape shows a trade as soon as its log is read, the candles once it is stored.
    const after = await eventually(read, (lists) => lists.every((list, nth) => count(list) > count(before[nth])));
    spans.forEach((_span, nth) => {
      const [was, is] = [at_(before[nth]), at_(after[nth])];
      expect((is?.n ?? 0) - (was?.n ?? 0)).toBe(1);
      expect(realVolume(is) - realVolume(was)).toBeCloseTo(Number(sz), decimals);
    });
  });

  it('without a trade is one lot, counts no trade, and is no part of the volume of the day', async () => {
    const past = await candles('LINK', '1m', 3 * DAY_MS);
    expect(past.length).toBeGreaterThan(1_000);
    const still = past.filter(({ n }) => n === 0);
    expect(still.length).toBeGreaterThan(past.length - 60);
    expect(new Set(still.map(({ v }) => v))).toEqual(new Set(['0.01']));
    const [meta, contexts] =
      await info.ask<[{ universe: { name: string }[] }, { dayNtlVlm: string; dayBaseVlm: string }[]]>('metaAndAssetCtxs');
    const silent = meta.universe.findIndex(({ name }) => name === 'XAG');
    expect(contexts[silent]).toMatchObject({ dayNtlVlm: '0.0', dayBaseVlm: '0.0' });
    expect((await candles('XAG', '1w', 14 * DAY_MS)).map(({ v }) => Number(v) > 0)).not.toContain(false);
  });

  it('without a trade is zero where the operator wants it so', async () => {
    settings().floorsCandleVolume = false;
    try {
      const still = (await candles('LINK', '1m', DAY_MS)).filter(({ n }) => n === 0);
      expect(new Set(still.map(({ v }) => v))).toEqual(new Set(['0.0']));
    } finally {
      settings().floorsCandleVolume = true;
    }
  });

  it('is zero while the market is closed, and a lot where it was open for a part of the candle', async () => {
    const venue = venueOf(sandbox.gateway, CHAIN);
    const { byCoin } = await createUniverses(sandbox.gateway).of(venue);
    const euro = byCoin.get('EURUSD');
    if (!euro) throw new Error('there is no EURUSD');
    const floored = volumeFloor(sandbox.gateway, venue, euro);
    const [saturday, sunday, monday] = [3, 4, 5].map((day) => Date.UTC(2026, 9, day));
    const shown = (interval: SnapshotInterval, at = 0, hour = 12) =>
      floored(CANDLE_SHAPES[interval], CANDLE_SHAPES[interval].start(at + hour * 3_600_000), undefined).base;
    expect([shown('1m', saturday), shown('1d', saturday), shown('1m', sunday)]).toEqual([0n, 0n, 0n]);
    expect([shown('1m', monday), shown('1d', sunday), shown('1w', saturday)]).toEqual([lotOf(euro), lotOf(euro), lotOf(euro)]);
    const traded = { base: 1n, trades: 1 };
    expect(floored(CANDLE_SHAPES['1m'], monday ?? 0, traded)).toEqual({ base: lotOf(euro), trades: 1 });
    expect(floored(CANDLE_SHAPES['1m'], saturday ?? 0, traded)).toEqual(traded);
  });

  it('is left out of the candles of the native API', async () => {
    const { body } = await sandbox.get(`/v1/${CHAIN}/markets/LINK%2FUSD/candles?interval=1m`);
    const [candle] = (body as { data: object[] }).data;
    expect(Object.keys(candle ?? {}).sort()).toEqual(['close', 'high', 'low', 'open', 'time']);
  });
});

describe('the stream of candles', () => {
  /** The stretches of LINK whose volume is read meanwhile. */
  async function volumesRead(work: () => Promise<unknown>): Promise<CandleRange[]> {
    const store = sandbox.gateway.store.candles as { volumes: CandleStore['volumes'] };
    const { volumes } = store;
    const ranges: CandleRange[] = [];
    store.volumes = (range) => {
      if (range.pairIndex === LINK) ranges.push(range);
      return volumes(range);
    };
    try {
      await work();
      return ranges;
    } finally {
      store.volumes = volumes;
    }
  }

  /** As after more executions than are counted at once: those of LINK are stored, and no minute has them. */
  async function uncount(): Promise<void> {
    const { db } = sandbox.gateway.store as KnexStore;
    const ofLink = `chain = ? and is_fill and event -> 'terms' ->> 'pairIndex' = ?`;
    await db.transaction(async (trx) => {
      await trx.raw(`update chain_events set counted = false where ${ofLink}`, [CHAIN, String(LINK)]);
      await trx('market_minutes').where({ chain: CHAIN, pair_index: LINK }).delete();
    });
  }

  it('reads no more than a day after a trade, however long the candle is', async () => {
    const socket = await hlSocket(sandbox.url);
    try {
      await socket.subscribe('candle', { coin: 'LINK', interval: '1M' });
      const { n } = await socket.find<CandleAnswer>('candle', ({ i }) => i === '1M');
      const ranges = await volumesRead(async () => {
        await trade('LINK', LINK, '16');
        await socket.find<CandleAnswer>('candle', (shown) => shown.n === n + 1);
      });
      expect(ranges.map(({ from, to }) => (to - from) / DAY_MS)).toEqual([1]);
    } finally {
      await socket.close();
    }
  });

  it('sends a candle again with what is counted after a backlog, without another trade', async () => {
    const { gateway } = sandbox;
    await trade('LINK', LINK, '16');
    const before = await eventually(
      async () => (await candles('LINK', '3d', DAY_MS)).at(-1)?.n ?? 0,
      (n) => n > 0,
    );
    await uncount();
    const socket = await hlSocket(sandbox.url);
    try {
      await socket.subscribe('candle', { coin: 'LINK', interval: '3d' });
      await socket.find<CandleAnswer>('candle', ({ n }) => n === 0);
      const cursor = await gateway.store.tracking.cursor(CHAIN);
      if (cursor === null) throw new Error('the chain is not followed');
      expect(await countStored(gateway, venueOf(gateway, CHAIN), cursor)).toBe(false);
      await socket.find<CandleAnswer>('candle', ({ n }) => n === before);
    } finally {
      await socket.close();
    }
  });

  it('counts no trade for a change of leverage, which leaves no backlog either', async () => {
    const chain = firstChain(sandbox);
    const trader = await newTrader(chain);
    await trader.open({ pairIndex: LINK, openPrice: price(16) }, 50_000);
    const [opened] = await eventually(
      () => trader.trades(),
      ({ length }) => length === 1,
    );
    const { account, candles: stored } = sandbox.gateway.store;
    const leverage = Math.round((opened?.leverage ?? 0) / 2);
    await trader.send(chain.definition.diamond, diamondCall('updateLeverage', [opened?.index ?? 0, leverage]));
    await eventually(
      () => account.openPositions(CHAIN, trader.account.address.toLowerCase() as `0x${string}`),
      ([now]) => now?.position.leverage === BigInt(leverage),
    );
    expect(await stored.hasUncounted(CHAIN)).toBe(false);
  });

  it('sends a candle again when its volume changes and its price does not', async () => {
    sandbox.controls.prices.jump(LINK, '15');
    const socket = await hlSocket(sandbox.url);
    try {
      for (const interval of ['1m', '1h', '1M']) await socket.subscribe('candle', { coin: 'LINK', interval });
      const first = await socket.find<CandleAnswer>('candle', ({ i, c }) => i === '1M' && Number(c) === 15);
      const { sz, time } = await trade('LINK', LINK, '15');
      const more = await socket.find<CandleAnswer>('candle', ({ i, n }) => i === '1M' && n === first.n + 1);
      expect([more.t, more.c]).toEqual([first.t, first.c]);
      expect(realVolume(more) - realVolume(first)).toBeCloseTo(Number(sz), 1);
      const minute = await socket.find<CandleAnswer>('candle', ({ i, t, T, n }) => i === '1m' && t <= time && time <= T && n > 0);
      expect(Number(minute.v)).toBeGreaterThanOrEqual(Number(sz));
    } finally {
      await socket.close();
    }
  });
});
