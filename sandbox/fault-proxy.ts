import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../core/ports/clock.js';
import {
  answerText,
  createFaultPlan,
  REFUSED,
  replyText,
  type FaultCounters,
  type FaultPlan,
  type FaultSetting,
  type RequestHook,
} from './fault-plan.js';

/** A proxy between the gateway and a node that injects faults; other clients connect to the node directly. */
export interface FaultProxy {
  readonly url: string;
  readonly wsUrl: string;
  set(setting: FaultSetting): void;
  setting(): Required<FaultSetting>;
  /** Decides on single requests before the mode does; returns how to remove it. */
  onRequest(hook: RequestHook): () => void;
  counters(): FaultCounters;
  resetCounters(): void;
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  /** The node's HTTP address; its WebSocket must be on the same port. */
  target: string;
  /** Answers the body of a request in this process, which saves the second trip; default: it is sent to `target`. */
  answer?: ((body: string) => Promise<string | null>) | undefined;
  clock: Clock;
  /** Default 1. */
  seed?: number;
  /** Default 0: any free one. */
  port?: number;
}

const HOST = '127.0.0.1';
const LARGEST_BODY = 16 * 1024 * 1024;

export async function createFaultProxy({ target, answer: answerHere, clock, seed = 1, port = 0 }: FaultProxyOptions): Promise<FaultProxy> {
  const plan = createFaultPlan(seed);
  const agent = new Agent({ keepAlive: true });
  const ended = new AbortController();
  const sockets = new Set<Socket>();
  const delay = (): Promise<void> =>
    plan.setting().mode === 'slow' ? clock.sleep(plan.setting().latencyMs, ended.signal) : Promise.resolve();

  const server = createServer((incoming, response) => void serve(incoming, response));
  const upgrades = new WebSocketServer({ noServer: true, maxPayload: LARGEST_BODY, perMessageDeflate: false });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    if (plan.setting().mode === 'down') socket.resetAndDestroy();
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head) => {
    upgrades.handleUpgrade(incoming, socket, head, (client) =>
      bridgeSocket({ client, socket, target: target.replace(/^http/, 'ws'), plan, delay }),
    );
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    if (body === null) return;
    const text = body.toString('utf8');
    const fate = await plan.decide(text);
    await delay();
    if (fate === 'reset' || plan.setting().mode === 'down') return void incoming.socket.resetAndDestroy();
    if (fate === 'refuse') return void response.writeHead(503, { 'content-type': 'application/json' }).end(answerText(text, REFUSED));
    if (typeof fate === 'object' && 'status' in fate) return void response.writeHead(fate.status, fate.headers).end();
    if (typeof fate === 'object') return void response.writeHead(200, { 'content-type': 'application/json' }).end(replyText(text, fate));
    const answer = await (answerHere === undefined ? forward(target, agent, incoming, body) : answerHere(text).then(asJson, () => null));
    if (fate === 'forget' || plan.setting().mode === 'down') return void incoming.socket.resetAndDestroy();
    if (answer === null) return void response.writeHead(502, { 'content-type': 'application/json' }).end(answerText(text, REFUSED));
    response.writeHead(answer.status, { ...(answer.type === undefined ? {} : { 'content-type': answer.type }) }).end(answer.body);
  }

  function cutAll(): void {
    for (const socket of sockets) socket.resetAndDestroy();
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The fault proxy has no port.');

  return {
    url: `http://${HOST}:${address.port}`,
    wsUrl: `ws://${HOST}:${address.port}`,
    set(setting) {
      plan.set(setting);
      if (setting.mode === 'down') cutAll();
    },
    setting: () => plan.setting(),
    onRequest: (hook) => plan.hook(hook),
    counters: () => plan.counters(),
    resetCounters: () => plan.resetCounters(),
    close: () =>
      new Promise((resolve) => {
        ended.abort();
        server.close(() => resolve());
        cutAll();
        upgrades.close();
        agent.destroy();
      }),
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of stream) parts.push(part as Buffer);
    return Buffer.concat(parts);
  } catch {
    return null; // the connection was closed, so there is no client to answer
  }
}

interface Forwarded {
  status: number;
  type: string | undefined;
  body: Buffer;
}

const asJson = (text: string | null): Forwarded =>
  text === null
    ? { status: 204, type: undefined, body: Buffer.alloc(0) }
    : { status: 200, type: 'application/json', body: Buffer.from(text) };

function forward(target: string, agent: Agent, incoming: IncomingMessage, body: Buffer): Promise<Forwarded | null> {
  return new Promise((resolve) => {
    const url = new URL(incoming.url ?? '/', target);
    const type = incoming.headers['content-type'];
    const headers = { 'content-length': body.length, ...(type === undefined ? {} : { 'content-type': type }) };
    const outgoing = httpRequest(url, { method: incoming.method ?? 'POST', agent, headers }, (answer) => {
      void readAll(answer).then((bytes) =>
        resolve(bytes === null ? null : { status: answer.statusCode ?? 502, type: answer.headers['content-type'], body: bytes }),
      );
    });
    outgoing.on('error', () => resolve(null));
    outgoing.end(body);
  });
}

interface Bridge {
  client: WebSocket;
  /** The client's connection itself, to break it without a closing handshake. */
  socket: Socket;
  target: string;
  plan: FaultPlan;
  delay: () => Promise<void>;
}

/** One client's WebSocket to the node; closing either end closes both. A delay keeps the node's messages in order. */
function bridgeSocket({ client, socket, target, plan, delay }: Bridge): void {
  const upstream = new WebSocket(target, { perMessageDeflate: false });
  const opened = new Promise<void>((resolve) => upstream.once('open', () => resolve()));
  let upward: Promise<void> = opened;
  let downward: Promise<void> = Promise.resolve();

  function breakOff(): void {
    socket.resetAndDestroy();
    upstream.terminate();
  }

  async function send(text: string): Promise<void> {
    const fate = await plan.decide(text);
    if (fate === 'reset') return breakOff();
    if (fate === 'refuse' || (typeof fate === 'object' && 'status' in fate)) return client.send(answerText(text, REFUSED));
    if (typeof fate === 'object') return client.send(replyText(text, fate));
    if (fate === 'pass') return sendIfOpen(upstream, text);
    // The node's first message after the request proves that it has received it.
    upstream.removeAllListeners('message');
    upstream.once('message', breakOff);
    sendIfOpen(upstream, text);
  }

  client.on('message', (data: Buffer) => {
    const text = data.toString('utf8');
    upward = upward.then(() => send(text));
  });
  upstream.on('message', (data: Buffer) => {
    const text = data.toString('utf8');
    const late = delay(); // delays of several messages overlap: latency does not add up
    downward = downward.then(() => late).then(() => sendIfOpen(client, text));
  });
  client.on('close', () => upstream.terminate());
  upstream.on('close', () => client.terminate());
  client.on('error', breakOff);
  upstream.on('error', breakOff);
}

function sendIfOpen(to: WebSocket, text: string): void {
  if (to.readyState === WebSocket.OPEN) to.send(text);
}
