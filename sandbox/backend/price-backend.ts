import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import { createCandleBook } from './candles.js';
import { createChainBackend, type ChainBackend, type ChainBackendOptions } from './chain-backend.js';
import type { MarketHours } from './market-hours.js';
import { PRICE_SCALE, priceUnits, type PriceWalk, type WalkMarket } from './price-walk.js';
import { route, type Reply, type RouteContext } from './routes.js';
import type { Cancel } from '../../core/types.js';
import { humanNumber } from './wire-format.js';
import type { PriceControls } from '../controls.js';

export interface PriceBackendOptions {
  readonly chains: readonly Pick<ChainBackendOptions, 'chain' | 'read' | 'onBlock'>[];
  readonly markets: readonly (WalkMarket | null)[];
  readonly walk: PriceWalk;
  readonly hours: MarketHours;
  readonly clock: Clock;
  readonly log: Logger;
  readonly port?: number;
  /** How often the node is polled for a new block. */
  readonly pollMs?: number;
}

export interface PriceBackend {
  /** Listens on loopback; resolves when the contracts were read once, or could not be. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Pricing host; known after start. */
  readonly pricingUrl: string;
  /** Chain host of one chain. */
  backendUrl(slug: string): string;
  /** Pauses the price stream, including heartbeats. */
  setPaused(paused: boolean): void;
  isPaused(): boolean;
}

const HOST = '127.0.0.1';
const GZIP_FROM = 1024;
const MAX_BUFFERED = 16 * 1024 * 1024;
const compress = promisify(gzip);

/** The protocol's pricing host and one chain host per chain, on one local port: prices at `/`, `/v3` and `/v4`, chains under `/{chain}`. */
export function createPriceBackend(options: PriceBackendOptions): PriceBackend {
  const { walk, clock, log, hours } = options;
  const chains = options.chains.map((chain) =>
    createChainBackend({ ...chain, hours, clock, log, ...(options.pollMs !== undefined && { pollMs: options.pollMs }) }),
  );
  const candles = createCandleBook({ walk, markets: options.markets, clock, isOpen: hours.isOpen });
  const stream = createPriceStream(walk, clock);
  const context: RouteContext = { chains, walk, candles, clock };
  const server = createServer((request, response) => void answer(context, request, response, log));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 });
  let base = '';

  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const join = joiner(request.url ?? '/', chains, (client, protocol) => stream.add(client, protocol));
    if (!join) return void socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.on('error', () => client.terminate());
      join(client);
    });
  });

  return {
    get pricingUrl() {
      return base;
    },
    backendUrl: (slug) => `${base}/${slug}`,
    setPaused: stream.setPaused,
    isPaused: stream.isPaused,
    async start() {
      server.listen(options.port ?? 0, HOST);
      await once(server, 'listening');
      base = `http://${HOST}:${(server.address() as AddressInfo).port}`;
      await Promise.all(chains.map((chain) => chain.start()));
    },
    async stop() {
      stream.stop();
      candles.stop();
      await Promise.all(chains.map((chain) => chain.stop()));
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Join = (client: WebSocket) => void;

function joiner(path: string, chains: readonly ChainBackend[], addPrice: (client: WebSocket, protocol: 'v3' | 'v4') => void): Join | null {
  const name = new URL(path, `http://${HOST}`).pathname.replaceAll('/', '');
  if (name === 'v3' || name === 'v4') return (client) => addPrice(client, name);
  const chain = name === '' ? chains[0] : chains.find(({ slug }) => slug === name);
  return chain ? (client) => follow(client, chain) : null;
}

/** A client that does not read is disconnected. */
function follow(client: WebSocket, chain: ChainBackend): void {
  const unsubscribe = chain.onFrame((sent) => {
    if (client.bufferedAmount > MAX_BUFFERED) client.terminate();
    else client.send(JSON.stringify(sent));
  });
  client.on('close', unsubscribe);
}

async function answer(context: RouteContext, request: IncomingMessage, response: ServerResponse, log: Logger): Promise<void> {
  try {
    const reply = request.method === 'GET' ? await route(context, new URL(request.url ?? '/', `http://${HOST}`)) : METHOD_REFUSED;
    await send(request, response, reply);
  } catch (error) {
    log.warn('backend.request-failed', { error });
    await send(request, response, { status: 500, body: { error: 'Internal error', message: 'Internal error' } });
  }
}

const METHOD_REFUSED: Reply = { status: 405, body: { error: 'Method not allowed', message: 'Method not allowed' } };

async function send(request: IncomingMessage, response: ServerResponse, { status, body }: Reply): Promise<void> {
  const text = Buffer.from(JSON.stringify(body));
  const isZipped = text.length >= GZIP_FROM && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  const bytes = isZipped ? await compress(text) : text;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'access-control-allow-origin': '*',
    ...(isZipped && { 'content-encoding': 'gzip' }),
    'content-length': bytes.length,
  });
  response.end(bytes);
}

type PriceProtocol = 'v3' | 'v4';

interface PriceStream {
  add(socket: WebSocket, protocol: PriceProtocol): void;
  /** Pauses everything, including heartbeats; the sockets stay open. */
  readonly setPaused: (paused: boolean) => void;
  readonly isPaused: () => boolean;
  stop(): void;
}

const BATCH_MS = 25;
const HEARTBEAT_MS = 1_000;
/** An unchanged price is sent again after this long. */
const REPRINT_MS = 500;
/** A client that lags this far behind is disconnected. */
const MAX_STREAM_BUFFERED = 4 * 1024 * 1024;

/** Price frames as production sends them: what changed within 25 ms in one frame, a lone timestamp every second. */
function createPriceStream(walk: PriceWalk, clock: Clock): PriceStream {
  const sockets = new Map<WebSocket, PriceProtocol>();
  const printed = new Map<number, { readonly price: bigint; readonly at: number }>();
  let batch = new Map<number, bigint>();
  let isPaused = false;

  const send = (texts: Readonly<Record<PriceProtocol, string>>): void => {
    for (const [socket, protocol] of sockets) {
      if (socket.bufferedAmount > MAX_STREAM_BUFFERED) socket.terminate();
      else socket.send(texts[protocol]);
    }
  };

  let stopFlush: Cancel | null = null;
  const flush = (): void => {
    stopFlush = null;
    const prices = [...batch].flatMap(([pairIndex, price]) => [pairIndex, humanNumber(price, PRICE_SCALE)]);
    batch = new Map();
    if (prices.length > 0 && !isPaused) send({ v3: JSON.stringify(prices), v4: JSON.stringify({ m: prices, i: prices, t: clock.now() }) });
  };

  const heartbeat = (): void => {
    const text = JSON.stringify([clock.now()]);
    if (!isPaused) send({ v3: text, v4: text });
  };

  const stopHeartbeat = clock.every(HEARTBEAT_MS, heartbeat);
  const unsubscribe = walk.onTick(({ pairIndex, price, at }) => {
    const last = printed.get(pairIndex);
    if (last?.price === price && at - last.at < REPRINT_MS) return;
    printed.set(pairIndex, { price, at });
    batch.set(pairIndex, price);
    stopFlush ??= clock.after(BATCH_MS, flush); // no timer while nothing changes
  });

  return {
    add(socket, protocol) {
      sockets.set(socket, protocol);
      socket.on('close', () => sockets.delete(socket));
    },
    setPaused(paused) {
      isPaused = paused;
    },
    isPaused: () => isPaused,
    stop() {
      stopHeartbeat();
      stopFlush?.();
      unsubscribe();
    },
  };
}

export function createPriceControls(walk: PriceWalk, hours: MarketHours, backend: PriceBackend): PriceControls {
  return {
    jump: (pairIndex, price) => walk.jump(pairIndex, priceUnits(price)),
    glide: (pairIndex, price, overMs) => walk.glide(pairIndex, priceUnits(price), overMs),
    walk: (pairIndex) => walk.resume(pairIndex),
    setOpen: (pairIndex, isOpen) => hours.set(pairIndex, isOpen),
    pauseFeed: (paused) => backend.setPaused(paused),
  };
}
