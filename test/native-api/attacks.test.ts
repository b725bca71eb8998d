import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { approveAgent, postExchange } from '../harness/hyperliquid/exchange.js';
import { newFacadeTrader, FACADE_CHAIN } from '../harness/traders/facade-trader.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** Requests of a sender without rights, and what becomes of the others. */

const TOKEN = 'a-token-of-sixteen-or-more';
const LIMIT = 60;
let sandbox: TestVenue;

beforeAll(async () => {
  sandbox = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, RATE_LIMIT_IP: String(LIMIT), TRUSTED_PROXIES: '127.0.0.1' });
});
afterAll(() => sandbox.stop());

const from = (address: string, token?: string): Record<string, string> => ({
  'X-Forwarded-For': address,
  ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
});

const exhaust = async (headers: Record<string, string>): Promise<void> => {
  const answers = await Promise.all(Array.from({ length: LIMIT + 5 }, () => fetch(`${sandbox.url}/relayer/status`, { headers })));
  expect(answers.some(({ status }) => status === 429)).toBe(true);
};

it('guesses at the token of the operator are limited, and the right one from the same address is not', async () => {
  await exhaust(from('198.51.100.7', 'b-token-of-sixteen-or-more'));
  const ask = async (path: string, token?: string) => (await fetch(sandbox.url + path, { headers: from('198.51.100.7', token) })).status;
  expect(await ask('/relayer/status', TOKEN)).toBe(200);
  expect(await ask('/metrics', TOKEN)).toBe(200);
  expect(await ask('/relayer/status', `${TOKEN}x`)).toBe(429);
  // The token opens no other path.
  expect(await ask('/v1', TOKEN)).toBe(429);
});

async function upgrade(path: string, headers: Record<string, string>): Promise<number> {
  const asked = request(sandbox.url + path, {
    headers: {
      ...headers,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  }).end();
  const answered = await Promise.race([once(asked, 'response'), once(asked, 'upgrade')]);
  asked.destroy();
  return (answered[0] as { readonly statusCode: number }).statusCode;
}

it.each([`/hl/${FACADE_CHAIN}/ws`, `/v1/${FACADE_CHAIN}/ws`])('a socket over the limit is refused with 429 on %s', async (path) => {
  const headers = from(`198.51.100.${path.charCodeAt(1)}`);
  expect(await upgrade(path, headers)).toBe(101);
  await exhaust(headers);
  expect(await upgrade(path, headers)).toBe(429);
});

it.each([
  ['', ''],
  ['', `Connection: Upgrade\r\nUpgrade: websocket\r\n`],
])('a request with two hosts is refused, also as a handshake', async (_none, more) => {
  const { hostname, port } = new URL(sandbox.url);
  const send = async (hosts: string): Promise<string> => {
    const socket = connect(Number(port), hostname);
    socket.write(`GET /v1/${FACADE_CHAIN}/ws HTTP/1.1\r\n${hosts}${more}Content-Length: 0\r\n\r\n`);
    setImmediate(() => socket.write('GET / HTTP/1.0\r\n\r\n'));
    return text(socket);
  };
  const said = await send('Host: a\r\nhost: b\r\n');
  expect(said).toMatch(/^HTTP\/1\.1 400 /);
  expect(said).toContain('is not a readable HTTP request');
});

describe('a name with characters that a reader does not see', () => {
  const HIDDEN = ['\u0007', '\u200f', '\u202e', '\u2066', '\u2028'];

  it('is refused by both APIs for agents and API keys, and can be removed', async () => {
    const { trader } = await newFacadeTrader(sandbox);
    const master = new Wallet(trader.privateKey);
    for (const [at, hidden] of HIDDEN.entries()) {
      const approval = await approveAgent(master, new Wallet(generatePrivateKey()).address, `bot${hidden}x`, { network: 'Testnet' });
      const { status, body } = await postExchange(sandbox.url, FACADE_CHAIN, approval, { headers: from(`203.0.113.${at}`) });
      expect([status, body]).toEqual([200, { status: 'err', response: 'Agent name must not contain control or direction characters.' }]);
      for (const [path, field] of [
        ['agents', 'name'],
        ['api-keys', 'label'],
      ] as const) {
        const reply = await sandbox.post(`/v1/${FACADE_CHAIN}/${path}`, { [field]: `bot${hidden}x` });
        const issues = (reply.body as { details: { issues: { path: string; message: string }[] } }).details.issues;
        expect([reply.status, issues.find(({ path: of }) => of === field)?.message]).toEqual([
          400,
          expect.stringMatching(/no control characters|control a line or its direction/),
        ]);
      }
    }
    const removal = await approveAgent(master, `0x${'0'.repeat(40)}`, `bot\u202ex`, { network: 'Testnet' });
    expect((await postExchange(sandbox.url, FACADE_CHAIN, removal)).body).toMatchObject({ status: 'ok' });
  });
});
