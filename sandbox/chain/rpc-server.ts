import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { isJsonType, isLocalHost, isLoopbackOrigin } from '../../http/foreign-page.js';
import type { Hex } from '../../core/types.js';
import type { ChainEvents } from './chain-node.js';
import type { PublicRpc } from './public-rpc.js';
import { createSubscriptions } from './watches.js';
import { parseJson } from '../../http/strict-json.js';
import type { RpcAnswer, RpcError } from './engine.js';

/** JSON-RPC over HTTP and WebSocket on one port of one address. */
export interface RpcServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface RpcServerOptions {
  host: string;
  port: number;
  rpc: PublicRpc;
  events: ChainEvents;
}

/** geth's limit. */
const LARGEST_BODY = 5 * 1024 * 1024;
/** A subscriber that stops reading is disconnected before its backlog costs real memory. */
const LARGEST_BACKLOG = 32 * 1024 * 1024;

export async function createRpcServer({ host, port, rpc, events }: RpcServerOptions): Promise<RpcServer> {
  const server = createServer((request, response) => void serveHttp(request, response, rpc));
  server.keepAliveTimeout = 30_000;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LARGEST_BODY, perMessageDeflate: false });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head) => {
    const { host: name, origin } = request.headers;
    if (!isLocalHost(name) || (origin !== undefined && !isLoopbackOrigin(origin))) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => serveSocket(client, rpc, events));
  });
  await listen(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The RPC server has no port.');
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        sockets.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });

function reject(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text);
}

async function serveHttp(request: IncomingMessage, response: ServerResponse, rpc: PublicRpc): Promise<void> {
  if (!isLocalHost(request.headers.host)) return reject(response, 403, '"invalid host specified"');
  if (request.method !== 'POST') return reject(response.setHeader('allow', 'POST'), 405, '"method not allowed"');
  if (!isJsonType(request.headers['content-type']))
    return reject(response, 415, '"invalid content type, only application/json is supported"');
  const body = await readBody(request);
  if (body === 'broken') return;
  if (body === 'too large') return reject(response, 413, tooLarge());
  const answer = await answerRpc(body.toString('utf8'), (method, params) => rpc(method, params, null));
  if (answer === null) response.writeHead(204).end();
  else response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) }).end(answer);
}

function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'broken'> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let size = 0;
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= LARGEST_BODY) parts.push(part);
      else resolve('too large'); // the rest is read and thrown away, so that the client gets to see the answer
    });
    request.on('end', () => resolve(Buffer.concat(parts)));
    request.on('error', () => resolve('broken'));
    request.on('close', () => resolve('broken'));
  });
}

function serveSocket(client: WebSocket, rpc: PublicRpc, events: ChainEvents): void {
  /** A client must get a subscription's id before its first notification: notifications wait for pending replies. */
  let answering = 0;
  const held: string[] = [];

  function send(text: string): void {
    if (client.readyState !== client.OPEN) return;
    if (client.bufferedAmount > LARGEST_BACKLOG) client.terminate();
    else client.send(text);
  }

  const subscriptions = createSubscriptions(events, (subscription: Hex, result: unknown) => {
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } });
    if (answering > 0) held.push(text);
    else send(text);
  });

  async function answer(text: string): Promise<void> {
    const holds = text.includes('eth_subscribe');
    if (holds) answering += 1;
    const reply = await answerRpc(text, (method, params) => rpc(method, params, subscriptions));
    if (reply !== null) send(reply);
    if (!holds) return;
    answering -= 1;
    if (answering === 0) held.splice(0).forEach(send);
  }

  client.on('message', (data: Buffer, isBinary) => {
    if (isBinary) client.close(1003, 'text frames only');
    else void answer(data.toString('utf8'));
  });
  client.on('close', () => subscriptions.close());
  client.on('error', () => client.terminate());
}

/** JSON-RPC 2.0 envelopes, single and batched, independent of the transport. */

export type Dispatch = (method: string, params: readonly unknown[]) => Promise<RpcAnswer>;

const LONGEST_BATCH = 1000;
/** Concurrent items of a batch: enough to keep the engine busy, few enough to bound the memory of their traces. */
const AT_ONCE = 64;
/** Methods with side effects: later items of a batch must see their results. */
const ORDERED = /^eth_(send|subscribe|unsubscribe|uninstall|new)|Filter/;
/** Transactions are processed in the order they are sent, so a run of them need not wait for the replies. */
const TAKEN_IN_ORDER = 'eth_sendRawTransaction';

const refusal = (code: number, message: string, id: unknown = null): string => envelope(id, { error: { code, message } });

const envelope = (id: unknown, answer: RpcAnswer): string => JSON.stringify({ jsonrpc: '2.0', id, ...answer });

const tooLarge = (): string => refusal(-32600, 'content length too large');

/** The text to send back, or null if all items were notifications. */
export async function answerRpc(text: string, dispatch: Dispatch): Promise<string | null> {
  const parsed = parseJson(text, { items: Infinity });
  if ('fault' in parsed) return refusal(-32700, 'parse error');
  const message = parsed.value;
  if (!Array.isArray(message)) return answerOne(message, dispatch);
  if (message.length === 0) return refusal(-32600, 'empty batch');
  if (message.length > LONGEST_BATCH) return refusal(-32600, 'batch too large');
  const answers = (await answerBatch(message, dispatch)).filter((answer) => answer !== null);
  return answers.length === 0 ? null : `[${answers.join(',')}]`;
}

/** Equivalent to geth's sequential processing: a batch of transactions relies on their order. Reads have no order among themselves. */
async function answerBatch(items: readonly unknown[], dispatch: Dispatch): Promise<(string | null)[]> {
  const answers: Promise<string | null>[] = [];
  let before: Kind | null = null;
  let start = 0;
  for (const [at, item] of items.entries()) {
    const kind = kindOf(item);
    if (kind !== before || at - start === AT_ONCE || kind === 'alone') {
      await Promise.all(answers);
      before = kind;
      start = at;
    }
    answers.push(answerOne(item, dispatch));
  }
  return Promise.all(answers);
}

type Kind = 'read' | 'transaction' | 'alone';

/** Reads and transactions run together with their kind; other methods run alone. */
function kindOf(item: unknown): Kind {
  if (typeof item !== 'object' || item === null || !('method' in item) || typeof item.method !== 'string') return 'read';
  if (item.method === TAKEN_IN_ORDER) return 'transaction';
  return ORDERED.test(item.method) ? 'alone' : 'read';
}

interface Request {
  id?: unknown;
  method?: unknown;
  params?: unknown;
}

async function answerOne(message: unknown, dispatch: Dispatch): Promise<string | null> {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return refusal(-32600, 'invalid request');
  const { id, method, params = [] }: Request = message;
  const validId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  if (!validId || typeof method !== 'string') return refusal(-32600, 'invalid request', validId ? (id ?? null) : null);
  const given: unknown = params ?? [];
  const answer: RpcAnswer = Array.isArray(given)
    ? await guarded(dispatch, method, given)
    : { error: { code: -32602, message: 'non-array args' } };
  return id === undefined ? null : envelope(id, answer);
}

async function guarded(dispatch: Dispatch, method: string, params: readonly unknown[]): Promise<RpcAnswer> {
  try {
    return await dispatch(method, params);
  } catch (error) {
    const failure: RpcError = { code: -32603, message: error instanceof Error ? error.message : 'internal error' };
    return { error: failure };
  }
}
