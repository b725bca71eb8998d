import { gzipSync } from 'node:zlib';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo, type InfoReply } from '../../harness/hyperliquid/info.js';
import { hlSocket } from '../../harness/hyperliquid/socket.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await startOwnVenue();
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());

const BASE = '/hl/arbitrum-sepolia';
const MIDS = JSON.stringify({ type: 'allMids' });
const UNFITTING = 'Failed to deserialize the JSON body into the target type';

describe('the info handler', () => {
  it('answers a body with an unknown type as Hyperliquid does', async () => {
    const { status, type, text } = await info.send('{"type":"blockDetails","height":1}');
    expect([status, type, text]).toEqual([422, 'text/plain; charset=utf-8', UNFITTING]);
  });

  it.each(['', '{'])('answers %j, which is no JSON, with a text', async (body) => {
    const { status, type } = await info.send(body);
    expect([status, type]).toEqual([400, 'text/plain; charset=utf-8']);
  });

  it('answers whatever is nested too deep for a shape without failing', async () => {
    const { status } = await info.send('['.repeat(20_000) + ']'.repeat(20_000));
    expect(status).toBe(422);
  });

  it('refuses a megabyte, announced or not, with an answer', async () => {
    const large = JSON.stringify({ type: 'allMids', dex: 'x'.repeat(1024 * 1024) });
    expect((await info.send(large)).status).toBe(422);
    const bomb = gzipSync(large);
    expect((await info.send(bomb, { headers: { 'Content-Encoding': 'gzip' } })).status).toBe(422);
  });

  it.each([`${BASE}/info`, `${BASE}//info`, `${BASE}/info/`, `//hl//arbitrum-sepolia//info//`, `${BASE}/info?x=1`])(
    'is found at %s',
    async (path) => {
      expect((await info.send(MIDS, {}, path)).status).toBe(200);
    },
  );

  it('needs no Content-Type, takes gzip, and is open to every page', async () => {
    const plain = await info.send(new TextEncoder().encode(MIDS));
    const packed = await info.send(gzipSync(MIDS), { headers: { 'Content-Encoding': 'gzip' } });
    expect([plain.status, packed.status]).toEqual([200, 200]);
    expect(plain.headers.get('access-control-allow-origin')).toBe('*');
    const preflight = await fetch(`${sandbox.url}${BASE}/info`, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, '*']);
    expect((await info.send(gzipSync(MIDS).subarray(3), { headers: { 'Content-Encoding': 'gzip' } })).status).toBe(422);
    expect((await info.send(MIDS, { headers: { 'Content-Encoding': 'br' } })).status).toBe(422);
  });

  it('answers in texts where nothing of Hyperliquid fits', async () => {
    const elsewhere = await info.send(MIDS, {}, '/hl/nowhere/info');
    expect([elsewhere.status, elsewhere.type]).toEqual([404, 'text/plain; charset=utf-8']);
    const other = await info.send(MIDS, {}, `${BASE}/nothing`);
    expect([other.status, other.type]).toEqual([404, 'text/plain; charset=utf-8']);
    const got = await fetch(`${sandbox.url}${BASE}/info`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('names every answer, so that it can be found in the log', async () => {
    const { headers } = await info.send('{}', { headers: { 'X-Request-Id': 'mine-7' } });
    expect([headers.get('x-request-id'), headers.get('cf-ray')]).toEqual(['mine-7', 'mine-7']);
  });
});

describe('an address that asks too much', () => {
  it('pays for each question what it weighs, and for long answers more, over HTTP and over a socket alike', async () => {
    const strict = await startOwnVenue({ RATE_LIMIT_INFO_WEIGHT: '200' });
    const client = hlInfo(strict);
    const left = ({ headers }: InfoReply) => Number(headers.get('ratelimit-remaining'));
    const ask = async (body: object) => client.send(JSON.stringify(body));
    try {
      const user = `0x${'12'.repeat(20)}`;
      // What is counted in one minute is free again in the next: all of it has to happen in the same one.
      await eventually(
        () => 60 - (Date.now() % 60_000) / 1_000,
        (seconds) => seconds > 15,
      );
      const first = await ask({ type: 'allMids' });
      const steps: [object, number][] = [
        [{ type: 'allMids' }, 2],
        [{ type: 'clearinghouseState', user }, 2],
        [{ type: 'meta' }, 20],
        [{ type: 'meta' }, 20],
        [{ type: 'userFees', user }, 20],
        [{ type: 'userRole', user }, 60],
        [{ type: 'orderStatus', user, oid: 1 }, 2],
      ];
      let before = left(first);
      for (const [body, weight] of steps) {
        const reply = await ask(body);
        expect([body, reply.status, before - left(reply)]).toEqual([body, 200, weight]);
        before = left(reply);
      }
      const socket = await hlSocket(strict.url);
      expect(await socket.post('info', { type: 'userRole', user })).toMatchObject({ type: 'info' });
      expect(await socket.post('info', { type: 'userRole', user })).toMatchObject({ type: 'error' });
      const refused = await ask({ type: 'meta' });
      expect(refused).toMatchObject({ status: 429, text: 'null', type: 'application/json' });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await socket.close();
    } finally {
      await strict.stop();
    }
  });
});

describe('an address that asks too often', () => {
  it('is answered null with the status and the wait that clients know', async () => {
    const strict = await startOwnVenue({ RATE_LIMIT_IP: '30' });
    try {
      const client = hlInfo(strict);
      const replies = await Promise.all(Array.from({ length: 70 }, () => client.send(MIDS)));
      const refused = replies.find(({ status }) => status === 429);
      expect(refused).toMatchObject({ text: 'null', type: 'application/json' });
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await strict.stop();
    }
  });
});
