import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { Wallet } from 'ethers';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { RequestAccess } from '../../../core/access/request-access.js';
import { createIpLimits, type IpLimits } from '../../../core/access/limits.js';
import { createAddressShares } from '../../../core/stream/address-shares.js';
import type { Clock } from '../../../core/ports/clock.js';
import { venueOf } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { createResponseCache } from '../../../core/caching/response-cache.js';
import type { Outbox } from '../../../core/stream/outbox.js';
import { createJournalHub } from '../../../core/stream/journal-stream.js';
import { createPollRing } from '../../../core/stream/refresh.js';
import { createStreams } from '../../../core/stream/venue-stream.js';
import type { InfoHandler } from '../../../facade/info/info-handler.js';
import { createTradeHandlers } from '../../../facade/trade/trade-handlers.js';
import { ACCOUNT_POLLS, createAccountCache, type VenueFeeds } from '../../../facade/ws/venue-feeds.js';
import { facadeSocket, SESSION_LIMITS, type SessionLimits } from '../../../facade/ws/session.js';
import { createPosts, type Post } from '../../../facade/ws/posts.js';
import { createSubscriptions, SUBSCRIPTION_NAMES } from '../../../facade/ws/subscriptions.js';
import { systemRandom } from '../../../core/adapters/system/clock.js';
import { listen } from '../../../http/listen.js';
import { nativeSocket } from '../../../native-api/ws/session.js';
import { createSockets } from '../../../http/sockets.js';
import { eventually } from '../../harness/time/eventually.js';
import { newFacadeTrader } from '../../harness/traders/facade-trader.js';
import { hlInfo } from '../../harness/hyperliquid/info.js';
import { order, orderAction, signL1 } from '../../harness/hyperliquid/exchange.js';
import { hlSocket, type HlSocket } from '../../harness/hyperliquid/socket.js';
import { answersWhenKnown } from '../../harness/venue/answer-hold.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { createManualClock } from '../../harness/time/manual-clock.js';
import { connect } from '../../native-api/ws/socket-client.js';

let sandbox: TestVenue;
let socket: HlSocket;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  sandbox = await sharedVenue();
  socket = await hlSocket(sandbox.url);
});
afterAll(async () => {
  await socket.close();
  for (const end of ends) await end();
  await sandbox.stop();
});

/** The same gateway's stream on a port of its own, with limits or a clock that a test can reach. */
async function serve(
  limits: Partial<SessionLimits>,
  access: Partial<RequestAccess> = {},
  clock: Clock = sandbox.gateway.clock,
): Promise<string> {
  const gateway = { ...sandbox.gateway, clock, access: { ...sandbox.gateway.access, ...access } };
  const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
  const responses = createResponseCache(gateway);
  const parts = { streamOf: createStreams(gateway), responses, trade: createTradeHandlers(gateway) };
  const routes = [nativeSocket(gateway, parts.streamOf), facadeSocket(gateway, parts, { ...SESSION_LIMITS, ...limits })];
  http.serve((_request, response) => response.end(), createSockets(gateway, routes));
  ends.push(
    () => http.close(),
    () => responses.stop(),
  );
  return http.url;
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const user = (): string => privateKeyToAddress(generatePrivateKey());
const subscribe = (type: string, fields: object = {}) => ({ method: 'subscribe', subscription: { type, ...fields } });
/** What clients cut out of an error and parse. */
const tailOf = (text: string): unknown => JSON.parse(/{.*}/.exec(text)?.[0] ?? '') as unknown;

const ALL_TYPES = [
  ...['allMids', 'l2Book', 'bbo', 'trades', 'candle', 'activeAssetCtx', 'assetCtxs', 'allDexsAssetCtxs', 'fastAssetCtxs', 'spotAssetCtxs'],
  'activeSpotAssetCtx',
  ...['activeAssetData', 'orderUpdates', 'userEvents', 'user', 'userFills', 'userFundings', 'userNonFundingLedgerUpdates'],
  ...['userHistoricalOrders', 'userTwapSliceFills', 'userTwapHistory', 'clearinghouseState', 'allDexsClearinghouseState', 'openOrders'],
  ...['spotState', 'twapStates', 'notification', 'webData2', 'webData3', 'outcomeMetaUpdates'],
];

describe('a connection of the stream', () => {
  it('sends nothing before the first message, and answers a ping', async () => {
    const fresh = await hlSocket(sandbox.url);
    fresh.send({ method: 'ping' });
    await fresh.find('pong');
    expect(fresh.received).toEqual([{ channel: 'pong' }]);
    const pong = once(fresh.socket, 'pong');
    fresh.socket.ping();
    await pong;
    await fresh.close();
  });

  it.each([
    ['no JSON', '{"method":'],
    ['a word', 'hello'],
    ['a list', '[{"a":1},{"b":2}]'],
    ['null', 'null'],
    ['a number', '7'],
    ['nothing', ''],
    ['an empty object', '{}'],
    ['an unknown method', '{"method":"dance"}'],
    ['a subscription without a type', '{"method":"subscribe","subscription":{}}'],
    ['a subscription that is a list', '{"method":"subscribe","subscription":[]}'],
    ['a post without an id', '{"method":"post","request":{"type":"info","payload":{"type":"meta"}}}'],
    ['a post of something else', '{"method":"post","id":3,"request":{"type":"explorer","payload":{}}}'],
    ['a post without a payload', '{"method":"post","id":3,"request":{"type":"info"}}'],
    ['a long one', JSON.stringify({ method: 'dance', text: 'x'.repeat(100_000) })],
    ['a subscription of 5,000 levels', `{"method":"subscribe","subscription":{"type":"allMids","x":${nested(5_000)}}}`],
    ['an end of 5,000 levels', `{"method":"unsubscribe","subscription":{"type":"allMids","x":${nested(5_000)}}}`],
    ['an unknown method of 5,000 levels', `{"method":"dance","x":${nested(5_000)}}`],
    ['a post of 5,000 levels', `{"method":"post","id":3,"request":{"type":"info","payload":{"type":"meta","x":${nested(5_000)}}}}`],
    ['an action of 5,000 levels', `{"method":"post","id":3,"request":{"type":"action","payload":{"action":${nested(5_000)}}}}`],
  ])('refuses %s in words whose end is JSON', async (_name, text) => {
    const said = await socket.refused(text);
    expect(said).toMatch(/^Error parsing JSON into valid websocket request: /);
    expect(tailOf(said)).toBeInstanceOf(Object);
    expect(said.length).toBeLessThan(3_000);
  });

  it('refuses bytes that are no text', async () => {
    const from = socket.received.length;
    socket.socket.send(Buffer.from([0xff, 0xfe]), { binary: true });
    expect(await socket.find<string>('error', () => true, from)).toMatch(/^Error parsing JSON/);
  });

  it.each([
    ['an unknown type', { type: 'weather' }],
    ['an unknown coin', { type: 'l2Book', coin: 'NOPE' }],
    ['a book without a coin', { type: 'l2Book' }],
    ['an unknown length of candles', { type: 'candle', coin: 'BTC', interval: '7m' }],
    ['a user that is no address', { type: 'orderUpdates', user: '0x12' }],
    ['no user', { type: 'userFills' }],
    ['the figures of no coin', { type: 'activeAssetData', user: `0x${'1'.repeat(40)}`, coin: 'NOPE' }],
  ])('refuses to subscribe to %s', async (_name, subscription) => {
    expect(await socket.refused({ method: 'subscribe', subscription })).toBe(`Invalid subscription ${JSON.stringify(subscription)}`);
  });

  it.each([
    ['of more than 2 KiB', { type: 'allMids', x: 'x'.repeat(2_048) }],
    ['nested deeper than 8 levels', { type: 'allMids', x: JSON.parse(nested(8)) as unknown }],
  ])('refuses a subscription %s', async (_name, subscription) => {
    for (const method of ['subscribe', 'unsubscribe']) {
      const said = await socket.refused({ method, subscription });
      expect(said).toMatch(/^Invalid subscription: over 2048 bytes or nested deeper than 8 levels\. \{/);
      expect(tailOf(said)).toBeInstanceOf(Object);
      expect(said.length).toBeLessThan(3_000);
    }
  });

  it('sends a subscription back whole, however strange what stands beside its fields is', async () => {
    const fresh = await hlSocket(sandbox.url);
    const beside = { deep: JSON.parse(nested(7)) as unknown, long: 'é'.repeat(900), list: [1, null, { a: 'b' }] };
    const { data } = await fresh.subscribe('allMids', beside);
    expect(data).toEqual({ method: 'subscribe', subscription: { type: 'allMids', ...beside } });
    await fresh.close();
  });

  it('subscribes once, however it is spelt, and ends once', async () => {
    const address = user();
    await socket.subscribe('userEvents', { user: address });
    const again = { type: 'user', user: address.toLowerCase() };
    expect(await socket.refused({ method: 'subscribe', subscription: again })).toBe(`Already subscribed: ${JSON.stringify(again)}`);
    await socket.subscribe('l2Book', { coin: 'ETH', nSigFigs: null });
    const book = { type: 'l2Book', coin: 'ETH' };
    expect(await socket.refused({ method: 'subscribe', subscription: book })).toBe(`Already subscribed: ${JSON.stringify(book)}`);
    const { data } = await socket.unsubscribe('user', { user: address });
    expect(data).toEqual({ method: 'unsubscribe', subscription: { type: 'user', user: address.toLowerCase() } });
    const ended = { type: 'user', user: address };
    expect(await socket.refused({ method: 'unsubscribe', subscription: ended })).toBe(`Already unsubscribed: ${JSON.stringify(ended)}`);
  });

  it('ignores what stands beside, and answers in the order it was asked', async () => {
    const fresh = await hlSocket(sandbox.url);
    fresh.send({ ...subscribe('allMids'), id: 17 });
    fresh.send({ method: 'unsubscribe', subscription: { type: 'allMids' }, id: 18 });
    fresh.send(subscribe('allMids'));
    await eventually(
      () => fresh.of<{ method: string }>('subscriptionResponse').map(({ method }) => method),
      (methods) => methods.length === 3,
    );
    expect(fresh.of<{ method: string }>('subscriptionResponse').map(({ method }) => method)).toEqual([
      'subscribe',
      'unsubscribe',
      'subscribe',
    ]);
    await fresh.close();
  });

  it('is reached however the slashes fall', async () => {
    for (const path of ['/hl/arbitrum-sepolia//ws', '/hl/arbitrum-sepolia/ws/', '//hl/arbitrum-sepolia/ws']) {
      const fresh = await hlSocket(sandbox.url, path);
      await fresh.subscribe('allMids');
      await fresh.close();
    }
  });

  it('knows every kind of subscription', () => {
    expect([...SUBSCRIPTION_NAMES].sort()).toEqual([...ALL_TYPES].sort());
  });
});

describe('a request on the connection', () => {
  it('is answered as over HTTP', async () => {
    const { type, payload } = await socket.post('info', { type: 'meta' });
    expect(type).toBe('info');
    expect(payload).toEqual({ type: 'meta', data: await hlInfo(sandbox).ask('meta') });
  });

  it('that fits nothing is refused under its id, and the connection stays open', async () => {
    expect(await socket.post('info', { type: 'weather' })).toEqual({
      type: 'error',
      payload: 'Failed to deserialize the JSON body into the target type',
    });
    expect(await socket.post('action', { action: 7 })).toMatchObject({
      type: 'error',
      payload: expect.stringMatching(/^Failed to deserialize/),
    });
    expect(await socket.post('action', await signL1(new Wallet(generatePrivateKey()), orderAction()))).toMatchObject({
      type: 'action',
      payload: { status: 'err', response: expect.stringMatching(/^User or API Wallet 0x[0-9a-f]{40} does not exist\./) },
    });
  });

  it('is read letter by letter: a key twice is no action', async () => {
    const from = socket.received.length;
    const { action, nonce, signature } = await signL1(new Wallet(generatePrivateKey()), orderAction());
    const payload = `{"action":${JSON.stringify(action)},"nonce":${nonce},"nonce":${nonce},"signature":${JSON.stringify(signature)}}`;
    socket.send(`{"method":"post","id":90001,"request":{"type":"action","payload":${payload}}}`);
    const { response } = await socket.find<{ id: number; response: object }>('post', ({ id }) => id === 90_001, from);
    expect(response).toMatchObject({ type: 'error' });
  });

  it('that is held back keeps nothing else from being answered', async () => {
    sandbox.controls.prices.jump(0, '60000');
    const bot = await newFacadeTrader(sandbox);
    const [chain] = sandbox.controls.chains;
    const action = await signL1(new Wallet(bot.agentKey), orderAction(order({ p: '63000', s: '0.1' })));
    chain?.setOraclePolicy(null, { mode: 'hold' });
    answersWhenKnown(sandbox);
    const held = socket.post('action', action);
    try {
      let isAnswered = false;
      void held.then(() => (isAnswered = true));
      const from = socket.received.length;
      socket.send({ method: 'ping' });
      await socket.find('pong', () => true, from);
      expect(isAnswered).toBe(false);
    } finally {
      chain?.setOraclePolicy(null, { mode: 'auto' });
    }
    expect(await held).toMatchObject({ type: 'action', payload: { status: 'ok' } });
  });
});

/** The share of an address without other connections. */
function ownShare() {
  const shares = createAddressShares({ sockets: 1, subscriptions: 10, users: 10 });
  const share = shares.open('127.0.0.1');
  if (share === null) throw new Error('the first socket of an address was refused');
  return { share, shareLimits: shares.limits, weigh: () => undefined, charge: () => undefined };
}

describe('a fault behind the connection', () => {
  const peer = { address: '127.0.0.1', requestId: 'faults', share: ownShare().share };
  const meta: Post = { method: 'post', id: 7, type: 'info', payload: { type: 'meta' } };

  it('that makes an answer which cannot be written costs that request only', async () => {
    const [venue] = sandbox.gateway.venues.values();
    if (venue === undefined) throw new Error('the sandbox has no chain');
    const said: string[] = [];
    const failed: unknown[] = [];
    const answers: unknown[] = [1n, 'well'];
    const info = { ask: () => Promise.resolve({ type: 'meta', data: answers.shift() }) } as unknown as InfoHandler;
    const exchange = () => Promise.reject(new Error('is not asked'));
    const posts = createPosts({
      ...{ gateway: sandbox.gateway, venue, peer, info, exchange, most: 1 },
      say: (text) => said.push(text),
      fail: (error) => failed.push(error),
    });
    posts.answer(meta, Buffer.of());
    await posts.settled();
    posts.answer(meta, Buffer.of());
    await posts.settled();
    const responses = said.map((text) => (JSON.parse(text) as { data: { id: number; response: object } }).data);
    expect(responses).toEqual([
      { id: 7, response: { type: 'error', payload: expect.stringContaining('faults') as string } },
      { id: 7, response: { type: 'info', payload: { type: 'meta', data: 'well' } } },
    ]);
    expect(failed).toEqual([]);
  });

  it('that not even the refusal survives ends no later turn', async () => {
    const pushed: string[] = [];
    const failed: unknown[] = [];
    const broken = new Error('words that cannot be sent');
    const outbox = {
      push(text: string): void {
        if (text.includes('weather')) throw broken;
        pushed.push(text);
      },
    } as unknown as Outbox;
    const subscriptions = createSubscriptions({
      ...{ feeds: {} as VenueFeeds, outbox, limits: SESSION_LIMITS, ...ownShare() },
      onCount: () => undefined,
      onFault: () => undefined,
      fail: (error) => failed.push(error),
      lose: () => undefined,
    });
    subscriptions.change('subscribe', { type: 'weather' });
    subscriptions.change('subscribe', { type: 'thunder' });
    await eventually(
      () => pushed,
      ({ length }) => length > 0,
    );
    expect(pushed).toEqual([expect.stringContaining('thunder')]);
    expect(failed).toEqual([broken]);
  });
});

describe('limits of a connection', () => {
  it('hold for subscriptions and tracked users', async () => {
    const url = await serve({ subscriptions: 4, users: 2 });
    const connection = await hlSocket(url);
    const [first, second, third] = [user(), user(), user()];
    await connection.subscribe('orderUpdates', { user: first });
    await connection.subscribe('orderUpdates', { user: second });
    await connection.subscribe('userFills', { user: first.toLowerCase() });
    const refusal = await connection.refused(subscribe('orderUpdates', { user: third }));
    expect(refusal).toMatch(/^Cannot track more than 2 total users\./);
    expect(tailOf(refusal)).toEqual(subscribe('orderUpdates', { user: third }));
    await connection.unsubscribe('orderUpdates', { user: second });
    await connection.subscribe('orderUpdates', { user: third });
    await connection.subscribe('allMids');
    expect(await connection.refused(subscribe('bbo', { coin: 'BTC' }))).toMatch(/^Cannot subscribe to more than 4 channels\./);
    await connection.close();
  });

  it('hold for requests under way', async () => {
    const connection = await hlSocket(await serve({ pendingPosts: 2 }));
    for (const id of [1, 2, 3, 4])
      connection.send({ method: 'post', id, request: { type: 'info', payload: { type: 'userFees', user: user() } } });
    expect(await connection.find('error')).toBe('too many pending post requests id=3');
    await connection.find<{ id: number }>('post', ({ id }) => id === 2);
    await connection.post('info', { type: 'meta' });
    await connection.close();
  });

  it('hold for messages, and end a connection that goes on sending', async () => {
    const connection = await hlSocket(await serve({ messages: { burst: 5, perSecond: 0.001 }, refusals: { burst: 3, perSecond: 0.001 } }));
    for (let count = 0; count < 12; count += 1) connection.send({ method: 'ping' });
    expect(await connection.closed).toEqual({ code: 1008, reason: 'too many messages' });
    expect(connection.received.filter(({ channel }) => channel === 'pong')).toHaveLength(5);
    expect(connection.of('error')).toEqual([
      'Too many websocket messages.',
      'Too many websocket messages.',
      'Too many websocket messages.',
    ]);
  });

  it('hold for the fragments of one message', async () => {
    const connection = await hlSocket(sandbox.url);
    for (let count = 0; count < 300; count += 1) connection.socket.send(' ', { fin: false });
    expect((await connection.closed).code).toBe(1008);
  });

  it('end a connection without messages, and none with them', async () => {
    const clock = createManualClock();
    const url = await serve({ idleMs: 60_000 }, {}, clock);
    const [silent, alive] = [await hlSocket(url), await hlSocket(url)];
    clock.advance(30_000);
    alive.send({ method: 'ping' });
    await alive.find('pong');
    clock.advance(30_000);
    expect(await silent.closed).toEqual({ code: 1001, reason: 'Inactive' });
    await alive.post('info', { type: 'meta' });
    await alive.close();
  });

  it('end a connection that does not read', async () => {
    const url = await serve({ idleMs: 600_000, outbox: { inFlight: 1_000, queued: 20_000 } });
    const { port } = new URL(url);
    const tcp = connectTcp(Number(port), '127.0.0.1');
    await once(tcp, 'connect');
    tcp.write(
      'GET /hl/arbitrum-sepolia/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await once(tcp, 'data');
    tcp.pause();
    const frame = maskedText(JSON.stringify({ method: 'post', id: 1, request: { type: 'info', payload: { type: 'metaAndAssetCtxs' } } }));
    const gone = new Promise((resolve) => tcp.on('close', resolve));
    tcp.on('error', () => undefined);
    const feeding = setInterval(() => tcp.writable && tcp.write(frame), 1);
    await eventually(
      () => sandbox.log.entries.some(({ event, fields }) => event === 'facade.line-ended' && fields['reason'] === 'slow consumer'),
      (isGivenUp) => isGivenUp,
    );
    clearInterval(feeding);
    tcp.destroy();
    await gone;
  });
});

/** One text frame as a client sends it. */
function maskedText(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.from([0x81, 0x80 | 126, body.length >> 8, body.length & 0xff, 0, 0, 0, 0]);
  return Buffer.concat([head, body]);
}

describe('what an address may do on sockets', () => {
  /** A minute that never ends, on a clock that stands still. */
  const counted = (limit: number): IpLimits => {
    const { store, log } = sandbox.gateway;
    const limits = createIpLimits({ limit, store: store.admission, clock: createManualClock(), log });
    ends.push(() => limits.stop());
    return limits;
  };
  const weighing = (limit: number): Partial<RequestAccess> => {
    const weights = counted(limit);
    return {
      countWeight: (address, weight) => weights.count(address, weight),
      chargeWeight: (address, weight) => weights.charge(address, weight),
    };
  };

  it('weighs a subscription as the same question over HTTP, and a post with it', async () => {
    const connection = await hlSocket(await serve({}, weighing(64)));
    const address = user();
    for (let times = 0; times < 3; times += 1) {
      await connection.subscribe('userHistoricalOrders', { user: address });
      await connection.unsubscribe('userHistoricalOrders', { user: address });
    }
    expect(await connection.refused(subscribe('userFills', { user: address }))).toMatch(
      /^Too many requests for this ip; retry in \d+ s\. {"method"/,
    );
    await connection.subscribe('l2Book', { coin: 'BTC' });
    expect(await connection.post('info', { type: 'allMids' })).toMatchObject({ type: 'info' });
    expect(await connection.post('info', { type: 'allMids' })).toMatchObject({
      type: 'error',
      payload: expect.stringMatching(/^Too many requests/),
    });
    await connection.close();
  });

  it('weighs what is sent before it is read, whatever it says, and ends a connection that goes on sending, on both front ends', async () => {
    const actions = counted(20);
    const url = await serve(
      { refusals: { burst: 3, perSecond: 0.001 } },
      { countActionWeight: (address, weight) => actions.count(address, weight) },
    );
    const [facade, native] = [await hlSocket(url), await connect(url)];
    const senseless = { method: 'nothing', of: 'x'.repeat(80 * 1024) };
    expect(await facade.refused(senseless)).toMatch(/^Error parsing JSON/);
    await native.ask({ op: 'ping', of: 'x'.repeat(80 * 1024) }, ({ op }) => op === 'error');
    await native.ask({ op: 'ping', of: 'x'.repeat(80 * 1024) }, ({ op, code }) => op === 'error' && code === 'RATE_LIMITED');
    await native.ask({ op: 'ping' }, ({ op }) => op === 'pong');
    for (let count = 0; count < 4; count += 1) facade.send(senseless);
    expect(await facade.closed).toEqual({ code: 1008, reason: 'too many messages' });
    expect(facade.of('error').slice(1)).toEqual(Array.from({ length: 3 }, () => 'Too many websocket messages.'));
    await native.close();
  });

  it('counts a subscription as a request, on both front ends', async () => {
    const requests = counted(4);
    const url = await serve({}, { countAddress: (address) => requests.count(address) });
    const [facade, native] = [await hlSocket(url), await connect(url)];
    await facade.subscribe('l2Book', { coin: 'BTC' });
    await native.ask({ op: 'subscribe', channel: 'prices' }, ({ op }) => op === 'subscribed');
    expect(await facade.refused(subscribe('l2Book', { coin: 'ETH' }))).toMatch(/^Too many requests/);
    await native.ask({ op: 'subscribe', channel: 'book', market: 'BTC/USD' }, ({ op, code }) => op === 'error' && code === 'RATE_LIMITED');
    await Promise.all([facade.close(), native.close()]);
  });

  it('ends a connection above its number, whichever front end the others are on', async () => {
    const url = await serve({}, { sockets: createAddressShares({ sockets: 2, subscriptions: 9, users: 9 }) });
    const [facade, native] = [await hlSocket(url), await connect(url)];
    expect((await (await hlSocket(url)).closed).code).toBe(1008);
    expect(await (await connect(url)).closed).toBe(1008);
    await facade.close();
    const next = await hlSocket(url);
    await next.subscribe('l2Book', { coin: 'BTC' });
    await Promise.all([next.close(), native.close()]);
  });

  it('holds subscriptions and users of all its connections together, and gives them back when a connection ends', async () => {
    const url = await serve({}, { sockets: createAddressShares({ sockets: 9, subscriptions: 4, users: 2 }) });
    const [one, two, native] = [await hlSocket(url), await hlSocket(url), await connect(url)];
    const shared = user();
    await one.subscribe('userEvents', { user: shared });
    await one.subscribe('userEvents', { user: user() });
    expect(await two.refused(subscribe('userEvents', { user: user() }))).toMatch(/^Cannot track more than 2 total users\. {/);
    await two.subscribe('orderUpdates', { user: shared });
    await native.ask({ op: 'subscribe', channel: 'prices' }, ({ op }) => op === 'subscribed');
    expect(await two.refused(subscribe('allMids'))).toMatch(/^Cannot subscribe to more than 4 channels\. {/);
    await native.ask({ op: 'subscribe', channel: 'book', market: 'BTC/USD' }, ({ op, code }) => op === 'error' && code === 'RATE_LIMITED');
    await one.close();
    const answers = (): number => {
      two.send(subscribe('userEvents', { user: user() }));
      return two.of('subscriptionResponse').length;
    };
    await eventually(answers, (count) => count > 1);
    await Promise.all([two.close(), native.close()]);
  });

  it('reads all watched accounts at one rate, however many there are', async () => {
    const clock = createManualClock();
    const { store } = sandbox.gateway;
    let reads = 0;
    // What a reading begins with; the node is asked after it.
    const openPositions = (): Promise<never> => {
      reads += 1;
      return Promise.reject(new Error('the database is away'));
    };
    const gateway = { ...sandbox.gateway, store: { ...store, account: { ...store.account, openPositions } } };
    const venue = { ...venueOf(gateway, 'arbitrum-sepolia'), clock };
    const parts = { gateway, venue, journal: createJournalHub(gateway, venue), polls: createPollRing(clock, ACCOUNT_POLLS) };
    const caches = Array.from({ length: 200 }, () => createAccountCache({ ...parts, trader: user().toLowerCase() as Address }));
    // A feed asks again with every price, whether the last answer was good or not.
    const ask = (): void => caches.forEach((cache) => void cache.facts().catch(() => undefined));
    ask();
    const first = reads;
    for (let seconds = 0; seconds < 60; seconds += 1) {
      clock.advance(1_000);
      ask();
    }
    // Four a second, from the fifth second on.
    expect([first, reads - first]).toEqual([200, 55 * 4 + 1]);
    caches.forEach((cache) => cache.stop());
    await new Promise(setImmediate);
  });
});
