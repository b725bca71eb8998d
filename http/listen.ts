import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionLimits } from '../core/access/request-access.js';
import { addressBucket, clientAddress, isTrustedPeer, type TrustedProxies } from '../core/access/client-address.js';
import { GatewayError, StartError } from '../core/errors.js';
import { randomId, type RandomBytes } from '../core/ports/clock.js';
import { findPortOwner } from './port-owner.js';

/** Handles upgrade requests. */
export interface Upgrades {
  /** Whether the request may become a WebSocket; another one is served as a plain request. */
  wants(request: IncomingMessage): boolean;
  /** `decline` serves the request as a plain one. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer, decline: () => void): void;
  /** Closes every upgraded connection. */
  close(): Promise<void>;
}

export interface Listening {
  readonly url: string;
  /** From now on requests reach this handler; until then they are answered with NOT_READY. */
  serve(handler: RequestListener, upgrades?: Upgrades): void;
  /** Now open, and all since the start. */
  connections(): { readonly open: number; readonly accepted: number };
  /** Stops accepting at once, lets open requests finish for a moment, then cuts the rest. */
  close(): Promise<void>;
}

const DRAIN_MS = 3_000;

/** Time limits for each part of a request. */
export interface RequestTimes {
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often the two above are checked. */
  readonly checkMs: number;
  /** How long the client has to close a connection whose request was refused unread; then it is destroyed. */
  readonly lingerMs: number;
  /** Idle time between two requests of one connection. */
  readonly keepAliveMs: number;
}

/**
 * Clients reuse a connection seconds after its last reply and treat a reset as an outage, so an idle connection is kept for longer than
 * clients and load balancers usually keep theirs: the side that sends the next request should close first.
 */
export const REQUEST_TIMES: RequestTimes = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 2_000,
  lingerMs: 1_000,
  keepAliveMs: 90_000,
};
/** Idle time without a byte in either direction. Longer than any reply takes; WebSockets have heartbeats instead. */
const SILENT_MS = 120_000;

export interface ListenOptions {
  /** For the ids of requests that are answered here. */
  readonly randomBytes: RandomBytes;
  /** Called with what a front end threw instead of answering; it must not throw itself. */
  readonly onFault?: (error: unknown) => void;
  /** Absent: no limit but the system's. */
  readonly connections?: ConnectionLimits;
  readonly trustedProxies?: TrustedProxies;
  readonly times?: RequestTimes;
}

/** Binds before anything slow is started, so that an address in use is reported at once. */
export async function listen(host: string, port: number, options: ListenOptions): Promise<Listening> {
  const { randomBytes, onFault = () => undefined, times = REQUEST_TIMES } = options;
  const newId = (): string => randomId(randomBytes);
  let handler: RequestListener = (_request, response) => answerStarting(response, newId());
  const underWay = new Set<ServerResponse>();
  let isClosing = false;
  const receive: RequestListener = (request, response) => {
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    // After an upgrade that was not made, Node does not read the next request of the connection.
    if (isClosing || request.headers.upgrade !== undefined) lastOfItsConnection(response);
    if (isHostUnclear(request)) return answerHostUnclear(response, newId());
    guarded(
      () => handler(request, response),
      () => request.socket.destroy(),
    );
  };
  /** A request must not be able to end the process: a synchronous exception of a front end only ends the connection. */
  const guarded = (task: () => void, cut: () => void): void => {
    try {
      task();
    } catch (error) {
      onFault(error);
      cut();
    }
  };
  // Node would refuse these two by itself, with a reply that has no request id and no error code.
  const { headersMs: headersTimeout, requestMs: requestTimeout, checkMs: connectionsCheckingInterval } = times;
  let upgrades: Upgrades | null = null;
  const settings: ServerOptions & { readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean } = {
    requireHostHeader: false,
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval,
    keepAliveTimeout: times.keepAliveMs,
    // Node before 24.9 ignores it, and emits `upgrade` for every request with such a header.
    shouldUpgradeCallback: (request) => upgrades !== null && !isHostUnclear(request) && upgrades.wants(request),
  };
  const server = createServer(settings, receive);
  server.on('checkExpectation', receive);
  server.setTimeout(SILENT_MS);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    answerUnreadable(error, socket, { lingerMs: times.lingerMs, newId }),
  );
  if (options.connections !== undefined) boundConnections(server, options.connections, options.trustedProxies ?? []);
  const connections = countConnections(server);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const decline = (): void => serveAsPlain(server, request, socket, head);
    if (upgrades === null || isHostUnclear(request)) return decline();
    const taker = upgrades;
    guarded(
      () => taker.take(request, socket, head, decline),
      () => socket.destroy(),
    );
  });
  await bind(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new StartError('The HTTP server has no port.');
  let closing: Promise<void> | undefined;
  return {
    url: `http://${urlHost(host)}:${address.port}`,
    serve(next, taker) {
      handler = next;
      upgrades = taker ?? null;
    },
    connections,
    close() {
      isClosing = true;
      underWay.forEach(lastOfItsConnection);
      return (closing ??= drain(server, upgrades));
    },
  };
}

function countConnections(server: Server): Listening['connections'] {
  let [open, accepted] = [0, 0];
  const counted = new WeakSet<Socket>();
  // A request that is read again after a declined upgrade is the same connection.
  server.on('connection', (socket: Socket) => {
    if (counted.has(socket)) return;
    counted.add(socket);
    open += 1;
    accepted += 1;
    socket.once('close', () => (open -= 1));
  });
  return () => ({ open, accepted });
}

/** Makes the client open a new connection for its next request, as this one is about to end. */
function lastOfItsConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

/** The reply before the service is up, or to an unreadable request: not rate-limited, but it has a request id. */
function bareAnswer(
  { status, code, message, details }: GatewayError,
  id: string,
): { status: number; headers: [string, string][]; body: string } {
  const body = JSON.stringify({ code, message, details });
  return {
    status,
    body,
    headers: [
      ['X-Request-Id', id],
      ['cf-ray', id],
      ['Content-Type', 'application/json; charset=utf-8'],
      ['Content-Length', String(Buffer.byteLength(body))],
    ],
  };
}

function answerStarting(response: Parameters<RequestListener>[1], id: string): void {
  const { status, headers, body } = bareAnswer(new GatewayError('NOT_READY', { reason: 'the service is starting' }), id);
  response.writeHead(status, headers.flat()).end(body);
}

const UNREADABLE = new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: 'is not a readable HTTP request' }] });

/** HTTP/1.1 requires one Host header. Of two, a proxy and the service could each read another one. */
function isHostUnclear({ headers, rawHeaders, httpVersion }: Parameters<RequestListener>[0]): boolean {
  if (headers.host === undefined) return httpVersion === '1.1';
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host').length > 1;
}

function answerHostUnclear(response: Parameters<RequestListener>[1], id: string): void {
  const { status, headers, body } = bareAnswer(UNREADABLE, id);
  response.writeHead(status, [...headers, ['Connection', 'close']].flat()).end(body);
}

/** Connections above the limits are destroyed on arrival, before a byte of them is read. */
function boundConnections(server: Server, { total, perAddress }: ConnectionLimits, trustedProxies: TrustedProxies): void {
  server.maxConnections = total;
  const open = new Map<string, number>();
  const counted = new WeakSet<Socket>();
  // A request that is read again after a declined upgrade is the same connection.
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (counted.has(socket) || isTrustedPeer(remoteAddress, trustedProxies)) return;
    counted.add(socket);
    const bucket = addressBucket(clientAddress(remoteAddress, undefined, []));
    const count = (open.get(bucket) ?? 0) + 1;
    open.set(bucket, count);
    socket.once('close', () => {
      const left = (open.get(bucket) ?? 1) - 1;
      if (left === 0) open.delete(bucket);
      else open.set(bucket, left);
    });
    if (count > perAddress) socket.destroy();
  });
}

/**
 * Input that is not HTTP, or has endless headers, is refused like any other invalid input. A client that does not close its side would
 * keep the descriptor, so the connection is destroyed a moment later.
 */
function answerUnreadable(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { lingerMs, newId }: { readonly lingerMs: number; readonly newId: () => string },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, headers, body } = bareAnswer(UNREADABLE, newId());
  const lines = [...headers, ['Connection', 'close']].map((pair) => pair.join(': '));
  socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(cut));
}

const HOP_HEADERS = new Set(['upgrade', 'connection']);

/**
 * A request whose upgrade no component accepts is served as a plain one: it is read again without the upgrade header, body included, so
 * that it is counted, gets a request id and is refused like every other.
 */
function serveAsPlain(
  server: Server,
  { method = '', url = '', httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
  const kept = pairs.filter(([name]) => !HOP_HEADERS.has(name.toLowerCase()));
  const lines = [`${method} ${url} HTTP/${httpVersion}`, ...kept.map((pair) => pair.join(': ')), 'Connection: close', '', ''];
  socket.unshift(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), head]));
  server.emit('connection', socket);
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once(
      'error',
      (error: NodeJS.ErrnoException) =>
        void refusal(error, host, port).then((sentence) => reject(new StartError(sentence, { cause: error }))),
    );
    server.listen(port, host, () => resolve());
  });
}

async function refusal(error: NodeJS.ErrnoException, host: string, port: number): Promise<string> {
  if (error.code === 'EADDRINUSE') {
    const owner = await findPortOwner(port);
    const use = owner === null ? 'is in use' : `is in use by ${owner.program} (pid ${owner.pid})`;
    return `Port ${port} on ${host} ${use}; end that program, or set PORT to another port, or to 0 for any free one.`;
  }
  if (error.code === 'EACCES') return `Port ${port} needs rights this process does not have; set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${error.code ?? error.message}.`;
}

/** The server no longer closes upgraded connections, but waits for them. */
async function drain(server: Server, upgrades: Upgrades | null): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const left = upgrades?.close();
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await Promise.all([closed, left]);
  clearTimeout(cut);
}
