import { createUpstream as createAsker } from '../../../../core/adapters/backend/ask-upstream.js';
import { createBackendFeed } from '../../../../core/adapters/backend/backend-feed.js';
import { createBackoff } from '../../../../core/adapters/backend/socket.js';
import { createHttp, HttpFault } from '../../../../core/adapters/backend/http.js';
import { chainBySlug } from '../../../../core/chains/chains.js';
import { until } from '../../../harness/time/eventually.js';
import { createManualClock } from '../../../harness/time/manual-clock.js';
import { createRig, type Rig } from './harness.js';
import { json, type Handler } from './upstream.js';
import { tradingVariables } from './wire-fixtures.js';

const tooMany =
  (seconds: number, status = 429): Handler =>
  (request, response) => {
    response.setHeader('retry-after', String(seconds));
    json({ error: 'slow down' }, status)(request, response);
  };

describe('a host that answers with Retry-After', () => {
  let rig: Rig;
  beforeEach(async () => (rig = await createRig()));
  afterEach(() => rig.stop());

  const asked = (path: string): number => rig.upstream.requests.filter((one) => one.startsWith(path)).length;
  const retries = () =>
    rig.log.entries.flatMap(({ event, fields }) => (event === 'feed.line-lost' && fields['line'] === 'prices' ? [fields['retryMs']] : []));

  it('is not asked for the charts at every reconnect of a socket that keeps breaking', async () => {
    rig.upstream.handle('/charts', tooMany(60));
    rig.upstream.refuseSockets = true;
    await rig.feed.start();
    const dialled = async (times: number): Promise<void> => {
      await until(() => retries().length === times);
      await rig.clock.pass(Number(retries().at(-1)), Number(retries().at(-1)));
    };
    for (const times of [1, 2, 3, 4, 5]) await dialled(times);
    await until(() => rig.upstream.dials.prices === 6);
    expect(asked('/charts')).toBe(1);
  });

  it('is obeyed when it refuses a socket', async () => {
    rig.upstream.socketRefusal = 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 45\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
    await rig.feed.start();
    await until(() => retries().length === 1);
    expect(retries()).toEqual([45_000]);
    expect(rig.feed.status().parts.price.lastError).toBe('HTTP 429');
    rig.upstream.socketRefusal = null;
    await rig.clock.pass(44_900, 900);
    expect(rig.upstream.dials.prices).toBe(1);
    await rig.clock.pass(200);
    await until(() => rig.upstream.sockets.prices.size === 1);
  });

  it('gets no request at all meanwhile; callers fail at once', async () => {
    const http = createHttp(rig.clock);
    const { signal } = new AbortController();
    const { pricingUrl } = rig.upstream.endpoints;
    const refusal = async (path: string): Promise<unknown> =>
      http
        .getJson(`${pricingUrl}${path}`, signal)
        .catch((error: unknown) => error instanceof HttpFault && [error.status, error.retryAfterMs]);
    rig.upstream.handle('/slow', tooMany(20));
    expect(await refusal('/slow/1')).toEqual([429, 20_000]);
    rig.clock.advance(5_000);
    expect(await Promise.all([refusal('/slow/2'), refusal('/charts')])).toEqual([
      [429, 15_000],
      [429, 15_000],
    ]);
    expect(rig.upstream.requests).toEqual(['/slow/1']);
    rig.clock.advance(15_000);
    expect(await http.getJson(`${pricingUrl}/charts`, signal)).toMatchObject({ closes: expect.any(Array) });
  });

  it('with its refusal of one question is asked the next', async () => {
    const http = createHttp(rig.clock);
    const { signal } = new AbortController();
    const { pricingUrl } = rig.upstream.endpoints;
    rig.upstream.handle('/unknown', tooMany(300, 404));
    await expect(http.getJson(`${pricingUrl}/unknown`, signal)).rejects.toMatchObject({ status: 404 });
    expect(await http.getJson(`${pricingUrl}/charts`, signal)).toMatchObject({ closes: expect.any(Array) });
  });

  it('for longer than five minutes is asked again after five minutes', async () => {
    rig.upstream.handle('/trading-variables/', tooMany(86_400));
    await rig.feed.start();
    await rig.clock.pass(299_000, 10_000);
    expect(asked('/trading-variables')).toBe(1);
    await rig.clock.pass(2_000, 500);
    await until(() => asked('/trading-variables') === 2);
  });

  it('without a number is asked ever more seldom', async () => {
    rig.upstream.handle('/trading-variables/', json({}, 429));
    await rig.feed.start();
    await rig.clock.pass(120_000, 50);
    // 0.25 s, doubled up to 30 s: eight tries in the first minute, then one each half minute.
    expect(asked('/trading-variables')).toBeLessThanOrEqual(11);
    expect(asked('/trading-variables')).toBeGreaterThanOrEqual(8);
  });
});

describe('chains that share a host', () => {
  it('ask it one question at a time together', async () => {
    const rig = await createRig();
    const http = createHttp(rig.clock);
    const feeds = (['base', 'polygon', 'arbitrum'] as const).map((slug) =>
      createBackendFeed({
        chain: chainBySlug(slug),
        endpoints: rig.upstream.endpoints,
        clock: rig.clock,
        log: rig.log,
        http,
        random: () => 1,
      }),
    );
    try {
      rig.upstream.handle(
        '/trading-variables/',
        (request, response) => void setTimeout(() => json(tradingVariables({ lastRefreshed: rig.clock.now() }))(request, response), 5),
      );
      await Promise.all(feeds.map((feed) => feed.start()));
      expect(feeds.map((feed) => feed.status().configFrom)).toEqual(['backend', 'backend', 'backend']);
      expect(rig.upstream.requests.length).toBeGreaterThanOrEqual(6);
      expect(rig.upstream.inFlight.most).toBe(1);
    } finally {
      await Promise.all(feeds.map((feed) => feed.stop()));
      await rig.stop();
    }
  });
});

describe('the pause before another try', () => {
  it.each([
    [0, 125],
    [0.5, 187.5],
    [1, 250],
  ])('of a client that waits is a matter of chance: at %p it is %p ms', async (chance, pause) => {
    const clock = createManualClock();
    const asked: number[] = [];
    const http = {
      getJson: () => {
        asked.push(clock.now());
        return Promise.reject(new HttpFault('HTTP 500', 0, 500));
      },
    };
    const { signal } = new AbortController();
    const asker = createAsker({ name: 'charts', http, clock, signal, random: () => chance });
    const asking = asker.ask('http://nowhere/', (body) => body);
    const outcome = asking.catch((error: unknown) => error);
    await until(() => asked.length === 1 && clock.pending === 1);
    await clock.pass(pause - 0.5, pause);
    expect(asked).toHaveLength(1);
    await clock.pass(0.5);
    expect(asked).toHaveLength(2);
    expect(await outcome).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' });
  });

  it('of a loop doubles up to its cap, between half and all of the step, and never less than upstream asks for', () => {
    const chances = [0, 1, 0.5, 0, 1];
    const backoff = createBackoff(250, 2_000, () => chances.shift() ?? 0);
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([125, 500, 750, 1_000, 2_000]);
    expect(backoff.next(9_000)).toBe(9_000);
    backoff.reset();
    expect(backoff.next()).toBe(125);
  });
});

describe('a body that comes in drops', () => {
  it('is given up eight seconds after the question, however much of it is there', async () => {
    const rig = await createRig();
    try {
      let dripping: NodeJS.Timeout | undefined;
      let drops = 0;
      rig.upstream.handle('/trading-variables/', (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        dripping = setInterval(() => response.write(drops++ === 0 ? '{"pairs":[' : 'null,'), 2);
        response.on('close', () => clearInterval(dripping));
      });
      const starting = rig.feed.start();
      await until(() => drops > 20);
      rig.clock.advance(7_999);
      await until(() => drops > 40);
      expect(rig.feed.status().parts.config.lastError).toBeUndefined();
      rig.clock.advance(1);
      await starting;
      expect(rig.feed.status().parts.config.lastError).toBe('no answer within 8000 ms');
      await until(() => rig.upstream.inFlight.now === 0);
    } finally {
      await rig.stop();
    }
  });
});
