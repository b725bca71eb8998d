import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { systemRandom } from '../../core/adapters/system/clock.js';
import { listen, type Listening } from '../../http/listen.js';
import { eventually } from '../harness/time/eventually.js';

const open: { http: Listening[]; sockets: Socket[] } = { http: [], sockets: [] };
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy();
  for (const http of open.http.splice(0)) await http.close();
});

async function start(options: Partial<Parameters<typeof listen>[2]> = {}): Promise<Listening> {
  const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom, ...options });
  open.http.push(http);
  return http;
}

/** A client that never closes its side by itself. */
async function stubborn({
  url,
}: Listening): Promise<{ readonly socket: Socket; readonly isGone: () => boolean; readonly isEnded: () => boolean }> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  open.sockets.push(socket);
  let isGone = false;
  let isEnded = false;
  socket
    .on('error', () => undefined)
    .on('close', () => (isGone = true))
    .on('end', () => (isEnded = true));
  socket.resume();
  await once(socket, 'connect');
  return { socket, isGone: () => isGone, isEnded: () => isEnded || isGone };
}

const QUICK = { headersMs: 20, requestMs: 40, checkMs: 10, lingerMs: 10, keepAliveMs: 90_000 };
/** For a client that behaves well: also on a busy machine its headers come in time. */
const PATIENT = { ...QUICK, headersMs: 2_000, requestMs: 4_000 };

describe('a slow client', () => {
  it.each([
    ['sends a header now and then', 'GET / HTTP/1.1\r\nHost: here\r\nX-Slow: '],
    ['never ends its body', 'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\nx'],
    ['sends what is no HTTP', 'hello\r\n\r\n'],
  ])('that %s is dropped, though it does not close its side', async (_name, text) => {
    const http = await start({ times: QUICK });
    http.serve((request) => void request.resume());
    const { socket, isGone } = await stubborn(http);
    socket.write(text);
    await eventually(
      () => {
        if (socket.writable) socket.write('x');
        return isGone();
      },
      (gone) => gone,
    );
  });
});

describe('connections', () => {
  const answers = async (http: Listening): Promise<boolean> => {
    const { socket, isEnded } = await stubborn(http);
    let said = '';
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n');
    await eventually(isEnded, (ended) => ended);
    socket.destroy();
    return said.startsWith('HTTP/1.1 200 ');
  };

  it('are bounded for each address, and counted again once they are gone', async () => {
    const http = await start({ connections: { total: 100, perAddress: 2 } });
    http.serve((_request, response) => void response.setHeader('Connection', 'close').end());
    const [first] = [await stubborn(http), await stubborn(http)];
    const third = await stubborn(http);
    await eventually(third.isEnded, (ended) => ended);
    expect(await answers(http)).toBe(false);
    first.socket.destroy();
    await eventually(
      () => answers(http),
      (isAnswered) => isAnswered,
    );
  });

  it('are bounded in all', async () => {
    const http = await start({ connections: { total: 1, perAddress: 100 }, trustedProxies: 1 });
    await stubborn(http);
    const second = await stubborn(http);
    await eventually(second.isEnded, (ended) => ended);
  });

  it('of trusted proxies are not those of one client', async () => {
    const http = await start({ connections: { total: 100, perAddress: 1 }, trustedProxies: 1 });
    http.serve((_request, response) => void response.end());
    await stubborn(http);
    expect(await answers(http)).toBe(true);
  });

  it('are counted once, though a declined upgrade is read again', async () => {
    const http = await start({ connections: { total: 100, perAddress: 1 } });
    http.serve((_request, response) => void response.end('plain'), {
      wants: () => true,
      take: (_request, _socket, _head, decline) => decline(),
      close: () => Promise.resolve(),
    });
    const { socket } = await stubborn(http);
    const chunks: string[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await eventually(
      () => chunks.join(''),
      (text) => text.endsWith('plain'),
    );
  });
});

describe('an idle client', () => {
  const GET = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n';

  async function served(http: Listening) {
    http.serve((_request, response) => void response.end('well'));
    const client = await stubborn(http);
    let said = '';
    client.socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ask = (): Promise<string> => {
      said = '';
      client.socket.write(GET);
      return eventually(
        () => said,
        (text) => text.endsWith('well'),
      );
    };
    return { ...client, ask };
  }

  it('may reuse its connection for 90 seconds', async () => {
    const { ask } = await served(await start());
    expect(await ask()).toContain('Keep-Alive: timeout=90\r\n');
  });

  it('is served again on its connection although a client that is slow with its headers is dropped meanwhile', async () => {
    const http = await start({ times: PATIENT });
    const idle = await served(http);
    await idle.ask();
    const slow = await stubborn(http);
    slow.socket.write('GET / HTTP/1.1\r\n');
    await eventually(slow.isEnded, (ended) => ended);
    expect(await idle.ask()).toContain('HTTP/1.1 200 ');
  });

  it('that says nothing for that long is closed', async () => {
    const { ask, isEnded } = await served(await start({ times: { ...PATIENT, keepAliveMs: 10 } }));
    await ask();
    await eventually(isEnded, (ended) => ended);
  });
});

describe('a front end that throws', () => {
  it('costs the request its connection, and no other request anything', async () => {
    const faults: unknown[] = [];
    const http = await start({ onFault: (error) => faults.push(error) });
    http.serve(
      ({ url }, response) => {
        if (url === '/broken') throw new Error('request');
        response.end('well');
      },
      {
        wants: () => true,
        take() {
          throw new Error('upgrade');
        },
        close: () => Promise.resolve(),
      },
    );
    await expect(fetch(`${http.url}/broken`)).rejects.toThrow();
    const socket = connect(Number(new URL(http.url).port), '127.0.0.1');
    open.sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await once(socket, 'close');
    expect(await (await fetch(http.url)).text()).toBe('well');
    expect(faults).toEqual([new Error('request'), new Error('upgrade')]);
  });
});
