import { aggregate, intervalMs, MINUTE_MS, type Candle, type CandleInterval } from '../../../../core/domain/candle.js';
import { GatewayError } from '../../../../core/errors.js';
import { until } from '../../../harness/time/eventually.js';
import { createRig, whileWaiting, type Rig } from './harness.js';
import { json, type Handler } from './upstream.js';

const HOUR = 3_600_000;
/** As far back as this upstream knows anything. */
const REMEMBERED = 30 * 24 * HOUR;
const UNAVAILABLE = { code: 'UPSTREAM_UNAVAILABLE', upstream: 'charts' };

/** A price for every minute; the upstream serves it in the resolution that is asked for. */
const wave = (minute: number): number => 100 + (minute % 97) + (minute % 7) / 8;
const minuteAt = (time: number): Candle => {
  const units = BigInt(Math.round(wave(time / MINUTE_MS) * 1000)) * 10n ** 7n;
  return { time, open: units, high: units + 5n * 10n ** 9n, low: units - 5n * 10n ** 9n, close: units };
};
const series = (from: number, to: number): Candle[] =>
  Array.from({ length: Math.max(0, (to - from) / MINUTE_MS) }, (_, at) => minuteAt(from + at * MINUTE_MS));
const human = (units: bigint): number => Number(units) / 1e10;

interface Asked {
  readonly pairIndex: number;
  readonly from: number;
  readonly to: number;
  readonly minutes: number;
}
const parse = (url = ''): Asked => {
  const [, , pairIndex, from, to, minutes] = url.split('/').map(Number);
  return { pairIndex: pairIndex ?? -1, from: (from ?? 0) * 1000, to: (to ?? 0) * 1000, minutes: minutes ?? 0 };
};

describe('history of the charts', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await createRig();
    serve();
  });
  afterEach(() => rig.stop());

  const asked = (): Asked[] => rig.upstream.requests.filter((path) => path.startsWith('/charts/')).map(parse);
  const answer = (refuse: (asked: Asked) => Handler | null, unit: 's' | 'ms' = 'ms'): Handler => {
    return (request, response) => {
      const query = parse(request.url);
      const size = query.minutes * MINUTE_MS;
      const oldest = Math.max(query.from, rig.clock.now() - REMEMBERED);
      const candles = aggregate(series(oldest - (oldest % size), Math.min(query.to, rig.clock.now())), size);
      const table = candles.map(({ time, ...prices }) => ({
        time: unit === 's' ? time / 1000 : time,
        ...Object.fromEntries(Object.entries(prices).map(([key, value]) => [key, human(value)])),
      }));
      (refuse(query) ?? json({ table }))(request, response);
    };
  };
  const serve = (refuse: (asked: Asked) => Handler | null = () => null, unit: 's' | 'ms' = 'ms'): void => {
    rig.upstream.handle('/charts/', answer(refuse, unit));
  };
  const ask = async (interval: CandleInterval, from: number, to: number): Promise<unknown> => {
    try {
      return (await rig.feed.candles({ pairIndex: 0, interval, from, to })).candles;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { code, details } = error as GatewayError;
      return { code, ...details };
    }
  };
  /** The same, while the feed's pause before its second try passes. */
  const askPatiently = async (interval: CandleInterval, from: number, to: number): Promise<unknown> => {
    return whileWaiting(rig, ask(interval, from, to));
  };
  const now = () => rig.clock.now();

  it.each<CandleInterval>(['1m', '5m', '15m', '30m', '1h', '4h', '1d'])('are given in %s', async (interval) => {
    const size = intervalMs(interval);
    const [from, to] = [now() - (now() % size) - 20 * size, now() - (now() % size)];
    expect(await ask(interval, from, to)).toEqual(aggregate(series(from, to), size));
    expect(new Set(asked().map(({ minutes }) => minutes * MINUTE_MS))).toEqual(new Set([size]));
  });

  it('are read in seconds as well as in ms', async () => {
    serve(() => null, 's');
    const from = now() - HOUR;
    expect(await ask('5m', from, now())).toEqual(aggregate(series(from, now()), 5 * MINUTE_MS));
  });

  it.each<[string, (asked: Asked) => Handler | null]>([
    ['400', ({ minutes }) => (minutes > 15 ? json({ error: 'resolution' }, 400) : null)],
    ['404', ({ minutes }) => (minutes > 15 ? json({}, 404) : null)],
    [
      'candles of another resolution',
      ({ minutes }) =>
        minutes > 15 ? json({ table: [{ time: now() - (now() % HOUR) + 300_000, open: 1, high: 1, low: 1, close: 1 }] }) : null,
    ],
  ])('are built from the largest divisor that works where a resolution is refused with %s, and it is remembered', async (_, refuse) => {
    serve(refuse);
    const [from, to] = [now() - (now() % HOUR) - 10 * HOUR, now() - (now() % HOUR)];
    expect(await ask('1h', from, to)).toEqual(aggregate(series(from, to), HOUR));
    expect(asked().map(({ minutes }) => minutes)).toEqual([60, 30, 15]);
    expect(await ask('1h', from - 200 * HOUR, to - 200 * HOUR)).toEqual(aggregate(series(from - 200 * HOUR, to - 200 * HOUR), HOUR));
    expect(asked().map(({ minutes }) => minutes)).toEqual([60, 30, 15, 15]);
  });

  it('do not blame a resolution for a market that is unknown', async () => {
    serve(({ pairIndex }) => (pairIndex === 9 ? json({}, 404) : null));
    await expect(rig.feed.candles({ pairIndex: 9, interval: '1h', from: now() - HOUR, to: now() })).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
    });
    await ask('1h', now() - HOUR, now());
    expect(asked().at(-1)).toMatchObject({ pairIndex: 0, minutes: 60 });
  });

  it('keep gaps as they are, mend the order, and drop a broken row', async () => {
    const at = (minute: number) => now() - HOUR + minute * MINUTE_MS;
    const row = (minute: number, price: number) => ({ time: at(minute), open: price, high: price, low: price, close: price });
    const many = Array.from({ length: 12 }, (_, minute) => row(minute + 20, 5));
    rig.upstream.handle('/charts/', json({ table: [row(9, 3), row(2, 2), { ...row(4, 1), open: -1 }, row(9, 4), ...many] }));
    const candles = (await ask('1m', at(0), at(10))) as Candle[];
    expect(candles.map(({ time, high, close }) => [time, high, close])).toEqual([
      [at(2), 20_000_000_000n, 20_000_000_000n],
      [at(9), 40_000_000_000n, 40_000_000_000n],
    ]);
  });

  it.each<[string, Handler]>([
    ['500', json({}, 500)],
    ['503', json({}, 503)],
    ['429', json({}, 429)],
    ['no JSON', (_, response) => void response.end('<html>')],
    ['no table', json({ rows: [] })],
    ['a table that is none', json({ table: 'x' })],
    ['rows that are none', json({ table: [null, 5, {}, []] })],
    ['a broken connection', (_, response) => void response.destroy()],
  ])('that answer %s twice are unavailable', async (_, handler) => {
    rig.upstream.handle('/charts/', handler);
    expect(await askPatiently('1m', now() - HOUR, now())).toEqual(UNAVAILABLE);
    expect(asked()).toHaveLength(2);
  });

  it('that hang are given up after eight seconds, twice', async () => {
    rig.upstream.handle('/charts/', () => undefined);
    const asking = ask('1m', now() - HOUR, now());
    await until(() => asked().length === 1);
    rig.clock.advance(8_000);
    await until(() => rig.upstream.inFlight.now === 0);
    await rig.clock.pass(1_000);
    await until(() => asked().length === 2);
    rig.clock.advance(8_000);
    expect(await asking).toEqual(UNAVAILABLE);
  });

  it('that fail once are asked once more', async () => {
    let failures = 1;
    serve(() => (failures-- > 0 ? json({}, 502) : null));
    const from = now() - HOUR;
    expect(await askPatiently('1m', from, from + 10 * MINUTE_MS)).toEqual(series(from, from + 10 * MINUTE_MS));
  });

  it('that answer with a long Retry-After are not asked again before it is over', async () => {
    rig.upstream.handle('/charts/', (request, response) => {
      response.setHeader('retry-after', '30');
      json({}, 429)(request, response);
    });
    expect(await ask('1m', now() - HOUR, now())).toEqual(UNAVAILABLE);
    expect(asked()).toHaveLength(1);
    rig.clock.advance(29_000);
    expect(await ask('1m', now() - HOUR, now())).toEqual(UNAVAILABLE);
    expect(asked()).toHaveLength(1);
    rig.clock.advance(2_000);
    serve();
    expect(await ask('1m', now() - HOUR, now())).not.toEqual(UNAVAILABLE);
  });

  it('are served from what is at hand for ten times its life while upstream is away', async () => {
    const [from, to] = [now() - HOUR, now() - HOUR / 2];
    const before = await ask('1m', from, to);
    rig.upstream.handle('/charts/', json({}, 500));
    rig.clock.advance(99_000);
    expect(await askPatiently('1m', from, to)).toEqual(before);
    rig.clock.advance(10_000);
    expect(await askPatiently('1m', from, to)).toEqual(UNAVAILABLE);
  });

  it('are asked for once by many who want the same, and again only when they may have moved', async () => {
    const from = now() - HOUR;
    await Promise.all(Array.from({ length: 20 }, (_, at) => ask('1m', from + at * MINUTE_MS, now())));
    const once = asked().length;
    expect(once).toBeLessThanOrEqual(2);
    await ask('1m', from, now());
    expect(asked()).toHaveLength(once);
    rig.clock.advance(11_000);
    await ask('1m', from, now());
    expect(asked().length).toBeGreaterThan(once);
  });

  it('say from which moment on something may be missing', async () => {
    const { knownUntil } = await rig.feed.candles({ pairIndex: 0, interval: '1m', from: now() - HOUR, to: now() });
    expect(now() - knownUntil).toBe(5_000);
    const day = 86_400_000;
    const long = await rig.feed.candles({ pairIndex: 0, interval: '1m', from: now() - 20 * day, to: now() - 19 * day });
    expect(long.knownUntil).toBe(Infinity);
  });

  it('keep no caller waiting in a queue for a host that does not answer', async () => {
    rig.upstream.handle('/charts/', () => undefined);
    const all = Promise.all(
      Array.from({ length: 60 }, (_, at) => ask('1m', now() - (at + 2) * 1000 * MINUTE_MS, now() - (at + 1) * 1000 * MINUTE_MS)),
    );
    await until(() => asked().length === 1);
    const start = now();
    const progress = { isDone: false };
    void all.finally(() => (progress.isDone = true));
    while (!progress.isDone) await rig.clock.pass(1_000);
    expect(now() - start).toBeLessThan(20_000);
    expect(await all).toEqual(Array.from({ length: 60 }, () => UNAVAILABLE));
    expect(asked().length).toBeLessThanOrEqual(4);
  });
});
