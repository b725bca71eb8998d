import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type Socket } from 'node:net';

/** Servers that no provider would admit to, on real ports: `afterEach(closeFaultyNodes)`. */

export type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const closing: (() => void)[] = [];

export function closeFaultyNodes(): void {
  for (const close of closing.splice(0)) close();
}

interface Listening {
  readonly url: string;
  close(): void;
}

async function listening(server: Server | ReturnType<typeof createSocketServer>): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  closing.push(close);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}/`, close };
}

export interface Heard {
  readonly path: string;
  readonly user: string | undefined;
  readonly body: string;
}

export interface OddNode {
  readonly url: string;
  readonly heard: readonly Heard[];
  close(): void;
}

export async function startFaultyNode(handler: Handler): Promise<OddNode> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      heard.push({ path: request.url ?? '', user: request.headers.authorization, body });
      handler(request, response, body);
    });
  });
  return { heard, ...(await listening(server)) };
}

/** Writes to each connection once it has received data. */
export const startBytes = async (speak: (socket: Socket, nth: number) => void): Promise<string> => {
  let nth = 0;
  const server = createSocketServer((socket) => {
    socket.on('data', () => speak(socket, (nth += 1)));
  });
  return (await listening(server)).url;
};

export const RESULT = JSON.stringify({ jsonrpc: '2.0', id: 0, result: '0x1' });
export const SIMPLE = `HTTP/1.1 200 OK\r\nContent-Length: ${RESULT.length}\r\n\r\n${RESULT}`;
export const answer: Handler = (_request, response) => void response.end(RESULT);
