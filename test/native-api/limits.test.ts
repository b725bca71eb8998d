import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Wallet, type TypedDataDomain } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { z } from 'zod';
import { chainBySlug } from '../../core/chains/chains.js';
import type { Gateway } from '../../core/gateway.js';
import { createHost } from '../../native-api/app.js';
import { createClientReader } from '../../http/request.js';
import { createResponseCache } from '../../core/caching/response-cache.js';
import { venueOperation, type Operation } from '../../native-api/operation.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { until } from '../harness/time/eventually.js';
import {
  agentsOf,
  authorization,
  domainOf,
  EVERYTHING,
  keyIssue,
  revocation,
  signWith,
  type ScopeBody,
} from '../harness/traders/master-wallet.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { signRequest } from '../harness/traders/signed-request.js';

const V1 = '/v1/arbitrum-sepolia';
const sign = (agent: Wallet, operationId: string, method: string, path: string, body = '') =>
  signRequest(agent, chainBySlug('arbitrum-sepolia'), { operationId, method, path, body: Buffer.from(body) });
const Said = z.object({ trader: z.string() });

/** Rows no integrator has, for what every row does: a private read, a private write and one that breaks. */
const PROBES: readonly Operation[] = [
  venueOperation({
    id: 'probeRead',
    method: 'GET',
    path: '/probe/:address',
    auth: 'reader',
    summary: 'Who asks.',
    reply: Said,
    handle: ({ caller }) => ({ trader: caller.trader }),
  }),
  venueOperation({
    id: 'probeWrite',
    method: 'POST',
    path: '/probe',
    auth: 'agent',
    summary: 'Who writes.',
    body: z.strictObject({ note: z.string() }),
    reply: Said,
    handle: ({ caller }) => ({ trader: caller.trader }),
  }),
  venueOperation({
    id: 'probeBreak',
    method: 'GET',
    path: '/break/:how',
    auth: 'none',
    summary: 'Breaks.',
    params: z.object({ how: z.string() }),
    reply: Said,
    handle: ({ params }) => {
      if (params.how === 'reply') return { trader: 5n } as unknown as { trader: string };
      if (params.how === 'error') throw new Error('secret: postgres://user:hunter2@db');
      // oxlint-disable-next-line typescript/only-throw-error -- libraries do
      throw 'secret: a thrown string';
    },
  }),
];

let sandbox: TestVenue;
let server: Server;
let url: string;
let domain: TypedDataDomain;

/** The same gateway behind a second listener, with the probes beside its own rows. */
function serveProbes(gateway: Gateway): Server {
  const clientOf = createClientReader(gateway);
  const options = { gateway, operations: [...OPERATIONS, ...PROBES], extraRoutes: [], clientOf, responses: createResponseCache(gateway) };
  return createServer(createHost(options));
}

beforeAll(async () => {
  const limits = { RATE_LIMIT_IP: '40', RATE_LIMIT_AGENT: '8', RATE_LIMIT_AGENT_WRITES: '3', TRUSTED_PROXIES: '127.0.0.1' };
  sandbox = await startOwnVenue(limits);
  server = serveProbes(sandbox.gateway).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  domain = await domainOf(sandbox);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await sandbox.stop();
});

/** A test that counts must not straddle the turn of the minute. */
const untilWindowIsYoung = () => until(() => Date.now() % 60_000 < 50_000);

let clients = 0;
/** Each test comes from an address of its own; the proxy in front of us is trusted. */
const newClient = (): Record<string, string> => ({ 'X-Forwarded-For': `198.51.100.${(clients += 1)}` });

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: Record<string, unknown>;
    readonly trader?: string;
  };
}

async function ask(path: string, init: RequestInit = {}, base = url): Promise<Reply> {
  const response = await fetch(base + path, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] };
}

const rate = ({ headers }: Reply): (number | null)[] =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((name) => (headers.has(name) ? Number(headers.get(name)) : null));

/** A trader that is its own agent. */
async function selfAgent(): Promise<Wallet> {
  const wallet = new Wallet(generatePrivateKey());
  const body = await authorization(domain, signWith(wallet, domain), { trader: wallet.address, agent: wallet.address });
  expect((await agentsOf({ ...sandbox, post: (path, json) => sandbox.post(path, json, newClient()) }).create(body)).status).toBe(201);
  return wallet;
}

async function read(agent: Wallet, client: Record<string, string>, address = agent.address): Promise<Reply> {
  const path = `${V1}/probe/${address}`;
  return ask(path, { headers: { ...client, ...(await sign(agent, 'probeRead', 'GET', path)) } });
}

async function write(agent: Wallet, client: Record<string, string>, body = '{"note":"x"}'): Promise<Reply> {
  const path = `${V1}/probe`;
  const headers = await sign(agent, 'probeWrite', 'POST', path, body);
  return ask(path, { method: 'POST', body, headers: { ...client, ...headers, 'Content-Type': 'application/json' } });
}

describe('every response', () => {
  it.each([
    ['GET', '/health'],
    ['GET', '/ready'],
    ['GET', '/openapi.json'],
    ['GET', `${V1}/prices`],
    ['GET', `${V1}/prices?x=1`],
    ['GET', `${V1}/nothing`],
    ['DELETE', `${V1}/prices`],
    ['GET', '/v1/nowhere'],
    ['GET', '/nothing'],
    ['GET', '/v1/%FF'],
    ['GET', `${V1}/probe/0x1`],
    ['GET', `${V1}/break/error`],
  ])('to %s %s carries its rate, its id and its ray', async (method, path) => {
    const reply = await ask(path, { method, headers: newClient() });
    expect(rate(reply)).toEqual([40, 39, expect.any(Number)]);
    expect(rate(reply)[2]).toBeGreaterThanOrEqual(1);
    expect(rate(reply)[2]).toBeLessThanOrEqual(60);
    expect(reply.headers.get('x-request-id')).toMatch(/^[\w.:-]{1,64}$/);
    expect(reply.headers.get('cf-ray')).toBe(reply.headers.get('x-request-id'));
  });

  it('keeps the ray of a trusted proxy and a harmless id, and replaces any other', async () => {
    const reply = await ask('/health', { headers: { ...newClient(), 'cf-ray': '8f2a-FRA', 'X-Request-Id': 'abc-123' } });
    expect([reply.headers.get('cf-ray'), reply.headers.get('x-request-id')]).toEqual(['8f2a-FRA', 'abc-123']);
    const other = await ask('/health', { headers: { ...newClient(), 'cf-ray': '<script>', 'X-Request-Id': 'a b' } });
    expect(other.headers.get('cf-ray')).toBe(other.headers.get('x-request-id'));
    expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of a docs page and its assets carries them too', async () => {
    for (const path of ['/docs', '/docs/swagger-ui.css', '/docs/start.js']) {
      const { headers, status } = await fetch(url + path, { headers: newClient() });
      expect([status, headers.get('ratelimit-limit')]).toEqual([200, '40']);
      expect(headers.get('x-request-id')).toMatch(/./);
    }
  });
});

describe('the limit of an address', () => {
  it('lets exactly its number through, then answers 429 with the seconds to wait', async () => {
    await untilWindowIsYoung();
    const client = newClient();
    const all = await Promise.all(Array.from({ length: 45 }, () => ask('/health', { headers: client })));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(40);
    const [refused] = all.filter(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ code: 'RATE_LIMITED', details: { scope: 'ip', retryAfterSeconds: expect.any(Number) } });
    expect(refused?.headers.get('retry-after')).toBe(refused?.headers.get('ratelimit-reset'));
    expect(rate(refused ?? (await ask('/health')))).toEqual([40, 0, expect.any(Number)]);
  });

  it('is one for all endpoints, cached ones included, and each address has its own', async () => {
    await untilWindowIsYoung();
    const client = newClient();
    const paths = [`${V1}/prices`, `${V1}/markets`, '/health', '/nothing'];
    for (let turn = 0; turn < 40; turn += 1) {
      const reply = await ask(paths[turn % 4] ?? '', { headers: client }, sandbox.url);
      expect(rate(reply).slice(0, 2)).toEqual([40, 39 - turn]);
    }
    for (const path of paths) expect((await ask(path, { headers: client }, sandbox.url)).status).toBe(429);
    expect((await ask(`${V1}/prices`, { headers: newClient() }, sandbox.url)).status).toBe(200);
  });

  it('does not count the levers of the sandbox, which still have an id', async () => {
    for (let turn = 0; turn < 50; turn += 1) {
      const reply = await sandbox.post('/sandbox/feed', { paused: false });
      expect([reply.status, reply.headers.get('ratelimit-limit')]).toEqual([200, null]);
      expect(reply.headers.get('x-request-id')).toMatch(/./);
    }
  });
});

describe('the limits of a credential', () => {
  it('are in the headers once they are the tightest, and refuse with scope agent, reads and writes together', async () => {
    await untilWindowIsYoung();
    const agent = await selfAgent();
    const client = newClient();
    const first = await read(agent, client);
    expect([first.status, first.body.trader, ...rate(first).slice(0, 2)]).toEqual([200, agent.address.toLowerCase(), 8, 7]);
    for (let turn = 0; turn < 7; turn += 1) expect((await read(agent, client)).status).toBe(200);
    const refused = await read(agent, client);
    expect([refused.status, refused.body.code, refused.body.details?.['scope']]).toEqual([429, 'RATE_LIMITED', 'agent']);
    expect(rate(refused).slice(0, 2)).toEqual([8, 0]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await write(agent, newClient())).body.details?.['scope']).toBe('agent');
  });

  it('are smaller for writes', async () => {
    await untilWindowIsYoung();
    const agent = await selfAgent();
    const client = newClient();
    expect(rate(await write(agent, client)).slice(0, 2)).toEqual([3, 2]);
    await write(agent, client);
    expect((await write(agent, client)).status).toBe(200);
    const refused = await write(agent, client);
    expect([refused.status, refused.body.details?.['scope']]).toEqual([429, 'agent-writes']);
    expect(rate(refused).slice(0, 2)).toEqual([3, 0]);
    expect((await read(agent, client)).status).toBe(200);
  });

  it('show the address where that is tighter', async () => {
    await untilWindowIsYoung();
    const agent = await selfAgent();
    const client = newClient();
    for (let turn = 0; turn < 36; turn += 1) await ask('/health', { headers: client });
    expect(rate(await read(agent, client)).slice(0, 2)).toEqual([40, 3]);
  });

  it('count an API key as scope agent', async () => {
    await untilWindowIsYoung();
    const trader = await selfAgent();
    const body = await keyIssue(signWith(trader, domain), trader.address, 'desk');
    const issued = (await sandbox.post(`${V1}/api-keys`, body, newClient())).body as { apiKey: string };
    const headers = { ...newClient(), 'X-Service-Api-Key': issued.apiKey };
    const path = `${V1}/probe/${trader.address}`;
    for (let turn = 0; turn < 8; turn += 1) expect(rate(await ask(path, { headers })).slice(0, 2)).toEqual([8, 7 - turn]);
    expect((await ask(path, { headers })).body.details?.['scope']).toBe('agent');
  });
});

describe('the order of checks', () => {
  it('authenticates before it reads: an unknown signer learns nothing about a body', async () => {
    const reply = await ask(`${V1}/probe`, { method: 'POST', body: '{broken', headers: newClient() });
    expect([reply.status, reply.body.code]).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('refuses a signed body that does not fit, and one that was changed after signing', async () => {
    const agent = await selfAgent();
    const client = newClient();
    expect((await write(agent, client, '{"note":1}')).body).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'note' }] },
    });
    const path = `${V1}/probe`;
    const headers = await sign(agent, 'probeWrite', 'POST', path, '{"note":"x"}');
    const changed = await ask(path, {
      method: 'POST',
      body: '{"note": "x"}',
      headers: { ...client, ...headers, 'Content-Type': 'application/json' },
    });
    expect([changed.status, changed.body.code]).toEqual([401, 'INVALID_SIGNATURE']);
  });

  it('signs the path with its query, exactly as sent', async () => {
    const agent = await selfAgent();
    const path = `${V1}/probe/${agent.address}?x=%41&y`;
    const headers = { ...newClient(), ...(await sign(agent, 'probeRead', 'GET', path)) };
    const reply = await ask(path, { headers });
    // Authenticated, so that only the unknown parameters are left to refuse.
    expect(reply.body).toMatchObject({ code: 'VALIDATION_ERROR', details: { issues: [{ path: 'x' }, { path: 'y' }] } });
    const other = { ...newClient(), ...(await sign(agent, 'probeRead', 'GET', path)) };
    expect((await ask(path.replace('%41', 'A'), { headers: other })).body.code).toBe('INVALID_SIGNATURE');
  });

  it('lets an account be read by its own credentials alone, in any letter case', async () => {
    const [agent, other] = [await selfAgent(), await selfAgent()];
    const client = newClient();
    const reply = await read(agent, client, other.address);
    expect([reply.status, reply.body.code, reply.body.details]).toEqual([403, 'TRADER_MISMATCH', { address: other.address }]);
    expect((await read(agent, client, agent.address.toLowerCase())).status).toBe(200);
  });
});

describe('credentials that are not good', () => {
  const signed = (agent: Wallet, request: { timestamp?: number; nonce?: bigint } = {}) => {
    const path = `${V1}/probe/${agent.address}`;
    return {
      path,
      headers: signRequest(agent, chainBySlug('arbitrum-sepolia'), { operationId: 'probeRead', method: 'GET', path, ...request }),
    };
  };
  const statusAndCode = async ({ path, headers }: ReturnType<typeof signed>): Promise<unknown[]> => {
    const { status, body } = await ask(path, { headers: { ...newClient(), ...(await headers) } });
    return [status, body.code];
  };
  const newWallet = () => new Wallet(generatePrivateKey());

  it('are refused by their own code: absent, unknown, late, repeated', async () => {
    const agent = await selfAgent();
    expect((await ask(`${V1}/probe/${agent.address}`, { headers: newClient() })).body.code).toBe('UNAUTHENTICATED');
    expect(await statusAndCode(signed(newWallet()))).toEqual([401, 'AGENT_UNKNOWN']);
    expect(await statusAndCode(signed(agent, { timestamp: Date.now() - 60_000 }))).toEqual([401, 'TIMESTAMP_OUT_OF_WINDOW']);
    expect(await statusAndCode(signed(agent, { nonce: 7n }))).toEqual([200, undefined]);
    expect(await statusAndCode(signed(agent, { nonce: 7n }))).toEqual([401, 'NONCE_REUSED']);
    const key = { ...newClient(), 'X-Service-Api-Key': 'nobody-has-this' };
    expect((await ask(`${V1}/probe/${agent.address}`, { headers: key })).body.code).toBe('API_KEY_UNKNOWN');
  });

  it('are refused by the state of their agent: not delegated, revoked, read only', async () => {
    const trader = newWallet();
    const agent = newWallet();
    const create = async (options: { agent: string; scope?: ScopeBody }) => {
      const body = await authorization(domain, signWith(trader, domain), { trader: trader.address, ...options });
      expect((await sandbox.post(`${V1}/agents`, body, newClient())).status).toBe(201);
    };
    await create({ agent: agent.address });
    const path = `${V1}/probe/${trader.address}`;
    const refused = await ask(path, { headers: { ...newClient(), ...(await sign(agent, 'probeRead', 'GET', path)) } });
    expect([refused.status, refused.body.code]).toEqual([403, 'AGENT_NOT_DELEGATED']);
    expect(refused.body.details).toMatchObject({ delegate: null, delegationTx: { chainId: 421614 } });

    await create({ agent: trader.address, scope: { ...EVERYTHING, permissions: 'read' } });
    expect((await write(trader, newClient())).body.code).toBe('SCOPE_READ_ONLY');
    const revoked = await revocation(signWith(trader, domain), trader.address, trader.address);
    await sandbox.call(`${V1}/agents/${trader.address}`, {
      method: 'DELETE',
      body: JSON.stringify(revoked),
      headers: { ...newClient(), 'Content-Type': 'application/json' },
    });
    expect((await read(trader, newClient())).body.code).toBe('AGENT_REVOKED');
  });
});

describe('an unexpected error', () => {
  it.each(['error', 'string', 'reply'])('becomes INTERNAL with a request id and nothing of the inside (%s)', async (how) => {
    const reply = await ask(`${V1}/break/${how}`, { headers: newClient() });
    const id = reply.headers.get('x-request-id');
    expect([reply.status, reply.body.code, reply.body.details]).toEqual([500, 'INTERNAL', { requestId: id }]);
    expect(JSON.stringify(reply.body)).not.toMatch(/secret|hunter2|Error|\.ts/);
    expect(sandbox.log.entries).toContainEqual(
      expect.objectContaining({ event: 'http.internal-error', fields: expect.objectContaining({ requestId: id }) }),
    );
  });
});
