import { once } from 'node:events';
import { inspect } from 'node:util';
import { WebSocket } from 'ws';
import { eventually } from '../time/eventually.js';
import { frameProblems } from './socket-schemas.js';

export interface Frame<Data = unknown> {
  readonly channel: string;
  readonly data: Data;
}

/** A client of the facade's stream that keeps every frame it receives, in order, and checks it against the schema of its channel. */
export interface HlSocket {
  readonly received: Frame[];
  readonly socket: WebSocket;
  send(message: unknown): void;
  subscribe(type: string, fields?: object): Promise<Frame<{ subscription: Record<string, unknown> }>>;
  unsubscribe(type: string, fields?: object): Promise<Frame<{ subscription: Record<string, unknown> }>>;
  /** The response to one request. */
  post(type: 'info' | 'action', payload: unknown): Promise<{ readonly type: string; readonly payload: unknown }>;
  /** Says it and waits for the first later error. */
  refused(message: unknown): Promise<string>;
  /** The first frame of a channel from `from` on that fits, waiting for it. */
  find<Data = unknown>(channel: string, fits?: (data: Data) => boolean, from?: number): Promise<Data>;
  of<Data = unknown>(channel: string): Data[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): Promise<void>;
}

const isAnswer =
  (method: string, type: string) =>
  (data: { method: string; subscription: { type: string } }): boolean =>
    data.method === method && data.subscription.type === type;

export async function hlSocket(url: string, path = '/hl/arbitrum-sepolia/ws'): Promise<HlSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`);
  const received: Frame[] = [];
  const problems: string[] = [];
  let lastId = 0;
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame;
    received.push(frame);
    problems.push(...frameProblems(frame));
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code: number, reason: Buffer) => resolve({ code, reason: reason.toString() })),
  );
  await once(socket, 'open');

  const send = (message: unknown): void => socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  const find = async <Data>(channel: string, fits: (data: Data) => boolean = () => true, from = 0): Promise<Data> => {
    const look = (): Frame | undefined => {
      if (problems.length > 0) throw new Error(`the stream breaks its contract:\n${problems.join('\n')}`);
      return received.slice(from).find((frame) => frame.channel === channel && fits(frame.data as Data));
    };
    const found = await eventually(look, (frame) => frame !== undefined).catch((error: unknown) => {
      throw new Error(`${channel}: ${String(error)}; received: ${inspect(received.slice(-8), { depth: 6 }).slice(0, 4000)}`);
    });
    return found?.data as Data;
  };
  const change = async (method: string, type: string, fields: object = {}) => {
    const from = received.length;
    send({ method, subscription: { type, ...fields } });
    return { channel: 'subscriptionResponse', data: await find('subscriptionResponse', isAnswer(method, type), from) } as Frame<{
      subscription: Record<string, unknown>;
    }>;
  };
  return {
    received,
    socket,
    send,
    find,
    closed,
    subscribe: (type, fields) => change('subscribe', type, fields),
    unsubscribe: (type, fields) => change('unsubscribe', type, fields),
    async post(type, payload) {
      const id = (lastId += 1);
      send({ method: 'post', id, request: { type, payload } });
      const data = await find<{ id: number; response: { type: string; payload: unknown } }>('post', (each) => each.id === id);
      return data.response;
    },
    refused(message) {
      const from = received.length;
      send(message);
      return find<string>('error', () => true, from);
    },
    of: <Data>(channel: string) => received.filter((frame) => frame.channel === channel).map(({ data }) => data as Data),
    async close() {
      socket.close();
      await closed;
    },
  };
}
