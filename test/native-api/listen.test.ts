import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { listen, type Listening } from '../../native-api/listen.js';

const open: { http: Listening[]; sockets: Socket[] } = { http: [], sockets: [] };
afterEach(async () => {
  for (const socket of open.sockets.splice(0)) socket.destroy();
  for (const http of open.http.splice(0)) await http.close();
});

async function start(...[options]: [Parameters<typeof listen>[2]?]): Promise<Listening> {
  const http = await listen('127.0.0.1', 0, options);
  open.http.push(http);
  return http;
}

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
