import net from 'node:net';
import { once } from 'node:events';
import type { Bus } from '../../../core/stream/bus.js';
import type { Gateway, GatewayEvents, Venue } from '../../../core/gateway.js';
import { createResponseCache } from '../../../core/caching/response-cache.js';
import { createIpLimits } from '../../../core/access/limits.js';
import { createApp } from '../../../native-api/app.js';
import { systemRandom } from '../../../core/adapters/system/clock.js';
import { listen } from '../../../http/listen.js';
import { SESSION_LIMITS } from '../../../native-api/ws/session.js';
import { eventually, until } from '../../harness/time/eventually.js';
import { startSecondGateway } from '../../harness/venue/second-gateway.js';
import { createManualClock } from '../../harness/time/manual-clock.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';
import { serveSockets, type ServedSockets } from './serve-sockets.js';
import { connect, expectContinuous, isData, isError, isOp, refusedHandshake, type Message, type SocketClient } from './socket-client.js';

let sandbox: TestVenue;
let venue: Venue;
const BASE = '/v1/arbitrum-sepolia';
const WS = `${BASE}/ws`;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_PRICE_MS: '250' });
  const [first] = sandbox.gateway.venues.values();
  if (!first) throw new Error('the sandbox has no venue');
  venue = first;
});
afterAll(() => sandbox.stop());

const clients: SocketClient[] = [];
const servers: ServedSockets[] = [];
async function open(url = sandbox.url): Promise<SocketClient> {
  const client = await connect(url);
  clients.push(client);
  return client;
}
async function serve(...args: Parameters<typeof serveSockets>): Promise<ServedSockets> {
  const server = await serveSockets(...args);
  servers.push(server);
  return server;
}
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.terminate();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('a handshake', () => {
  it('to a chain that is not served is answered like any request to it', async () => {
    const refused = await refusedHandshake(sandbox.url, '/v1/nowhere/ws');
    expect(refused).toMatchObject({ status: 404, body: { code: 'CHAIN_NOT_FOUND' } });
    expect(refused.headers).toMatchObject({ 'x-request-id': expect.any(String), 'ratelimit-remaining': expect.any(String) });
  });

  it('while the service starts is answered NOT_READY', async () => {
    const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
    expect(await refusedHandshake(http.url, WS)).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
    await http.close();
  });

  it('counts against the address, as each proof does, and is answered 429 when that is spent', async () => {
    const { gateway } = sandbox;
    const limited = createIpLimits({ limit: 2, store: gateway.store.admission, clock: gateway.clock, log: gateway.log });
    const access = { ...gateway.access, countAddress: () => limited.count('handshakes') };
    const scarce: Gateway = { ...gateway, access };
    const { url } = await serve(scarce, {}, createApp(scarce, createResponseCache(scarce)));
    const first = await open(url);
    expect(first.handshake).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1' });
    await open(url);
    await first.ask({ op: 'auth', apiKey: 'a guess' }, isError('RATE_LIMITED'));
    const refused = await refusedHandshake(url, WS);
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED', details: { scope: 'ip' } } });
    expect(refused.headers).toMatchObject({ 'retry-after': expect.any(String), 'ratelimit-remaining': '0' });
    limited.stop();
  });

  it.each([
    ['of another version', ['Sec-WebSocket-Version: 7', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']],
    ['without a key', ['Sec-WebSocket-Version: 13']],
  ])('%s is refused in the words of the catalogue', async (_case, lines) => {
    const answer = await rawRequest(
      `GET ${WS} HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join('\r\n')}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 422 /);
    expect(answer).toContain('UNSUPPORTED');
    expect(answer).toMatch(/x-request-id: /i);
  });

  it('that asks for something else than a socket is served as if it had not, its body included', async () => {
    const upgrade = 'Host: here\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__';
    expect(await rawRequest(`GET /health HTTP/1.1\r\n${upgrade}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
    const body = '{"trader":1}';
    const posted = await rawRequest(
      `POST ${BASE}/agents HTTP/1.1\r\n${upgrade}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(posted).toMatch(/^HTTP\/1\.1 400 [^]*"path":"trader"/);
  });

  it('with a body is served as a plain request', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    const answer = await rawRequest(`GET ${WS} HTTP/1.1\r\nHost: here\r\n${upgrade}\r\nContent-Length: 2\r\n\r\n{}`);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  });
});

async function rawRequest(text: string): Promise<string> {
  const { port } = new URL(sandbox.url);
  const socket = net.connect(Number(port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

describe('bad input', () => {
  it.each<[string, string | Buffer, string]>([
    ['text that is no JSON', '{"op":', 'VALIDATION_ERROR'],
    ['a JSON that is no object', '[1,2]', 'VALIDATION_ERROR'],
    ['nothing', '', 'VALIDATION_ERROR'],
    ['a binary frame', Buffer.from('{"op":"ping"}'), 'VALIDATION_ERROR'],
    ['an unknown op', '{"op":"dance"}', 'VALIDATION_ERROR'],
    ['an unknown channel', '{"op":"subscribe","channel":"weather"}', 'VALIDATION_ERROR'],
    ['no channel', '{"op":"subscribe"}', 'VALIDATION_ERROR'],
    ['an unknown field', '{"op":"subscribe","channel":"prices","market":"BTC/USD"}', 'VALIDATION_ERROR'],
    ['a key that appears twice', '{"op":"ping","op":"ping"}', 'VALIDATION_ERROR'],
    ['a market that is missing', '{"op":"subscribe","channel":"book"}', 'VALIDATION_ERROR'],
    ['a market of no shape', '{"op":"subscribe","channel":"book","market":"BTC"}', 'VALIDATION_ERROR'],
    ['an unlisted market', '{"op":"subscribe","channel":"trades","market":"NOPE/USD"}', 'MARKET_NOT_FOUND'],
    ['an unknown interval', '{"op":"subscribe","channel":"candles","market":"BTC/USD","interval":"2m"}', 'VALIDATION_ERROR'],
    ['a cursor below nothing', '{"op":"subscribe","channel":"orders","after":-1}', 'VALIDATION_ERROR'],
    ['a cursor that is no number', '{"op":"subscribe","channel":"orders","after":"7"}', 'VALIDATION_ERROR'],
    ['a cursor on a public channel', '{"op":"subscribe","channel":"prices","after":1}', 'VALIDATION_ERROR'],
    ['a cursor to leave from', '{"op":"unsubscribe","channel":"orders","after":1}', 'VALIDATION_ERROR'],
    ['a proof without a signature', '{"op":"auth","agent":"0x00"}', 'VALIDATION_ERROR'],
    ['a proof with a number for a nonce', '{"op":"auth","agent":"0x00","timestamp":"1","nonce":1,"signature":"0x"}', 'VALIDATION_ERROR'],
    ['two proofs in one', '{"op":"auth","apiKey":"k","agent":"0x00"}', 'VALIDATION_ERROR'],
    ['a channel of an account', '{"op":"subscribe","channel":"fills"}', 'UNAUTHENTICATED'],
    ['a message longer than any of ours', JSON.stringify({ op: 'ping', pad: 'x'.repeat(20_000) }), 'VALIDATION_ERROR'],
    ['a forged prototype', '{"op":"ping","__proto__":{"op":"auth"}}', 'VALIDATION_ERROR'],
  ])('%s is answered with an error, and the connection stays open', async (_case, frame, code) => {
    const client = await open();
    client.socket.send(frame);
    const refusal = await client.find(({ op }) => op === 'error');
    expect(refusal).toMatchObject({ code, message: expect.any(String) });
    expect(await client.ask({ op: 'ping' }, isOp('pong'))).toEqual({ op: 'pong', timestamp: expect.any(Number) });
  });

  it('of a size that no frame may have ends the connection with 1009', async () => {
    const client = await open();
    client.socket.send('x'.repeat(300_000));
    expect(await client.closed).toBe(1009);
  });

  it('in a flood is refused, then the connection is ended with 1008', async () => {
    const client = await open();
    const { burst } = SESSION_LIMITS.messages;
    for (let count = 0; count < burst + SESSION_LIMITS.refusals.burst + 500; count += 1) client.send({ op: 'pong' });
    expect(await client.closed).toBe(1008);
    expect(client.received.some(isError('RATE_LIMITED'))).toBe(true);
  });
});

describe('limits of a connection', () => {
  it('are 200 subscriptions, and the next one is refused until one is given back', async () => {
    expect(SESSION_LIMITS.subscriptions).toBe(200);
    const { url } = await serve(sandbox.gateway, { subscriptions: 3 });
    const client = await open(url);
    for (const market of ['BTC/USD', 'ETH/USD', 'SOL/USD']) await client.ask({ op: 'subscribe', channel: 'book', market }, isData('book'));
    const fourth = { op: 'subscribe', channel: 'prices' };
    expect(await client.ask(fourth, isError('RATE_LIMITED'))).toMatchObject({ channel: 'prices' });
    await client.ask({ op: 'subscribe', channel: 'book', market: 'BTC/USD' }, (message) => message['duplicate'] === true);
    await client.ask({ op: 'unsubscribe', channel: 'book', market: 'BTC/USD' }, isOp('unsubscribed'));
    await client.ask(fourth, isData('prices'));
  });

  it('are two heartbeats unanswered, then 1001', async () => {
    const clock = createManualClock();
    const { url } = await serve({ ...sandbox.gateway, clock });
    const [silent, alive, pinging] = [await open(url), await open(url), await open(url)];
    await Promise.all([silent, alive, pinging].map((client) => client.find(isOp('hello'))));
    for (let beat = 1; beat <= 3; beat += 1) {
      clock.advance(15_000);
      if (beat < 3) await silent.find((message) => isOp('ping')(message), beat);
      await alive.find(isOp('ping'), beat);
      await alive.ask({ op: 'ping' }, isOp('pong'));
      pinging.socket.ping();
      await once(pinging.socket, 'pong');
    }
    expect(await silent.closed).toBe(1001);
    expect(silent.received.filter(isOp('ping')).length).toBe(2);
    expect(await alive.ask({ op: 'ping' }, isOp('pong'))).toMatchObject({ timestamp: clock.now() });
    expect(pinging.socket.readyState).toBe(pinging.socket.OPEN);
  });
});

/** Makes the server say more than the network between us holds, without reading any of it. */
async function stall(url: string, client: SocketClient, isEnough = (): boolean => false): Promise<void> {
  const asked = { channel: 'candles', market: 'BTC/USD', interval: '1m' };
  const pacer = await open(url);
  await pacer.ask({ op: 'subscribe', ...asked }, isData('candles'));
  client.socket.pause();
  for (let count = 0; count < 300 && !isEnough(); count += 1) {
    client.send({ op: 'subscribe', ...asked });
    await pacer.ask({ op: 'ping' }, isOp('pong'));
    client.send({ op: 'unsubscribe', ...asked });
  }
}

/** Goes on reading. Candles, sent only to fill the connection, are megabytes and are skipped. */
function readOn({ socket, received }: SocketClient): void {
  socket.removeAllListeners('message');
  socket.on('message', (data: Buffer) => {
    if (!data.subarray(0, 200).toString().includes('"candles"')) received.push(JSON.parse(data.toString()) as Message);
  });
  socket.resume();
}

const FAST = { messages: { burst: 100_000, perSecond: 100_000 } };
const bitcoin = ({ data }: Message): string | undefined =>
  (data as { market: string; index: string }[]).find(({ market }) => market === 'BTC/USD')?.index;

describe('a client that stops reading', () => {
  it('finds the newest prices and book when it goes on, numbered without a gap, and was sent no more than that', async () => {
    const { url } = await serve(sandbox.gateway, FAST);
    const [slow, quick] = [await open(url), await open(url)];
    for (const client of [slow, quick]) {
      await client.ask({ op: 'subscribe', channel: 'prices' }, isData('prices'));
      await client.ask({ op: 'subscribe', channel: 'book', market: 'BTC/USD' }, isData('book'));
    }
    await stall(url, slow);
    for (const price of ['61000', '62000', '63000']) {
      await sandbox.post('/sandbox/price', { market: 'BTC/USD', price });
      await quick.find(isData('prices', (message) => bitcoin(message) === price));
    }
    const before = slow.of('prices').length;
    await until(() => quick.of('prices').length > before + 10);
    readOn(slow);
    await slow.find(isData('prices', (message) => bitcoin(message) === '63000'));
    await slow.find(isData('book', ({ data }) => (data as { markPrice: string }).markPrice === '63000'));
    expectContinuous(slow.of('prices'));
    expectContinuous(slow.of('book'));
    expect(slow.of('prices').length).toBeLessThan(quick.of('prices').length);
  });

  it('is closed with 1013 when what must not be dropped piles up', async () => {
    // By the real clock a client that takes long to read up to the goodbye is cut before it gets there.
    const patient: Gateway = { ...sandbox.gateway, clock: createManualClock() };
    const { url, streamOf } = await serve(patient, { ...FAST, outbox: { inFlight: 64 * 1024, queued: 8 * 1024 } });
    const client = await open(url);
    const isHungUp = (): boolean =>
      sandbox.log.entries.some(({ event, fields }) => event === 'socket.hung-up' && fields['reason'] === 'slow consumer');
    await stall(url, client, isHungUp);
    await until(isHungUp);
    readOn(client);
    expect(await client.closed).toBe(1013);
    for (const other of clients) other.socket.terminate();
    await until(() => streamOf(venue).size() === 0);
  });
});

describe('the end of a connection', () => {
  it('leaves nothing behind: no source, no listener', async () => {
    const counted = countListeners(sandbox.gateway.bus);
    const gateway: Gateway = { ...sandbox.gateway, bus: counted.bus };
    const { url, streamOf } = await serve(gateway);
    expect(counted.count()).toBe(0);
    const crowd = await Promise.all(Array.from({ length: 20 }, () => open(url)));
    for (const client of crowd) {
      client.send({ op: 'subscribe', channel: 'prices' });
      for (const channel of ['book', 'trades']) client.send({ op: 'subscribe', channel, market: 'ETH/USD' });
      client.send({ op: 'subscribe', channel: 'candles', market: 'ETH/USD', interval: '1h' });
    }
    await Promise.all(crowd.map((client) => client.find(isData('candles'))));
    expect([streamOf(venue).size(), counted.count()]).toEqual([4, 4]);
    for (const [at, client] of crowd.entries()) {
      if (at % 2 === 0) client.socket.terminate();
      else client.socket.close();
    }
    await until(() => streamOf(venue).size() === 0 && counted.count() === 0);
  });

  it('comes with 1012 when the service stops, which waits for no client', async () => {
    const beside = await startSecondGateway(sandbox);
    const [polite, paused] = [await open(beside.url), await open(beside.url)];
    await eventually(
      () => beside.get(`${BASE}/prices`),
      ({ status }) => status === 200,
    );
    await polite.ask({ op: 'subscribe', channel: 'prices' }, isData('prices'));
    paused.socket.pause();
    await beside.stop();
    expect(await polite.closed).toBe(1012);
    await expect(connect(beside.url)).rejects.toThrow();
  });
});

/** The same bus, with a count of its listeners. */
function countListeners(bus: Bus<GatewayEvents>): { bus: Bus<GatewayEvents>; count: () => number } {
  let count = 0;
  return {
    count: () => count,
    bus: {
      emit: (kind, event) => bus.emit(kind, event),
      on(kind, listener) {
        const cancel = bus.on(kind, listener);
        count += 1;
        return () => {
          count -= 1;
          cancel();
        };
      },
    },
  };
}
