import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { exchange, post, rpcPlace } from '../../../../core/adapters/evm/rpc-client.js';
import { eventually } from '../../../harness/time/eventually.js';
import { answer, closeFaultyNodes, RESULT, startBytes, startFaultyNode } from '../../../harness/servers/faulty-node.js';

afterEach(closeFaultyNodes);

const ask = (url: string, timeoutMs = 5_000): ReturnType<typeof exchange> =>
  exchange(rpcPlace(url), [{ method: 'eth_blockNumber' }], { timeoutMs, clock: systemClock });
const askLogs = (url: string): ReturnType<typeof exchange> =>
  exchange(rpcPlace(url), [{ method: 'eth_getLogs', params: [] }], { timeoutMs: 20_000, clock: systemClock });
const withUser = (url: string): string => url.replace('http://', 'http://user:hunter2@');
const saidBy = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error ? error.message : 'nothing'),
  );

describe('an answer', () => {
  it('is asked for packed where it may be large, and read either way', async () => {
    const kinds: (string | undefined)[] = [];
    const node = await startFaultyNode((request, response) => {
      kinds.push(request.headers['accept-encoding']);
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(RESULT));
    });
    expect(await askLogs(node.url)).toEqual(await ask(node.url));
    expect(kinds).toEqual(['gzip', undefined]);
  });

  it('that unpacks to more than the limit is dropped, and its connection with it', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, 0x20), { level: 1 });
    let isGone = false;
    const node = await startFaultyNode((request, response) => {
      request.socket.on('close', () => (isGone = true));
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(bomb); // and never ends
    });
    expect(await saidBy(askLogs(node.url))).toBe('its answer is too large');
    await eventually(
      () => isGone,
      (gone) => gone,
    );
  });

  it.each([
    ['packed', { 'content-encoding': 'gzip' }],
    ['plain', {}],
  ])('that says it will be too large is not waited for (%s)', async (_how, headers) => {
    const node = await startFaultyNode((_request, response) => {
      response.writeHead(200, { 'content-length': String(65 * 1024 * 1024), ...headers }).write('no gzip at all');
    });
    for (let round = 0; round < 5; round += 1) expect(await saidBy(askLogs(node.url))).toBe('its answer is too large');
  });

  it('that is badly packed, or packed and cut short, is none', async () => {
    for (const bytes of [Buffer.from('no gzip at all'), gzipSync(RESULT).subarray(0, -9)]) {
      const node = await startFaultyNode((_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes));
      expect(await saidBy(askLogs(node.url))).toBe('cannot be reached (its answer is badly packed)');
    }
  });

  it('that breaks off is none, however it breaks off', async () => {
    const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"jsonrpc"';
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"jso\r\n';
    const packed = 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Encoding: gzip\r\n\r\n';
    const ends: ((socket: Socket) => void)[] = [
      (socket) => socket.end(begun),
      (socket) => socket.end(chunked),
      (socket) => socket.end(Buffer.concat([Buffer.from(packed), gzipSync(RESULT).subarray(0, 20)])),
      (socket) => socket.write(begun, () => socket.resetAndDestroy()),
      (socket) => socket.end('HTTP/1.1 200'),
      (socket) => socket.end(),
    ];
    for (const end of ends) expect(await saidBy(askLogs(await startBytes(end)))).toMatch(/^cannot be reached \(ECONNRESET\)$/);
  });

  it('that is no HTTP, or HTTP of another kind, is none', async () => {
    for (const bytes of ['SSH-2.0-server\r\n\r\n', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`])
      expect(await saidBy(ask(await startBytes((socket) => socket.end(bytes))))).toMatch(/^cannot be reached \(HPE_\w+\)$/);
    const upgrade = await startBytes((socket) => socket.write('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'));
    expect(await saidBy(ask(upgrade, 500))).not.toBe('answered');
  });

  it.each([
    ['its head', 'HTTP/1.1 200 OK\r\n'],
    ['its body', 'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n'],
  ])('that drips through %s is waited for no longer than one that does not come', async (_what, begun) => {
    let isGone = false;
    const url = await startBytes((socket) => {
      socket.write(begun);
      const drip = setInterval(() => socket.write('X-A: b\r\n'), 20);
      socket.on('close', () => (clearInterval(drip), (isGone = true)));
    });
    expect(await saidBy(ask(url, 400))).toBe('no answer within 0.4 s');
    await eventually(
      () => isGone,
      (gone) => gone,
    );
  });
});

describe('a refusal', () => {
  it('says nothing of the address but a code', async () => {
    const node = await startFaultyNode(answer);
    const gone = await startFaultyNode(answer);
    gone.close();
    const secret = 'v2/SECRET-KEY?token=SECRET-KEY';
    const said = [
      await saidBy(ask(withUser(gone.url) + secret)),
      await saidBy(ask(withUser(node.url).replace('http:', 'https:') + secret)),
      await saidBy(ask(`http://user:hunter2@no-such-host.invalid/${secret}`)),
    ];
    expect(said).toEqual([
      'cannot be reached (ECONNREFUSED)',
      expect.stringMatching(/^cannot be reached \([A-Z_]+\)$/),
      expect.stringMatching(/^cannot be reached \((ENOTFOUND|EAI_AGAIN)\)$/),
    ]);
    const fault: unknown = await post(rpcPlace(withUser(gone.url) + secret), '{}', {
      timeoutMs: 1_000,
      clock: systemClock,
      isLarge: false,
    }).catch((error: unknown) => error);
    expect(fault instanceof Error ? `${fault.stack} ${JSON.stringify(fault)}` : 'answered').not.toMatch(/SECRET-KEY|hunter2|answered/);
  });
});
