import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { until } from '../../../harness/time/eventually.js';
import { createRig, outcome, type Rig } from './harness.js';
import { json, type Handler } from './upstream.js';
import { tradingVariables } from './wire-fixtures.js';

const raw =
  (text: string | Buffer, headers: Record<string, string> = {}): Handler =>
  (_, response) => {
    response.writeHead(200, headers);
    response.end(text);
  };

/** Real sockets on a machine that may be busy. */
describe('against an upstream that fails, the feed', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await createRig();
  });
  afterEach(() => rig.stop());

  const asked = () => rig.upstream.requests.filter((path) => path.startsWith('/trading-variables')).length;
  const lastError = () => rig.feed.status().parts.config.lastError;
  const connected = () => until(() => rig.upstream.sockets.prices.size === 1 && rig.upstream.sockets.events.size === 1);
  const recovers = async (): Promise<void> => {
    rig.upstream.handle('/trading-variables/', (request, response) =>
      json(tradingVariables({ lastRefreshed: rig.clock.now() }))(request, response),
    );
    await rig.clock.pass(31_000, 1_000);
    await until(() => rig.feed.status().parts.config.state === 'ok');
    expect(lastError()).toBeUndefined();
  };

  it.each<[string, Handler, string]>([
    ['500', json({ error: 'x' }, 500), 'HTTP 500'],
    ['404', json({}, 404), 'HTTP 404'],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end(), 'connection failed'],
    ['no JSON', raw('<html>'), 'body is not JSON'],
    ['half of the JSON', raw('{"pairs": ['), 'body is not JSON'],
    ['nothing', raw(''), 'body is not JSON'],
    ['other JSON', json([1, 2, 3]), 'not an object'],
    ['an empty object', json({}), 'missing: tradingState'],
    ['bytes that are no gzip', raw(randomBytes(100), { 'content-encoding': 'gzip' }), 'Z_DATA_ERROR'],
    ['a bomb of 64 MB in 64 KB', raw(gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)), { 'content-encoding': 'gzip' }), 'body is too large'],
    ['eight million lists', raw('['.repeat(8_000_000)), 'body has too many parts'],
    [
      'a body that breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"pairs":', () => response.destroy());
      },
      'UND_ERR_SOCKET',
    ],
    ['a connection that breaks off', (_, response) => void response.destroy(), 'UND_ERR_SOCKET'],
  ])('that answers %s, says so and recovers', async (_, handler, message) => {
    rig.upstream.handle('/trading-variables/', handler);
    await rig.feed.start();
    expect(lastError()).toContain(message);
    expect(rig.feed.status().parts.config.state).toBe('down');
    expect(outcome(() => rig.feed.config())).toMatchObject({ code: 'NOT_READY' });
    await recovers();
  });

  it('that hangs, gives up after eight seconds', async () => {
    rig.upstream.handle('/trading-variables/', () => undefined);
    const starting = rig.feed.start();
    await until(() => asked() === 1);
    await rig.clock.pass(7_999);
    expect(lastError()).toBeUndefined();
    rig.clock.advance(1);
    await starting;
    expect(lastError()).toBe('no answer within 8000 ms');
    await recovers();
  });

  it('that hangs, can be stopped at once', async () => {
    rig.upstream.handle('/trading-variables/', () => undefined);
    const starting = rig.feed.start();
    await until(() => asked() === 1);
    await rig.feed.stop();
    await starting;
    expect(rig.clock.pending).toBe(0);
  });

  it('that answers with Retry-After, asks again no earlier', async () => {
    rig.upstream.handle('/trading-variables/', (request, response) => {
      response.setHeader('retry-after', '20');
      json({}, 429)(request, response);
    });
    await rig.feed.start();
    expect(lastError()).toBe('HTTP 429');
    await rig.clock.pass(19_900);
    expect(asked()).toBe(1);
    await rig.clock.pass(200);
    await until(() => asked() === 2);
  });

  it('that keeps failing, waits twice as long every time', async () => {
    rig.upstream.handle('/trading-variables/', json({}, 503));
    await rig.feed.start();
    for (const [at, wait] of [250, 500, 1000, 2000, 4000].entries()) {
      await rig.clock.pass(wait - 1, wait);
      expect(asked()).toBe(at + 1);
      await rig.clock.pass(1);
      await until(() => asked() === at + 2 && rig.upstream.inFlight.now === 0);
    }
  });

  it('keeps the last good snapshot when the next one is bad', async () => {
    await rig.feed.start();
    const before = rig.feed.config();
    rig.upstream.handle('/trading-variables/', json({ ...tradingVariables({ lastRefreshed: rig.clock.now() + 60_000 }), pairs: 'x' }));
    await rig.clock.pass(60_000, 1_000);
    await until(() => lastError() === 'pairs is not an array');
    expect(rig.feed.config()).toBe(before);
    expect(rig.feed.status().ready).toBe(true);
  });

  it('never names a host in its status or log', async () => {
    rig.upstream.handle('/trading-variables/', json({}, 500));
    await rig.feed.start();
    expect(JSON.stringify([rig.feed.status(), rig.log.entries])).not.toContain('127.0.0.1');
  });

  it('reconnects after half a second, then ever more slowly, and seeds from the charts each time', async () => {
    rig.upstream.refuseSockets = true;
    const waits = () =>
      rig.log.entries.flatMap(({ event, fields }) =>
        event === 'feed.line-lost' && fields['line'] === 'prices' ? [fields['retryMs']] : [],
      );
    await rig.feed.start();
    for (const [at, wait] of [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000].entries()) {
      await until(() => waits().length === at + 1);
      expect(waits().at(-1)).toBe(wait);
      await rig.clock.pass(wait - 1, wait);
      expect(rig.upstream.dials.prices).toBe(at + 1);
      await rig.clock.pass(1);
      await until(() => rig.upstream.dials.prices === at + 2);
    }
    expect(rig.upstream.requests.filter((path) => path === '/charts').length).toBeGreaterThan(5);
  });

  it('is not brought down by frames that are no frames', async () => {
    await rig.feed.start();
    await connected();
    const garbage = [
      '',
      '{',
      'null',
      '5',
      '"x"',
      '[]',
      '[[]]',
      '{"name":5}',
      '{"m":5,"i":"x"}',
      '[null,null]',
      '{"name":"tradingVariables"}',
      randomBytes(64),
    ];
    for (const frame of garbage) for (const stream of ['prices', 'events'] as const) rig.upstream.send(stream, frame);
    rig.upstream.send('events', { name: 'tradingVariables', value: { pairs: 7 } });
    rig.upstream.send('events', { name: 'currentBlock', value: 5 });
    rig.upstream.send('prices', [0, 60001]);
    await until(() => rig.feed.block()?.number === 5n && rig.feed.prices().get(0)?.mark === 600010000000000n);
    expect(rig.log.entries.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('closes the socket on a frame that is too large, and reconnects', async () => {
    await rig.feed.start();
    await connected();
    rig.upstream.send('prices', `[${'0,1,'.repeat(400_000)}0,1]`);
    await until(() => rig.feed.status().parts.price.lastError !== undefined);
    await rig.clock.pass(1_000);
    await until(() => rig.upstream.dials.prices === 2 && rig.upstream.sockets.prices.size === 1);
  });

  it('closes the socket on a flood, and reconnects ever more slowly while it lasts', async () => {
    await rig.feed.start();
    const lost = () =>
      rig.log.entries.flatMap(({ event, fields }) => (event === 'feed.line-lost' ? [[fields['reason'], fields['retryMs']]] : []));
    for (const wait of [500, 1000, 2000]) {
      await connected();
      for (let frames = 0; frames < 6; frames += 1) rig.upstream.send('prices', `[${'0,1,'.repeat(60_000)}0,1]`);
      await until(() => lost().at(-1)?.[1] === wait);
      expect(lost().at(-1)).toEqual(['flooded', wait]);
      await until(() => rig.upstream.sockets.prices.size === 0);
      await rig.clock.pass(wait);
    }
  });

  it('holds a bounded number of prices however many pairs the upstream sends', async () => {
    await rig.feed.start();
    await connected();
    for (let from = 0; from < 100_000; from += 10_000)
      rig.upstream.send('prices', Array.from({ length: 10_000 }, (_, at) => [from + at, 1]).flat());
    rig.upstream.send('prices', [0, 60001]);
    await until(() => rig.feed.prices().get(0)?.mark === 600010000000000n);
    expect(rig.feed.prices().size).toBe(65_536);
  });
});
