import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Window } from '../core/access/limits.js';
import type { Cancel } from '../core/types.js';
import { CLOSE_CODES, createMessageRate, type Connection, type ConnectionListener, type SocketRoute } from '../core/stream/connection.js';
import { createClientReader, type Client } from './request.js';
import type { Upgrades } from './listen.js';

/** A larger frame closes the connection with 1009. */
export const FRAME_LIMIT_BYTES = 256 * 1024;
/** Limits on the fragments of a message and the network reads of a frame: each costs far more memory than its bytes. */
const MOST_FRAGMENTS = 256;
const MOST_PIECES = 4_096;
/** How long a peer may take to answer a close frame; less when the service stops. */
const CLOSE_MS = 5_000;
const STOP_CLOSE_MS = 1_500;
/** How long pending requests of a connection may still be answered before the service closes it. */
const STOP_REPLIES_MS = 1_500;
/** Rate limit of WebSocket pings that are answered. */
const PINGS = { burst: 20, perSecond: 5 };
const PING_BACKLOG_BYTES = 64 * 1024;
const PLACE = /^\/*(\/[a-z0-9]+)\/+([^/]+)\/+ws\/*$/;
/** Clients of some front ends join their base URL and the last segment with one slash, two or none. */
const SPARE_SLASH = /\/\/|\/$/;

interface Taken {
  readonly route: SocketRoute;
  readonly venue: Venue;
}

/** Hosts the front ends' WebSockets: handshakes, frames and closing. A handshake without a route is declined and served as a plain request. */
export function createSockets(gateway: Gateway, routes: readonly SocketRoute[]): Upgrades {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: FRAME_LIMIT_BYTES,
    maxFragments: MOST_FRAGMENTS,
    maxBufferedChunks: MOST_PIECES,
  });
  const clientOf = createClientReader(gateway);
  const connections = new Set<HostedConnection>();
  const shaking = new WeakMap<IncomingMessage, { readonly headers: readonly string[]; readonly decline: () => void }>();
  let isClosing = false;

  server.on('headers', (headers, request) => headers.push(...(shaking.get(request)?.headers ?? [])));
  server.on('wsClientError', (_error, _socket, request) => shaking.get(request)?.decline());

  const find = ({ url = '', headers }: IncomingMessage): Taken | null => {
    const [path = ''] = url.split('?');
    const [, prefix, chain = ''] = PLACE.exec(path) ?? [];
    const route = routes.find((row) => row.prefix === prefix && (row.takesSpareSlashes === true || !SPARE_SLASH.test(path)));
    const venue = gateway.venues.get(chain);
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
    return route && venue && !hasBody && headers.upgrade?.toLowerCase() === 'websocket' ? { route, venue } : null;
  };

  gateway.metrics.watchBacklog(() => [...connections].reduce((sum, { backlog }) => sum + backlog(), 0));

  const accept = ({ route, venue }: Taken, socket: WebSocket, stream: Duplex, client: Client): void => {
    const api = route.prefix === '/hl' ? 'facade' : 'native';
    const share = gateway.access.sockets.open(client.address);
    const hosted = hostConnection(gateway, { socket, stream }, () => {
      share?.end();
      if (connections.delete(hosted)) gateway.metrics.sessions(api, -1);
    });
    connections.add(hosted);
    gateway.metrics.sessions(api, 1);
    if (share === null) return hosted.connection.close(CLOSE_CODES.policy, 'too many connections');
    hosted.listen(route.open(venue, hosted.connection, { ...client, share }));
  };

  return {
    wants: (request) => !isClosing && find(request) !== null,
    take(request: IncomingMessage, socket: Duplex, head: Buffer, decline: () => void) {
      const taken = isClosing ? null : find(request);
      if (taken === null) return decline();
      const client = clientOf(request);
      const window = gateway.access.countAddress(client.address);
      // Declined, it is counted as a plain request and answered with 429.
      if (window.isExceeded) return decline();
      shaking.set(request, { headers: headersOf(client, window), decline });
      server.handleUpgrade(request, socket, head, (opened) => accept(taken, opened, socket, client));
    },
    async close() {
      isClosing = true;
      await Promise.all([...connections].map((hosted) => hosted.leave()));
    },
  };
}

const headersOf = ({ requestId, ray }: Client, { limit, remaining, resetSeconds }: Window): string[] => [
  `X-Request-Id: ${requestId}`,
  `cf-ray: ${ray}`,
  `RateLimit-Limit: ${limit}`,
  `RateLimit-Remaining: ${remaining}`,
  `RateLimit-Reset: ${resetSeconds}`,
];

interface HostedConnection {
  readonly connection: Connection;
  /** Bytes not yet written to the network. */
  readonly backlog: () => number;
  listen(listener: ConnectionListener): void;
  /** Resolves when the connection is closed. */
  leave(): Promise<void>;
}

interface Opened {
  readonly socket: WebSocket;
  /** The stream below the WebSocket. */
  readonly stream: Duplex;
}

function hostConnection({ clock, log }: Gateway, { socket, stream }: Opened, onGone: () => void): HostedConnection {
  let cancelCut: Cancel = () => undefined;
  const mayAsk = createMessageRate(clock, PINGS);
  const cutAfter = (ms: number): void => {
    cancelCut();
    cancelCut = clock.after(ms, () => socket.terminate());
  };
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('close', () => {
    cancelCut();
    onGone();
  });
  // The close code that follows names the fault of the frame.
  socket.on('error', () => cutAfter(CLOSE_MS));
  socket.on('ping', (data: Buffer) => mayAsk() && socket.bufferedAmount < PING_BACKLOG_BYTES && socket.pong(data));
  /** A handler that throws costs its connection, never the service. */
  const fail = (error: unknown): void => {
    log.error('socket.listener-failed', { error });
    socket.terminate();
  };
  const guard = (task: () => void): void => {
    try {
      task();
    } catch (error) {
      fail(error);
    }
  };
  const connection: Connection = {
    send: createTextSender(socket, stream),
    close(code, reason) {
      socket.close(code, reason);
      cutAfter(CLOSE_MS);
    },
    fail,
  };
  let unanswered = (): Promise<void> => Promise.resolve();
  return {
    connection,
    backlog: () => socket.bufferedAmount,
    listen(listener) {
      unanswered = async () => listener.settled?.();
      socket.on('message', (data: Buffer, isBinary: boolean) => guard(() => listener.message(data, isBinary)));
      socket.on('ping', () => guard(() => listener.alive()));
      socket.on('pong', () => guard(() => listener.alive()));
      socket.on('close', () => guard(() => listener.closed()));
    },
    async leave() {
      const over = new AbortController();
      await Promise.race([unanswered(), gone, clock.sleep(STOP_REPLIES_MS, over.signal)]);
      over.abort();
      connection.close(CLOSE_CODES.restart, 'the service is stopping');
      cutAfter(STOP_CLOSE_MS);
      await gone;
    },
  };
}

const WHOLE_TEXT = '\x81';
const SHORT = 126;
const LONG = 65_536;

/**
 * Writes a frame as one string, its header before its text, so that the network needs no buffer of its own: for thousands of connections
 * that get the same frame at once, that is most of a frame's cost. Other frames are left to the library, which writes to the same stream
 * in the same order.
 */
export function createTextSender(socket: WebSocket, stream: Duplex): Connection['send'] {
  return (text, sent) => {
    const isPlain = text.length < LONG && Buffer.byteLength(text) === text.length;
    if (!isPlain || socket.readyState !== WebSocket.OPEN) return socket.send(text, () => sent());
    stream.write(headOf(text.length) + text, 'latin1', () => sent());
  };
}

const headOf = (length: number): string =>
  length < SHORT ? WHOLE_TEXT + String.fromCharCode(length) : WHOLE_TEXT + String.fromCharCode(SHORT, length >> 8, length & 0xff);
