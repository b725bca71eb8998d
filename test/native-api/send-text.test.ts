import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { createTextSender } from '../../http/sockets.js';

/** Real sockets: what is written past the library has to be what the library would have written. */

const server = createServer();
const library = new WebSocketServer({ noServer: true, perMessageDeflate: false });
let client: WebSocket;
let served: WebSocket;
let send: (text: string) => Promise<void>;
const received: string[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const upgraded = new Promise<void>((resolve) =>
    server.on('upgrade', (request, stream, head) =>
      library.handleUpgrade(request, stream, head, (socket) => {
        served = socket;
        const write = createTextSender(socket, stream);
        send = (text) => new Promise((sent) => write(text, sent));
        resolve();
      }),
    ),
  );
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on('message', (data: Buffer, isBinary) => received.push(isBinary ? 'binary' : data.toString('utf8')));
  await Promise.all([upgraded, once(client, 'open')]);
});
afterAll(() => {
  client.terminate();
  server.close();
});
beforeEach(() => void (received.length = 0));

it.each([1, 125, 126, 127, 255, 256, 65_535, 65_536, 200_000])('a text of %s characters arrives as it was', async (length) => {
  const text = 'x'.repeat(length - 1) + '}';
  const arrived = once(client, 'message');
  await send(text);
  await arrived;
  expect(received).toEqual([text]);
});

it('texts that are not plain arrive as they were, in the order of all others, also the library’s', async () => {
  const texts = ['{"a":1}', '{"b":"é"}', '{"c":"日本"}', '{"d":"\u0080"}', 'y'.repeat(70_000), '{"e":2}'];
  const asked = once(client, 'ping');
  for (const [index, text] of texts.entries()) {
    void send(text);
    if (index === 2) served.ping();
  }
  served.send('the library itself');
  while (received.length <= texts.length) await once(client, 'message');
  await asked;
  expect(received).toEqual([...texts, 'the library itself']);
});

it('a closed connection takes nothing more, and says so', async () => {
  const closed = once(served, 'close');
  client.close();
  await closed;
  await send('too late');
  expect(received).toEqual([]);
});
