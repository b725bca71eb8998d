import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { WebSocketServer, type WebSocket } from 'ws';
import { endpointsOf, type Endpoints } from '../../../../core/adapters/backend/http.js';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type Stream = 'events' | 'prices';

/** Real hosts on loopback whose every answer a test decides. */
export interface Upstream {
  readonly endpoints: Endpoints;
  /** Answers a path prefix from now on, where no longer one does. */
  handle(prefix: string, handler: Handler): void;
  /** Sends a frame, as JSON unless it is text already, to every client of the stream. */
  send(stream: Stream, frame: unknown): void;
  readonly sockets: Readonly<Record<Stream, Set<WebSocket>>>;
  readonly requests: string[];
  readonly inFlight: { now: number; most: number };
  /** Every connection so far, refused ones included. */
  readonly dials: Record<Stream, number>;
  refuseSockets: boolean;
  /** The HTTP response to a refused socket; null = the connection just breaks. */
  socketRefusal: string | null;
  stop(): Promise<void>;
}

export const json =
  (body: unknown, status = 200): Handler =>
  (request, response) => {
    const text = JSON.stringify(body);
    const isZipped = request.headers['accept-encoding']?.includes('gzip') ?? false;
    response.writeHead(status, { 'content-type': 'application/json', ...(isZipped && { 'content-encoding': 'gzip' }) });
    response.end(isZipped ? gzipSync(text) : text);
  };

export async function createUpstream(): Promise<Upstream> {
  const handlers = new Map<string, Handler>();
  const sockets = { events: new Set<WebSocket>(), prices: new Set<WebSocket>() };
  const dials = { events: 0, prices: 0 };
  const requests: string[] = [];
  const inFlight = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    inFlight.now += 1;
    inFlight.most = Math.max(inFlight.most, inFlight.now);
    response.on('close', () => (inFlight.now -= 1));
    const [found] = [...handlers].filter(([prefix]) => path.startsWith(prefix)).sort(([a], [b]) => b.length - a.length);
    (found?.[1] ?? json({ error: 'not found' }, 404))(request, response);
  });
  const hub = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const stream: Stream = request.url === '/v4' ? 'prices' : 'events';
    dials[stream] += 1;
    if (upstream.socketRefusal !== null) return void socket.end(upstream.socketRefusal);
    if (upstream.refuseSockets) return void socket.destroy();
    hub.handleUpgrade(request, socket, head, (client) => {
      sockets[stream].add(client);
      client.on('close', () => sockets[stream].delete(client));
      client.on('error', () => undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const upstream: Upstream = {
    endpoints: endpointsOf({ backendUrl: url, pricingUrl: url, globalUrl: url }),
    handle: (prefix, handler) => void handlers.set(prefix, handler),
    send(stream, frame) {
      const text = typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame);
      for (const socket of sockets[stream]) socket.send(text);
    },
    sockets,
    requests,
    inFlight,
    dials,
    refuseSockets: false,
    socketRefusal: null,
    async stop() {
      for (const client of hub.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
}
