import { connect } from 'node:net';
import type { SocketApi } from './input.js';

/** A WebSocket client that writes any payload as it is, and reads no more than it must. */
export interface FrameSocket {
  send(payload: Buffer, isBinary: boolean): void;
  /** Resolves with true when a message holds the text, with false when the socket is closed, with null when neither happens in time. */
  receives(text: string): Promise<boolean | null>;
  /** The code the service closed with; null while it is open, 0 where it ended without a close frame. */
  closeCode(): number | null;
  close(): void;
}

const ANSWER_MS = 15_000;
const TEXT = 0x81;
const BINARY = 0x82;
const CLOSE = 8;
const NO_MASK = Buffer.alloc(4);

export const handshakeOf = (api: SocketApi, slug: string, headers: readonly string[]): Buffer =>
  Buffer.from(
    [
      `GET /${api}/${slug}/ws HTTP/1.1`,
      'Host: 127.0.0.1',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: ZnV6emZ1enpmdXp6ZnV6eg==',
      ...headers,
      '',
      '',
    ].join('\r\n'),
  );

/** Masked with zeros: the protocol demands a mask, not that it hides anything. */
export function frameOf(payload: Buffer, opcode: number): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(opcode, 0x80 | length), NO_MASK, payload]);
  if (length < 65_536) return Buffer.concat([Buffer.of(opcode, 0x80 | 126, length >> 8, length & 255), NO_MASK, payload]);
  const head = Buffer.alloc(10);
  head[0] = opcode;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, NO_MASK, payload]);
}

/** Null where the handshake was not granted. */
export function openFrameSocket(port: number, handshake: Buffer): Promise<FrameSocket | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = Buffer.alloc(0);
    let isOpen = false;
    let code: number | null = null;
    let awaited: { readonly text: string; readonly settle: (isReceived: boolean | null) => void } | null = null;

    const finish = (isReceived: boolean | null): void => {
      const { settle } = awaited ?? {};
      awaited = null;
      settle?.(isReceived);
    };

    const frame = (opcode: number, payload: Buffer): void => {
      if (opcode === CLOSE) code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      if (awaited !== null && payload.includes(awaited.text)) finish(true);
    };

    const readFrames = (): void => {
      for (;;) {
        if (received.length < 2) return;
        const short = (received[1] ?? 0) & 127;
        const head = short === 127 ? 10 : short === 126 ? 4 : 2;
        if (received.length < head) return;
        const length = short === 127 ? Number(received.readBigUInt64BE(2)) : short === 126 ? received.readUInt16BE(2) : short;
        if (received.length < head + length) return;
        frame((received[0] ?? 0) & 15, received.subarray(head, head + length));
        received = received.subarray(head + length);
      }
    };

    socket.on('connect', () => socket.write(handshake));
    socket.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
      if (!isOpen) {
        const end = received.indexOf('\r\n\r\n');
        if (end === -1) return;
        if (!received.toString('latin1', 0, 12).endsWith('101')) {
          socket.destroy();
          return resolve(null);
        }
        isOpen = true;
        received = received.subarray(end + 4);
        resolve(made);
      }
      readFrames();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      code ??= 0;
      finish(false);
      resolve(null);
    });

    const made: FrameSocket = {
      send: (payload, isBinary) => void socket.write(frameOf(payload, isBinary ? BINARY : TEXT)),
      receives(text) {
        if (socket.destroyed) return Promise.resolve(false);
        return new Promise((settle) => {
          const late = setTimeout(() => finish(null), ANSWER_MS);
          awaited = {
            text,
            settle(isReceived) {
              clearTimeout(late);
              settle(isReceived);
            },
          };
        });
      },
      closeCode: () => code,
      close: () => socket.destroy(),
    };
  });
}
