import type { Actors } from './actors.js';
import { createHttpConnection, readAnswer, sendRaw, type HttpAnswer, type HttpConnection } from './http-client.js';
import { LAST_ID, type FrameInput, type HttpInput, type Numbered, type RawInput, type SequenceInput, type SocketApi } from './input.js';
import { REQUEST_ID, type Watch } from './watch.js';
import { handshakeOf, openFrameSocket, type FrameSocket } from './ws-client.js';

export interface Delivery {
  /** Sends all of them, side by side, and resolves when each has its answer. */
  deliver(inputs: readonly Numbered[]): Promise<void>;
  readonly counts: {
    answered: number;
    admitted: number;
    limited: number;
    /** Frames for which no socket was granted. */
    unsent: number;
    byStatus: Map<number, number>;
  };
  close(): void;
}

export interface DeliveryOptions {
  readonly port: number;
  readonly actors: Actors;
  readonly watch: Watch;
}

const CONNECTIONS = 24;
const SOCKETS_PER_API = 4;
const RAW_AT_ONCE = 6;
const FRAMES_AT_ONCE = 20;
/** Below the messages a socket may send at once. */
const FRAMES_PER_SOCKET = 240;
/** Inputs of one address: below its limits, so that most get past them. */
const INPUTS_PER_ADDRESS = 100;
/** One input in so many comes from the same address, which is over its limits most of the time. */
const BUSY_ADDRESS_EVERY = 19;
const BUSY_ADDRESS = '10.255.0.1';
/** Ends of a socket that say that the client did something wrong or was too much. */
const FAIR_CLOSES = new Set([1001, 1002, 1003, 1007, 1008, 1009, 1013]);

/** The service trusts this machine as a proxy, so that inputs can come from as many clients as there would be. */
export function addressOf(index: number): string {
  if (index % BUSY_ADDRESS_EVERY === 0) return BUSY_ADDRESS;
  const client = Math.floor(index / INPUTS_PER_ADDRESS);
  return `10.${(client >> 16) & 127}.${(client >> 8) & 255}.${client & 255}`;
}

export function createDelivery({ port, actors, watch }: DeliveryOptions): Delivery {
  const counts: Delivery['counts'] = { answered: 0, admitted: 0, limited: 0, unsent: 0, byStatus: new Map() };
  const connections = Array.from({ length: CONNECTIONS }, () => createHttpConnection(port));
  const sockets: Record<SocketApi, (FrameSocket | null)[]> = { v1: [], hl: [] };
  const used = new WeakMap<FrameSocket, number>();
  let probes = 0;

  const judge = (index: number, { status, body }: HttpAnswer, isWrite: boolean): void => {
    counts.answered += 1;
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
    if (status === 429) counts.limited += 1;
    if (isWrite && status < 300 && !body.startsWith('{"status":"err"')) counts.admitted += 1;
    if (status < 500 && status >= 100) return;
    const code = /"code":"([A-Z_]+)"/.exec(body)?.[1] ?? '';
    watch.report({ kind: 'status', signature: `${status} ${code}`, text: `answered ${status} ${body.slice(0, 300)}`, index });
  };

  const sendHttp = async (connection: HttpConnection, index: number, input: HttpInput): Promise<HttpAnswer | null> => {
    const signed = actors.sign(input);
    const answer = await connection.send(bytesOf(index, signed), signed.method === 'HEAD');
    if (answer === null) watch.report({ kind: 'no answer', signature: `no answer ${signed.method}`, text: 'no complete answer', index });
    else
      judge(
        index,
        answer,
        signed.method !== 'GET' && signed.method !== 'HEAD' && !signed.path.includes('/info') && !signed.path.includes('/quote'),
      );
    return answer;
  };

  const sendSequence = async (connection: HttpConnection, index: number, { steps }: SequenceInput): Promise<void> => {
    let id = 'none';
    for (const step of steps) {
      const answer = await sendHttp(connection, index, { ...step, path: step.path.replace(LAST_ID, id) });
      id = /"id":"([^"]{1,80})"/.exec(answer?.body ?? '')?.[1] ?? id;
    }
  };

  const sendBytes = async (index: number, { bytes, afterHandshake }: RawInput): Promise<void> => {
    const head =
      afterHandshake === undefined ? null : handshakeOf(afterHandshake, actors.chain.slug, [`X-Forwarded-For: ${addressOf(index)}`]);
    const received = await sendRaw(port, bytes, head);
    if (received === null)
      return watch.report({
        kind: 'no answer',
        signature: 'connection stays open',
        text: 'the connection stays open after its client has ended it',
        index,
      });
    counts.answered += 1;
    const answer = head === null ? readAnswer(received, false, true) : null;
    if (answer !== null && answer.status >= 500) judge(index, answer, false);
  };

  const socketAt = async (api: SocketApi, place: number, index: number): Promise<FrameSocket | null> => {
    const known = sockets[api][place] ?? null;
    if (known?.closeCode() === null && (used.get(known) ?? 0) < FRAMES_PER_SOCKET) return known;
    known?.close();
    const headers = [`X-Forwarded-For: ${addressOf(index)}`, `X-Request-Id: fuzz-socket-${index}`];
    const made = await openFrameSocket(port, handshakeOf(api, actors.chain.slug, headers));
    sockets[api][place] = made;
    return made;
  };

  const probeOf = (api: SocketApi): { readonly payload: Buffer; readonly answer: string } => {
    const name = `PRB${(probes += 1)}`;
    if (api === 'v1')
      return { payload: Buffer.from(`{"op":"unsubscribe","channel":"book","market":"${name}/USD"}`), answer: `${name}/USD` };
    return { payload: Buffer.from(`{"method":"unsubscribe","subscription":{"type":"allMids","dex":"${name}"}}`), answer: name };
  };

  /** Frames have no answer each: behind some of them goes one whose answer is known, and it comes only if the socket still serves. */
  const sendFrames = async (api: SocketApi, place: number, batch: readonly (Numbered & { input: FrameInput })[]): Promise<void> => {
    const [first] = batch;
    const socket = first === undefined ? null : await socketAt(api, place, first.index);
    if (socket === null) return void (counts.unsent += batch.length);
    for (const { index } of batch) watch.enter(index);
    for (const { input } of batch) socket.send(actors.signFrame(input), input.isBinary);
    used.set(socket, (used.get(socket) ?? 0) + batch.length + 1);
    const probe = probeOf(api);
    socket.send(probe.payload, false);
    const isReceived = await socket.receives(probe.answer);
    counts.answered += batch.length;
    const code = socket.closeCode();
    if (isReceived === null) socket.close();
    if (isReceived === null || (!isReceived && !FAIR_CLOSES.has(code ?? 0)))
      watch.report({
        kind: 'socket',
        signature: `${api} ${isReceived === null ? 'silent' : `closed ${code}`}`,
        text: isReceived === null ? `the /${api} socket no longer answers` : `the /${api} socket ended with ${code}`,
        index: null,
      });
    for (const { index } of batch) watch.leave(index);
  };

  const isFrame = (each: Numbered): each is Numbered & { input: FrameInput } => each.input.kind === 'frame';

  const deliverFrames = async (api: SocketApi, place: number, queue: (Numbered & { input: FrameInput })[]): Promise<void> => {
    // Bytes that are no text end the socket, and with it what was sent behind them.
    while (queue.length > 0)
      await sendFrames(
        api,
        place,
        queue.splice(0, FRAMES_AT_ONCE).sort((a, b) => Number(endsSocket(a.input)) - Number(endsSocket(b.input))),
      );
  };

  /** From the end of the queue, which is cheaper than from its beginning. */
  const deliverRest = async (connection: HttpConnection | null, queue: Numbered[]): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const { index, input } = next;
      watch.enter(index);
      if (input.kind === 'raw') await sendBytes(index, input);
      else if (connection !== null && input.kind === 'http') await sendHttp(connection, index, input);
      else if (connection !== null && input.kind === 'sequence') await sendSequence(connection, index, input);
      watch.leave(index);
    }
  };

  return {
    counts,
    async deliver(inputs) {
      const frames = inputs.filter(isFrame);
      const queues = (['v1', 'hl'] as const).map((api) => ({ api, queue: frames.filter(({ input }) => input.api === api) }));
      const raw = inputs.filter(({ input }) => input.kind === 'raw').reverse();
      const http = inputs.filter(({ input }) => input.kind === 'http' || input.kind === 'sequence').reverse();
      await Promise.all([
        ...connections.map((connection) => deliverRest(connection, http)),
        ...Array.from({ length: RAW_AT_ONCE }, () => deliverRest(null, raw)),
        ...queues.flatMap(({ api, queue }) => Array.from({ length: SOCKETS_PER_API }, (_, place) => deliverFrames(api, place, queue))),
      ]);
    },
    close() {
      for (const connection of connections) connection.close();
      for (const socket of [...sockets.v1, ...sockets.hl]) socket?.close();
    },
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function endsSocket({ payload, isBinary }: FrameInput): boolean {
  try {
    if (!isBinary) utf8.decode(payload);
    return payload.length > 200_000;
  } catch {
    return true;
  }
}

function bytesOf(index: number, { method, path, headers, body }: HttpInput): Buffer {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!names.has('host')) lines.push('Host: 127.0.0.1');
  // The sandbox refuses callers whom a proxy brings.
  if (!names.has('x-forwarded-for') && !path.includes('/sandbox')) lines.push(`X-Forwarded-For: ${addressOf(index)}`);
  if (!names.has('x-request-id')) lines.push(`X-Request-Id: ${REQUEST_ID}${index}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== null) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === null ? head : Buffer.concat([head, body]);
}
