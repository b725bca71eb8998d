import { once } from 'node:events';
import { inspect } from 'node:util';
import type { Wallet } from 'ethers';
import { WebSocket } from 'ws';
import type { ChainDefinition } from '../../../core/chains/chains.js';
import { openApiDocument, type JsonSchema } from '../../../native-api/openapi.js';
import { OPERATIONS } from '../../../native-api/operations/index.js';
import { eventually } from '../../harness/time/eventually.js';
import { schemaProblems } from '../../harness/checks/json-schema.js';
import { signRequest, type RequestToSign } from '../../harness/traders/signed-request.js';

export type Message = Readonly<Record<string, unknown>> & { readonly op?: string; readonly channel?: string; readonly seq?: number };

/** A client of the socket that keeps every message it receives, in order. */
export interface SocketClient {
  readonly received: Message[];
  readonly socket: WebSocket;
  readonly handshake: Readonly<Record<string, unknown>>;
  send(message: unknown): void;
  /** The first message from `from` on that fits, waiting for it. */
  find(fits: (message: Message) => boolean, from?: number): Promise<Message>;
  /** Says it and waits for the first later message that fits. */
  ask(message: unknown, fits: (message: Message) => boolean): Promise<Message>;
  of(channel: string): Message[];
  /** Resolves with the code when the connection is closed. */
  readonly closed: Promise<number>;
  close(): Promise<void>;
}

const contract = openApiDocument(OPERATIONS, 'X-Service-');
const { server } = contract['x-websocket'] as { server: { answers: Record<string, JsonSchema>; messages: Record<string, JsonSchema> } };

/** Every received message is checked against the documented shape. */
function problemsOf(message: Message): string[] {
  const { op, channel } = message;
  const schema = op === undefined ? server.messages[String(channel)] : server.answers[op];
  return schema === undefined ? [`nothing describes ${JSON.stringify(message)}`] : schemaProblems(contract, schema, message);
}

export async function connect(url: string, path = '/v1/arbitrum-sepolia/ws', options = {}): Promise<SocketClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, options);
  const received: Message[] = [];
  const problems: string[] = [];
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    received.push(message);
    problems.push(...problemsOf(message));
  });
  let handshake = {};
  socket.on('upgrade', ({ headers }) => (handshake = headers));
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await once(socket, 'open');

  const find: SocketClient['find'] = async (fits, from = 0) => {
    if (problems.length > 0) throw new Error(`the socket breaks its contract:\n${problems.join('\n')}`);
    const found = await eventually(
      () => received.slice(from).find(fits),
      (message) => message !== undefined,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; received: ${inspect(received.slice(-8), { depth: 4 })}`);
    });
    return found ?? {};
  };
  const send = (message: unknown): void => socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  return {
    received,
    socket,
    handshake,
    closed,
    send,
    find,
    ask(message, fits) {
      const from = received.length;
      send(message);
      return find(fits, from);
    },
    of: (channel) => received.filter((message) => message.channel === channel && message.op === undefined),
    async close() {
      socket.close();
      await closed;
    },
  };
}

/** What a refused handshake answers. */
export async function refusedHandshake(
  url: string,
  path: string,
  options = {},
): Promise<{ status: number; headers: Readonly<Record<string, unknown>>; body: unknown }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, options);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    AsyncIterable<Buffer> & { statusCode: number; headers: Readonly<Record<string, unknown>> },
  ];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  socket.terminate();
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Messages of one subscription are numbered without a gap, the first one is its snapshot. */
export function expectContinuous(messages: readonly Message[]): void {
  expect(messages.length).toBeGreaterThan(0);
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, at) => at + 1));
  expect(messages.map(({ snapshot }) => snapshot)).toEqual(messages.map((_, at) => at === 0));
}

export const isError =
  (code: string) =>
  (message: Message): boolean =>
    message.op === 'error' && message['code'] === code;
export const isOp =
  (op: string, channel?: string) =>
  (message: Message): boolean =>
    message.op === op && (channel === undefined || message.channel === channel);
export const isData =
  (channel: string, more: (message: Message) => boolean = () => true) =>
  (message: Message): boolean =>
    message.op === undefined && message.channel === channel && more(message);

/** The message an agent signs itself in with. */
export async function wsAuth(wallet: Wallet, chain: ChainDefinition, changes: Partial<RequestToSign> = {}): Promise<Message> {
  const path = `/v1/${chain.slug}/ws`;
  const headers = await signRequest(wallet, chain, { operationId: 'wsAuth', method: 'WS', path, ...changes }, { prefix: '' });
  const { Agent: agent, Timestamp: timestamp, Nonce: nonce, Signature: signature } = headers;
  return { op: 'auth', agent, timestamp, nonce, signature };
}
