import { Wallet } from 'ethers';
import { WebSocket } from 'ws';
import type { Hex } from '../../../core/types.js';
import { signRequest } from '../../harness/traders/signed-request.js';
import type { Surroundings } from './surroundings.js';

/** A client of the native stream of orders that comes back with its cursor, to any replica, whenever its connection ends. */
export interface StreamFollower {
  readonly trader: string;
  /** From its snapshot on; after lost commits it reads everything again, and another part begins. */
  readonly parts: readonly StreamPart[];
  connections(): number;
  stop(): void;
}

export interface StreamPart {
  /** The cursor of its snapshot; null before it had one. */
  start: number | null;
  /** The messages after the snapshot, in the order of their arrival. */
  readonly heard: Heard[];
}

/** What a message says of an order. */
export interface Heard {
  readonly cursor: number;
  readonly id: string;
  /** `gone`: a correction took the order back. */
  readonly status: string;
}

interface Message {
  readonly op?: string;
  readonly channel?: string;
  readonly cursor?: number;
  readonly snapshot?: boolean;
  readonly details?: { readonly cursorLost?: boolean; readonly retryAfterSeconds?: number };
  /** Of a correction. */
  readonly id?: string;
  readonly data?: { readonly id: string; readonly status: string } | null;
}

const PAUSE_MS = 400;
/** A connection without a word for so long is given up; a paused replica neither answers nor closes. */
const SILENCE_MS = 8_000;
const HANDSHAKE_MS = 3_000;

export function followStream(around: Surroundings, keys: { readonly trader: Hex; readonly agent: Hex }): StreamFollower {
  const { clock, chain, urls, random } = around;
  const agent = new Wallet(keys.agent);
  let part: StreamPart = { start: null, heard: [] };
  const parts = [part];
  const path = `/v1/${chain.definition.slug}/ws`;
  let last: number | null = null;
  let connections = 0;
  let pauseMs = PAUSE_MS;
  let nonce = 0n;
  let isOver = false;
  let current: WebSocket | null = null;

  async function login(socket: WebSocket): Promise<void> {
    nonce += 1n;
    const headers = await signRequest(
      agent,
      chain.definition,
      { operationId: 'wsAuth', method: 'WS', path, timestamp: clock.now(), nonce: BigInt(clock.now()) * 1_000n + 500n + nonce },
      { prefix: '' },
    );
    const { Agent: address, Timestamp: timestamp, Nonce: once, Signature: signature } = headers;
    socket.send(JSON.stringify({ op: 'auth', agent: address, timestamp, nonce: once, signature }));
  }

  function receive(socket: WebSocket, message: Message): void {
    if (message.op === 'authenticated')
      return socket.send(JSON.stringify({ op: 'subscribe', channel: 'orders', ...(last === null ? {} : { after: last }) }));
    if (message.op === 'error' && message.details?.cursorLost === true) {
      last = null;
      parts.push((part = { start: null, heard: [] }));
    }
    pauseMs = Math.max(PAUSE_MS, (message.details?.retryAfterSeconds ?? 0) * 1_000);
    // A replica that is starting or stopping refuses; the next one may not.
    if (message.op === 'error') return socket.terminate();
    if (message.channel !== 'orders' || message.op !== undefined || message.cursor === undefined) return;
    if (message.snapshot === true) part.start ??= message.cursor;
    else part.heard.push({ cursor: message.cursor, id: message.data?.id ?? message.id ?? '', status: message.data?.status ?? 'gone' });
    last = message.cursor;
  }

  function open(): void {
    if (isOver) return;
    connections += 1;
    const socket = new WebSocket(`${random.pick(urls()).replace('http', 'ws')}${path}`, {
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
    });
    current = socket;
    let heardAt = clock.now();
    const stopWatch = clock.every(SILENCE_MS / 4, () => {
      if (socket.readyState === WebSocket.OPEN) socket.ping();
      if (clock.now() - heardAt > SILENCE_MS) socket.terminate();
    });
    const hear = (): void => void (heardAt = clock.now());
    socket.on('open', () => void login(socket));
    socket.on('pong', hear);
    socket.on('message', (data: Buffer) => {
      hear();
      receive(socket, JSON.parse(data.toString()) as Message);
    });
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      stopWatch();
      clock.after(pauseMs, open);
      pauseMs = PAUSE_MS;
    });
  }
  open();

  return {
    trader: new Wallet(keys.trader).address.toLowerCase(),
    parts,
    connections: () => connections,
    stop() {
      isOver = true;
      current?.terminate();
    },
  };
}
