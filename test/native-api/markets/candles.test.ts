import { CANDLE_INTERVALS, INTERVAL_MINUTES, type CandleInterval } from '../../../core/domain/candle.js';
import { eventually } from '../../harness/time/eventually.js';
import { startSecondGateway, type SecondGateway } from '../../harness/venue/second-gateway.js';
import { startOwnVenue, type Reply, type TestVenue } from '../../harness/venue/own-venue.js';

let sandbox: TestVenue;
beforeAll(async () => (sandbox = await startOwnVenue()));
afterAll(() => sandbox.stop());

interface Candle {
  readonly time: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
}

const MINUTE = 60_000;
const sizeOf = (interval: CandleInterval) => INTERVAL_MINUTES[interval] * MINUTE;
const path = (query: string, symbol = 'BTC-USD') => `/v1/arbitrum-sepolia/markets/${symbol}/candles${query}`;
const get = (query: string, symbol?: string): Promise<Reply> => sandbox.get(path(query, symbol));
const candles = async (query: string, symbol?: string) => ((await get(query, symbol)).body as { data: Candle[] }).data;

describe('candles', () => {
  it.each(CANDLE_INTERVALS)('of %s come oldest first, on their grid, without doubles', async (interval) => {
    const size = sizeOf(interval);
    const to = Math.floor(Date.now() / size) * size;
    const from = to - 20 * size - 1;
    const list = await candles(`?interval=${interval}&from=${from}&to=${to}`);
    const times = list.map(({ time }) => time);
    expect(times).toEqual(Array.from({ length: 20 }, (_, at) => Math.ceil(from / size) * size + at * size));
    for (const { open, high, low, close } of list) {
      expect(Number(high)).toBeGreaterThanOrEqual(Math.max(Number(open), Number(close)));
      expect(Number(low)).toBeLessThanOrEqual(Math.min(Number(open), Number(close)));
      for (const price of [open, high, low, close]) expect(price).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
    }
  });

  it('of one address are made one list at a time: they wait for others of it, and too many that wait are refused', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const hold = (): Promise<void> => sandbox.gateway.access.expensive.take('127.0.0.1', () => held);
    const [first, asked] = [hold(), get('')];
    await eventually(
      () => sandbox.get('/v1/arbitrum-sepolia/prices'),
      ({ status }) => status === 200,
    );
    const others = Array.from({ length: 19 }, hold);
    const refused = await get('');
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'ip' } });
    release();
    await Promise.all([first, ...others]);
    expect((await asked).status).toBe(200);
  });

  it('are 500 of one hour unless asked otherwise, the running one last', async () => {
    const list = await candles('');
    expect(list).toHaveLength(500);
    expect(list.at(-1)?.time).toBe(Math.floor(Date.now() / 3_600_000) * 3_600_000);
  });

  it('end before `to`, and are whole even where `to` lies inside one', async () => {
    const day = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000;
    const whole = await candles(`?interval=1h&from=${day}&to=${day + 3 * 3_600_000}`);
    expect(whole.map(({ time }) => (time - day) / 3_600_000)).toEqual([0, 1, 2]);
    expect(await candles(`?interval=1h&from=${day + 1}&to=${day + 2 * 3_600_000 + 1}`)).toEqual(whole.slice(1));
  });

  it('of a longer interval are made of the shorter ones', async () => {
    const day = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 86_400_000;
    const [hours, [whole]] = await Promise.all([
      candles(`?interval=1h&from=${day}&to=${day + 86_400_000}`, 'ETH-USD'),
      candles(`?interval=1d&from=${day}&to=${day + 86_400_000}`, 'ETH-USD'),
    ]);
    expect(hours).toHaveLength(24);
    expect(whole).toMatchObject({ time: day, open: hours[0]?.open, close: hours.at(-1)?.close });
    expect(Number(whole?.high)).toBe(Math.max(...hours.map(({ high }) => Number(high))));
    expect(Number(whole?.low)).toBe(Math.min(...hours.map(({ low }) => Number(low))));
  });

  it('are live: the running one closes at the price of now', async () => {
    await sandbox.post('/sandbox/price', { market: 'SOL/USD', price: '171.25' });
    for (const interval of ['1m', '1d'] as const) {
      const last = await eventually(
        async () => (await candles(`?interval=${interval}`, 'SOL-USD')).at(-1),
        (candle) => candle?.close === '171.25',
      );
      expect(Number(last?.high)).toBeGreaterThanOrEqual(171.25);
    }
  });

  it('have no place for hours in which the market is shut', async () => {
    // The Saturday before last, at noon in New York.
    const week = 7 * 86_400_000;
    const saturday = Date.UTC(2026, 10, 14, 17);
    const shut = saturday + (Math.floor((Date.now() - saturday) / week) - 1) * week;
    expect(await candles(`?interval=1h&from=${shut}&to=${shut + 4 * 3_600_000}`, 'AAPL-USD')).toEqual([]);
    expect(await candles(`?interval=1h&from=${shut}&to=${shut + 4 * 3_600_000}`)).toHaveLength(4);
  });

  it('may be 5000 in a call, and a call for more says how to ask', async () => {
    const to = Math.floor(Date.now() / MINUTE) * MINUTE;
    expect(await candles(`?interval=1m&from=${to - 5_000 * MINUTE}&to=${to}`)).toHaveLength(5_000);
    const { status, body } = await get(`?interval=1m&from=${to - 5_001 * MINUTE}&to=${to}`);
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        details: {
          issues: [
            {
              path: 'from',
              message: `asks for 5001 candles of 1m, but a call gives at most 5000; begin at ${to - 5_000 * MINUTE} or later, or take a longer interval`,
            },
          ],
        },
      }),
    ]);
  });

  it.each([
    ['interval=2m', 'interval'],
    ['interval=1H', 'interval'],
    ['from=yesterday', 'from'],
    ['to=-5', 'to'],
    ['from=1.5', 'from'],
    ['from=5&to=5', 'from'],
    ['from=9&to=5', 'from'],
    ['from=99999999999999999999', 'from'],
    ['from=1700000000', 'from'],
    ['interval=1m&interval=5m', 'interval'],
  ])('refuse ?%s and name %s', async (query, name) => {
    const { status, body } = await get(`?${query}`);
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({ code: 'VALIDATION_ERROR', details: { issues: [expect.objectContaining({ path: name })] } }),
    ]);
  });

  it('refuse a parameter they do not know', async () => expect((await get('?start=5')).status).toBe(400));

  it('of the future are none', async () => {
    expect(await candles(`?interval=1m&from=${Date.now() + 600_000}&to=${Date.now() + 1_200_000}`)).toEqual([]);
  });
});

describe('candles while the charts are away', () => {
  let beside: SecondGateway;
  // Prices come from the venue, charts from nowhere.
  beforeAll(async () => {
    beside = await startSecondGateway(sandbox, { hosts: { pricingUrl: 'http://127.0.0.1:9' } });
    await eventually(
      () => beside.get('/v1/arbitrum-sepolia/markets'),
      ({ status }) => status === 200,
    );
  });
  afterAll(() => beside.stop());

  it('come from the database where it misses no minute, whichever gateway wrote them', async () => {
    const minute = Math.floor(Date.now() / MINUTE) * MINUTE - 30 * MINUTE;
    const written = Array.from({ length: 10 }, (_, at) => ({
      ...{
        pairIndex: 2,
        time: minute + at * MINUTE,
        open: 10n ** 12n,
        high: BigInt(at + 101) * 10n ** 10n,
        low: 10n ** 12n,
        close: 10n ** 12n,
      },
      ...{ openAt: minute + at * MINUTE, closeAt: minute + at * MINUTE + 1 },
    }));
    await sandbox.gateway.store.candles.merge('arbitrum-sepolia', written);
    const ask = (from: number, to: number) => beside.get(path(`?interval=1m&from=${from}&to=${to}`, 'SOL-USD'));
    const whole = await ask(minute, minute + 10 * MINUTE);
    expect(whole.status).toBe(200);
    expect((whole.body as { data: Candle[] }).data.map(({ high }) => high)).toEqual(
      Array.from({ length: 10 }, (_, at) => String(at + 101)),
    );
    const gap = await ask(minute, minute + 11 * MINUTE);
    expect([gap.status, gap.body]).toEqual([
      502,
      expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE', details: { upstream: 'charts' } }),
    ]);
  });

  it('are not guessed for a market that may have been shut', async () => {
    const { status, body } = await beside.get(path('?interval=1m', 'AAPL-USD'));
    expect([status, body]).toEqual([502, expect.objectContaining({ code: 'UPSTREAM_UNAVAILABLE', details: { upstream: 'charts' } })]);
  });
});
