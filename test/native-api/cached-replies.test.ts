import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { z } from 'zod';
import { createBus } from '../../core/stream/bus.js';
import type { Gateway, GatewayEvents, Venue } from '../../core/gateway.js';
import { createResponseCache, type ResponseCache } from '../../core/caching/response-cache.js';
import { createHost, serveCached } from '../../native-api/app.js';
import { createClientReader } from '../../http/request.js';
import { venueOperation, type Operation } from '../../native-api/operation.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const V1 = '/v1/arbitrum-sepolia';

let sandbox: TestVenue;
let venue: Venue;
const servers: Server[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue({ RATE_LIMIT_IP: '2000' });
  [venue] = [...sandbox.gateway.venues.values()] as [Venue];
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await sandbox.stop();
});

/** A row that counts how often it is really asked. */
function countingRow(): { readonly row: Operation; readonly asked: () => number } {
  let asked = 0;
  const row = venueOperation({
    id: 'count',
    method: 'GET',
    path: '/count',
    auth: 'none',
    summary: 'How often this was worked out.',
    cached: true,
    reply: z.object({ asked: z.int() }),
    handle: () => ({ asked: (asked += 1) }),
  });
  return { row, asked: () => asked };
}

interface Apis {
  /** Stored answers first, as in production. */
  readonly hot: string;
  /** Express alone, on the same stored answers. */
  readonly express: string;
  readonly replies: ResponseCache;
}

async function openApis(gateway: Gateway, operations: readonly Operation[]): Promise<Apis> {
  const clientOf = createClientReader(gateway);
  const replies = createResponseCache(gateway);
  const host = createHost({ gateway, operations, extraRoutes: [], clientOf, responses: replies });
  const serve = async (listener: Parameters<typeof createServer>[1]): Promise<string> => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    servers.push(server);
    await new Promise((resolve) => server.once('listening', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  return { hot: await serve(serveCached(gateway, clientOf, replies, host)), express: await serve(host), replies };
}

interface RawReply {
  readonly status: number | undefined;
  /** Names and values in the order they came. */
  readonly headers: readonly string[];
  readonly body: string;
}

const rawGet = (url: string, headers: Record<string, string> = {}): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    httpRequest(url, { headers: { ...headers, Connection: 'close' } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.rawHeaders, body: Buffer.concat(chunks).toString() }),
      );
    })
      .on('error', reject)
      .end();
  });

async function issuedKey(): Promise<string> {
  const wallet = new Wallet(generatePrivateKey());
  const body = await keyIssue(signWith(wallet, await domainOf(sandbox)), wallet.address, 'desk');
  return ((await sandbox.post(`${V1}/api-keys`, body)).body as { apiKey: string }).apiKey;
}

/** What differs between any two requests. */
const VARYING = /^(?:date|ratelimit-remaining|ratelimit-reset)$/i;
const comparable = ({ status, headers, body }: RawReply): unknown => ({
  status,
  body,
  headers: headers.map((text, index) => (index % 2 === 1 && VARYING.test(headers[index - 1] ?? '') ? '*' : text)),
});

describe('a hot read', () => {
  it('is worked out once, however many ask', async () => {
    const { row, asked } = countingRow();
    const { hot, replies } = await openApis(sandbox.gateway, [row]);
    const [, last] = await sameMoment(async () => {
      const first = await rawGet(`${hot}${V1}/count`);
      const before = asked();
      const answers = await Promise.all(Array.from({ length: 10 }, () => rawGet(`${hot}${V1}/count`)));
      if (asked() !== before) return [first, first, null];
      expect(new Set(answers.map(({ body }) => body))).toEqual(new Set([JSON.stringify({ asked: before })]));
      return [first, answers[9] ?? first, replies.find(`${V1}/count`)];
    });
    expect(last.status).toBe(200);
    replies.stop();
  });

  it('has the same status, bytes and headers, in the same order, whichever path answers it', async () => {
    const { hot, express, replies } = await openApis(sandbox.gateway, OPERATIONS);
    for (const path of ['/markets', '/prices', '/markets/BTC-USD/book?levels=5']) {
      const id = { 'X-Request-Id': 'same-for-both' };
      const [one, other, stored] = await sameMoment(async () => {
        const first = await rawGet(`${express}${V1}${path}`, id);
        const between = replies.find(`${V1}${path}`);
        const second = await rawGet(`${hot}${V1}${path}`, id);
        return [first, second, between === replies.find(`${V1}${path}`) ? between : null] as const;
      });
      expect(one.status).toBe(200);
      expect(stored?.toString()).toBe(other.body);
      expect(comparable(other)).toEqual(comparable(one));
    }
    replies.stop();
  });

  it('of a private row is never stored', async () => {
    const row = { ...countingRow().row, auth: 'reader' as const };
    const { hot, replies } = await openApis(sandbox.gateway, [row]);
    const apiKey = await issuedKey();
    const seen = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const { status, body } = await rawGet(`${hot}${V1}/count`, { 'X-Service-Api-Key': apiKey });
      seen.push([status, body, replies.find(`${V1}/count`)]);
    }
    expect(seen).toEqual([1, 2, 3].map((asked) => [200, JSON.stringify({ asked }), null]));
    expect((await rawGet(`${hot}${V1}/count`)).status).toBe(401);
    replies.stop();
  });

  it('is refused above the limit with the same answer on both paths', async () => {
    const { hot, express, replies } = await openApis(sandbox.gateway, OPERATIONS);
    const id = { 'X-Request-Id': 'same-for-both' };
    const [refused] = await sameMoment(async () => {
      while (!sandbox.gateway.access.countAddress('127.0.0.1').isExceeded);
      await replies.answer(venue, `${V1}/prices`, () => Promise.resolve({ status: 200, body: '{}' }));
      const one = await rawGet(`${express}${V1}/prices`, id);
      const other = await rawGet(`${hot}${V1}/prices`, id);
      if (one.status !== other.status) return [one, other, null]; // a new minute began between the two
      const untimed = ({ headers, ...rest }: RawReply) => ({ ...rest, headers: headers.filter((_, index) => index % 2 === 0) });
      expect({ ...untimed(other), body: '' }).toEqual({ ...untimed(one), body: '' });
      return [one, other, one.status === 429 ? replies.find(`${V1}/prices`) : null] as const;
    });
    expect(refused.status).toBe(429);
    replies.stop();
  });
});

/** Repeats an observation until nothing changed in the middle of it: prices move all the time. */
async function sameMoment(look: () => Promise<readonly [RawReply, RawReply, Buffer | null]>) {
  for (let turn = 0; turn < 200; turn += 1) {
    const seen = await look();
    if (seen[2] !== null) return seen;
  }
  throw new Error('the venue never held still');
}

describe('the response cache', () => {
  const answer = (text: string, status = 200) => ({ status, body: text });

  function store() {
    const clock = createManualClock();
    const bus = createBus<GatewayEvents>(() => undefined);
    const replies = createResponseCache({ ...sandbox.gateway, clock, bus });
    const ask = async (url: string, text: string, status = 200) =>
      (await replies.answer(venue, url, () => Promise.resolve(answer(text, status)))).body.toString();
    const change = () => bus.emit('prices', { venue, pairs: [0] });
    return { clock, replies, ask, change };
  }

  it('answers from what is stored until something changes', async () => {
    const { ask, change, replies } = store();
    expect([await ask('/a', 'one'), replies.find('/a')?.toString(), await ask('/a', 'two')]).toEqual(['one', 'one', 'one']);
    change();
    expect(replies.find('/a')).toBeNull();
    expect(await ask('/a', 'three')).toBe('three');
    replies.stop();
  });

  it('forgets after a second, because sessions and rates move with time', async () => {
    const { ask, clock, replies } = store();
    await ask('/a', 'one');
    clock.advance(999);
    expect(replies.find('/a')?.toString()).toBe('one');
    clock.advance(1);
    expect(replies.find('/a')).toBeNull();
    replies.stop();
  });

  it('does not keep what was overtaken by a change while it was made', async () => {
    const { change, replies } = store();
    const made = await replies.answer(venue, '/a', () => {
      change();
      return Promise.resolve(answer('old'));
    });
    expect([made.body.toString(), replies.find('/a')]).toEqual(['old', null]);
    replies.stop();
  });

  it('keeps no answer but a good one', async () => {
    const { ask, replies } = store();
    await ask('/a', 'no', 503);
    expect(replies.find('/a')).toBeNull();
    await expect(replies.answer(venue, '/b', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(replies.find('/b')).toBeNull();
    replies.stop();
  });

  it('holds a bounded number of bytes, however many spellings of a URL are asked for', async () => {
    const { ask, replies } = store();
    const urls = Array.from({ length: 40 }, (_, index) => `/markets?${'&'.repeat(index)}`);
    const large = 'x'.repeat(1024 * 1024);
    for (const url of urls) await ask(url, large);
    const held = urls.reduce((sum, url) => sum + (replies.find(url)?.length ?? 0), 0);
    expect(held).toBeLessThanOrEqual(32 * 1024 * 1024);
    expect(replies.find(urls.at(-1) ?? '')?.length).toBe(large.length);
    replies.stop();
  });

  it('goes on storing after answers were replaced again and again', async () => {
    const { ask, change, replies } = store();
    const large = 'x'.repeat(1024 * 1024);
    for (let turn = 0; turn < 70; turn += 1) {
      await ask('/a', large);
      change();
      expect(replies.find('/a')).toBeNull();
    }
    await ask('/b', 'kept');
    await ask('/a', large);
    expect(replies.find('/b')?.toString()).toBe('kept');
    replies.stop();
  });
});
