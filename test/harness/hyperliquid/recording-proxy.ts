import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { checkExchangeAnswer } from './exchange-schemas.js';
import { checkInfoAnswer } from './info-schemas.js';
import { frameProblems } from './socket-schemas.js';

/** One answer a client was given. */
export interface Seen {
  readonly endpoint: 'info' | 'exchange';
  /** Of the request, or of the action in it. */
  readonly type: string;
  readonly request: string;
  readonly status: number;
  readonly answer: unknown;
}

/** A proxy between clients and the service: it changes nothing, and checks every answer against the schemas of its endpoint. */
export interface RecordingProxy {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Frames the service sent over sockets. */
  readonly frames: readonly string[];
  /** What does not fit, in words. */
  readonly faults: readonly string[];
  stop(): Promise<void>;
}

export async function startRecordingProxy(upstream: string): Promise<RecordingProxy> {
  const seen: Seen[] = [];
  const frames: string[] = [];
  const faults: string[] = [];
  const note = (path: string, request: string, status: number, body: string): void => {
    try {
      const row = readSeen(path, request, status, body);
      if (row === null) return;
      seen.push(row);
      check(row);
    } catch (error) {
      faults.push(`${request.slice(0, 300)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const server = createServer((incoming, outgoing) => {
    void relay(upstream, incoming, outgoing, note);
  });
  const sockets = new WebSocketServer({ server });
  const record = (text: string): void => {
    frames.push(text);
    faults.push(...frameProblems(JSON.parse(text) as { channel: string }));
  };
  sockets.on('connection', (client, incoming) => join(client, `${upstream.replace(/^http/, 'ws')}${incoming.url ?? ''}`, record));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    frames,
    faults,
    async stop() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Note = (path: string, request: string, status: number, body: string) => void;

async function relay(upstream: string, incoming: IncomingMessage, outgoing: ServerResponse, note: Note): Promise<void> {
  const path = incoming.url ?? '';
  const sent = await read(incoming);
  const headers = { ...incoming.headers, host: new URL(upstream).host, 'accept-encoding': 'identity' };
  const onward = forward(`${upstream}${path}`, { method: incoming.method, headers });
  onward.on('error', () => outgoing.destroy());
  onward.on('response', (response) => {
    void read(response).then((answer) => {
      const status = response.statusCode ?? 0;
      note(path, sent.toString(), status, answer.toString());
      outgoing.writeHead(status, response.headers).end(answer);
    });
  });
  onward.end(sent);
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Both ways; what the client says before the other side listens is kept for it. */
function join(client: WebSocket, url: string, record: (text: string) => void): void {
  const service = new WebSocket(url);
  const waiting: string[] = [];
  client.on('message', (data) => {
    const text = textOf(data);
    if (service.readyState === WebSocket.OPEN) service.send(text);
    else waiting.push(text);
  });
  service.on('open', () => waiting.splice(0).forEach((text) => service.send(text)));
  service.on('message', (data) => {
    record(textOf(data));
    client.send(textOf(data));
  });
  service.on('close', () => client.close());
  service.on('error', () => client.terminate());
  client.on('close', () => service.terminate());
}

const textOf = (data: WebSocket.RawData): string => (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString();

function readSeen(path: string, request: string, status: number, body: string): Seen | null {
  const endpoint = /\/(info|exchange)\/*(?:\?|$)/.exec(path)?.[1] as Seen['endpoint'] | undefined;
  if (endpoint === undefined) return null;
  const asked = JSON.parse(request) as { type?: string; action?: { type?: string } };
  const type = (endpoint === 'info' ? asked.type : asked.action?.type) ?? '';
  return { endpoint, type, request, status, answer: JSON.parse(body) as unknown };
}

function check({ endpoint, type, status, answer }: Seen): void {
  if (status !== 200) throw new Error(`answered ${status}`);
  if (endpoint === 'info') checkInfoAnswer(type, answer);
  else checkExchangeAnswer(type, answer);
}
