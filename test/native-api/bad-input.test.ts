import { connect } from 'node:net';
import { once } from 'node:events';
import { z } from 'zod';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';

let sandbox: TestVenue;

beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

const V1 = '/v1/arbitrum-sepolia';
const JSON_HEADERS = { 'Content-Type': 'application/json' };

const ErrorBody = z.strictObject({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() });

interface Reply {
  readonly status: number;
  readonly code: string;
  readonly paths: readonly string[];
  readonly headers: Headers;
}

async function ask(method: string, path: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(`${sandbox.url}${path}`, { ...init, method });
  const body = ErrorBody.parse(await response.json());
  const issues = (body.details?.['issues'] ?? []) as { path: string }[];
  return { status: response.status, code: body.code, paths: issues.map((issue) => issue.path), headers: response.headers };
}

/** Bytes in, bytes out: what no HTTP client would send. */
async function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(sandbox.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

describe('a path that fits nothing', () => {
  it.each([
    ['GET', '/v1/solana/markets', 404, 'CHAIN_NOT_FOUND'],
    ['DELETE', '/v1/solana/markets', 404, 'CHAIN_NOT_FOUND'],
    ['GET', '/v1/base', 404, 'CHAIN_NOT_FOUND'],
    ['GET', '/v1/__proto__', 404, 'CHAIN_NOT_FOUND'],
    ['GET', '/v1/constructor/markets', 404, 'CHAIN_NOT_FOUND'],
    ['GET', `${V1}/nothing`, 422, 'UNSUPPORTED'],
    ['GET', `${V1}/__proto__`, 422, 'UNSUPPORTED'],
    ['GET', `${V1}/markets/`, 422, 'UNSUPPORTED'],
    ['GET', `${V1}/`, 422, 'UNSUPPORTED'],
    ['GET', `${V1}/MARKETS`, 422, 'UNSUPPORTED'],
    ['GET', `${V1}//markets`, 422, 'UNSUPPORTED'],
    ['POST', `${V1}/markets`, 422, 'UNSUPPORTED'],
    ['PUT', `${V1}/prices`, 422, 'UNSUPPORTED'],
    ['OPTIONS', `${V1}/prices`, 422, 'UNSUPPORTED'],
    ['GET', '/nothing', 404, 'UNSUPPORTED'],
    ['GET', '/nothing', 404, 'UNSUPPORTED'],
    ['GET', '/V1/arbitrum-sepolia', 404, 'UNSUPPORTED'],
    ['GET', '/v1', 404, 'UNSUPPORTED'],
    ['GET', '/docs/../package.json', 404, 'UNSUPPORTED'],
    ['GET', '/docs/%2e%2e/package.json', 404, 'UNSUPPORTED'],
    ['GET', '/docs/package.json', 404, 'UNSUPPORTED'],
    ['GET', '/v1/%E0%A4%A', 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/markets/%FF`, 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/markets/%00`, 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/markets/${encodeURIComponent('比特币/美元')}`, 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/markets/${encodeURIComponent('BTC/USD/../x')}`, 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/markets/NOPE-USD`, 404, 'MARKET_NOT_FOUND'],
    ['GET', `${V1}/markets?verbose=1`, 400, 'VALIDATION_ERROR'],
    ['GET', `${V1}/prices?__proto__=1`, 400, 'VALIDATION_ERROR'],
    ['GET', `/health?x`, 400, 'VALIDATION_ERROR'],
  ])('%s %s is %i %s', async (method, path, status, code) => {
    const reply = await ask(method, path);
    expect([reply.status, reply.code]).toEqual([status, code]);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('is answered with the methods it has', async () => {
    expect((await ask('DELETE', `${V1}/markets`)).headers.get('allow')).toBe('GET, HEAD');
  });

  it('is named where a query parameter is unknown', async () => {
    expect((await ask('GET', `${V1}/prices?verbose=1&page=2`)).paths).toEqual(['verbose', 'page']);
  });
});

describe('HEAD', () => {
  it('answers what GET would, without its body', async () => {
    for (const path of ['/health', `${V1}/prices`, `${V1}/nothing`]) {
      const [head, get] = await Promise.all([fetch(sandbox.url + path, { method: 'HEAD' }), fetch(sandbox.url + path)]);
      expect([head.status, await head.text()]).toEqual([get.status, '']);
      expect(head.headers.get('x-request-id')).toMatch(/./);
    }
  });
});

describe('a body', () => {
  const agents = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_HEADERS) =>
    ask('POST', `${V1}/agents`, { body, headers });

  it.each([
    ['nothing', ''],
    ['broken JSON', '{"trader":'],
    ['a list', '[]'],
    ['a number', '1'],
    ['null', 'null'],
    ['text that is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['JSON nested without end', '['.repeat(100_000)],
  ])('of %s is a VALIDATION_ERROR', async (_what, body) => {
    const reply = await agents(body);
    expect([reply.status, reply.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('has its twin keys, prototype keys and NULs named', async () => {
    expect((await agents('{"trader":"0x1","trader":"0x2"}')).paths).toEqual(['trader']);
    expect((await agents('{"scope":{"__proto__":{"permissions":"trade"}}}')).paths).toEqual(['scope.__proto__']);
    expect((await agents('{"name":"a\\u0000"}')).paths).toEqual(['name']);
  });

  it('has unknown and wrong fields named, each by its path', async () => {
    const reply = await agents(JSON.stringify({ trader: 5, agent: '0xZZ', extra: 1, constructor: 1 }));
    expect(reply.code).toBe('VALIDATION_ERROR');
    expect(reply.paths).toEqual(expect.arrayContaining(['trader', 'agent', 'extra', 'constructor']));
  });

  it.each([
    ['DELETE', `${V1}/agents/0x${'1'.repeat(40)}`],
    ['POST', `${V1}/api-keys`],
  ])('of %s %s with an address that goes on behind its end has it named', async (method, path) => {
    const trader = '0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359*';
    const { status, paths } = await ask(method, path, { headers: JSON_HEADERS, body: JSON.stringify({ trader }) });
    expect(status).toBe(400);
    expect(paths).toContain('trader');
  });

  it('must be JSON by its content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', 'application/jsonx'])
      expect((await agents('{}', { 'Content-Type': type })).code).toBe('VALIDATION_ERROR');
  });

  it('may not be compressed', async () => {
    expect((await agents('{}', { ...JSON_HEADERS, 'Content-Encoding': 'gzip' })).code).toBe('VALIDATION_ERROR');
  });

  it('is refused where none is taken', async () => {
    const answer = await raw(`GET ${V1}/prices HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('VALIDATION_ERROR');
  });

  it('of more than 256 KiB is refused and its connection closed, announced or not', async () => {
    const limit = 256 * 1024;
    const reply = await agents('x'.repeat(limit + 1));
    expect([reply.status, reply.code, reply.headers.get('connection')]).toEqual([400, 'VALIDATION_ERROR', 'close']);
    expect((await agents(' '.repeat(limit))).headers.get('connection')).not.toBe('close');
    const head = `POST ${V1}/agents HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    const chunk = `${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}\r\n`;
    const texts = [`${head}Content-Length: 99999999999\r\n\r\n{`, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`];
    for (const answer of await Promise.all(texts.map(raw))) expect(answer).toContain('must not exceed 256 KiB');
  });

  it('of the native API or of an action in pieces of single bytes is refused before they are read on', async () => {
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const paths = [`${V1}/agents`, '/hl/arbitrum-sepolia/exchange'];
    for (const answer of await Promise.all(paths.map((path) => raw(`${head(path)}${'1\r\n \r\n'.repeat(5_000)}`)))) {
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('must not arrive in more than 4096 pieces');
      expect(answer.toLowerCase()).toContain('connection: close');
    }
  });

  it.each([
    ['of the native API', `${V1}/agents`, 400],
    ['of an info request', '/hl/arbitrum-sepolia/info', 422],
    ['of an action', '/hl/arbitrum-sepolia/exchange', 400],
    ['for the operator', '/relayer/switches', 400],
    ['for the sandbox', '/sandbox/price', 400],
  ])('%s that is nested without end is refused before anything walks it', async (_name, path, status) => {
    const { operatorToken } = (await (await fetch(`${sandbox.url}/sandbox`)).json()) as { operatorToken: string };
    const body = `{"type":"meta","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const headers = { ...JSON_HEADERS, Authorization: `Bearer ${operatorToken}` };
    const response = await fetch(`${sandbox.url}${path}`, { method: 'POST', headers, body });
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(status === 400 ? /nested deeper than 32 levels/ : /^Failed to deserialize/);
  });

  it('may break off without harm', async () => {
    const { hostname, port } = new URL(sandbox.url);
    const socket = connect(Number(port), hostname);
    socket.write(`POST ${V1}/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"a"`);
    await once(socket, 'connect');
    socket.destroy();
    expect((await sandbox.get('/health')).status).toBe(200);
    expect(sandbox.log.entries.filter(({ event }) => event === 'http.internal-error')).toEqual([]);
  });
});

describe('a page of another origin', () => {
  const request = (method: string, path: string, lines: readonly string[], body = ''): Promise<string> =>
    raw(`${method} ${path} HTTP/1.1\r\n${['Connection: close', `Content-Length: ${body.length}`, ...lines].join('\r\n')}\r\n\r\n${body}`);
  const pause = '{"paused":true}';

  it.each([
    ['reads no key under a name of its own', 'GET', '/sandbox', ['Host: attacker.example'], ''],
    ['reads no key as part of itself', 'GET', '/sandbox', ['Host: localhost', 'Sec-Fetch-Site: cross-site'], ''],
    ['sends no form as text', 'POST', '/sandbox/feed', ['Host: localhost', 'Content-Type: text/plain'], pause],
    [
      'sends no JSON',
      'POST',
      '/sandbox/feed',
      ['Host: localhost', 'Origin: https://attacker.example', 'Content-Type: application/json'],
      pause,
    ],
    ["does not reach the operator's routes", 'GET', '/relayer/status', ['Host: localhost', 'Origin: https://attacker.example'], ''],
    ['reads no metrics', 'GET', '/metrics', ['Host: localhost', 'Sec-Fetch-Site: cross-site'], ''],
  ])('%s', async (_name, method, path, lines, body) => {
    expect(await request(method, path, lines, body)).toMatch(/^HTTP\/1\.1 422 [^]*"code":"UNSUPPORTED"/);
  });

  it('is what programs are not', async () => {
    expect(await request('GET', '/sandbox', ['Host: 127.0.0.1'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await request('POST', '/sandbox/feed', ['Host: localhost'], '{"paused":false}')).toMatch(/^HTTP\/1\.1 200 /);
    expect(await request('GET', '/relayer/status', ['Host: gateway-1:8080'])).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('a page of an integrator', () => {
  const asked = { Origin: 'https://integrator.example', 'Access-Control-Request-Method': 'DELETE' };

  it('may sign any request of the native API', async () => {
    const wanted = 'content-type,x-service-agent,x-service-timestamp,x-service-nonce,x-service-signature,x-service-api-key,prefer';
    const { status, headers } = await fetch(`${sandbox.url}${V1}/orders/x`, {
      method: 'OPTIONS',
      headers: { ...asked, 'Access-Control-Request-Headers': wanted },
    });
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-methods')).toContain('DELETE');
    const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect(allowed).toEqual(expect.arrayContaining(wanted.split(',')));
    expect(headers.has('access-control-allow-credentials')).toBe(false);
  });

  it.each([`${V1}/markets`, `${V1}/markets`, `${V1}/nothing`, '/health', '/openapi.json'])(
    'reads the answer of %s, how much is left and how it is called',
    async (path) => {
      const { headers } = await fetch(`${sandbox.url}${path}`, { headers: { Origin: 'https://integrator.example' } });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      for (const name of ['RateLimit-Remaining', 'Retry-After', 'X-Request-Id'])
        expect(headers.get('access-control-expose-headers')).toContain(name);
    },
  );

  it.each(['/sandbox', '/sandbox/feed', '/relayer/status', '/metrics'])('gets no word of %s', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const { headers } = await fetch(`${sandbox.url}${path}`, { method, headers: asked });
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('what is no HTTP', () => {
  it('may expect what we do not know, and is answered like any other', async () => {
    const answer = await raw('GET /health HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nX-Request-Id: \S+\r\n/);
    expect(answer).toMatch(/\r\nRateLimit-Remaining: \d+\r\n/);
  });

  it.each([
    'HELO\r\n\r\n',
    'GET /health HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nno colon here\r\n\r\n',
    `GET / HTTP/1.1\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
  ])('is a VALIDATION_ERROR with a request id: %.20j', async (text) => {
    const answer = await raw(text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nX-Request-Id: \S+\r\n/);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});
