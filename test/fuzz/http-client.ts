import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** A kept-alive connection that sends bytes as they are given and reads one answer at a time. */
export interface HttpConnection {
  /** Null where the connection ended, or nothing complete came in time. */
  send(bytes: Buffer, isHead: boolean): Promise<HttpAnswer | null>;
  close(): void;
}

const ANSWER_MS = 30_000;
const HEAD_END = Buffer.from('\r\n\r\n');

export function createHttpConnection(port: number): HttpConnection {
  let socket: Socket | null = null;
  let received = Buffer.alloc(0);
  let isHead = false;
  let settle: ((answer: HttpAnswer | null) => void) | null = null;

  const finish = (answer: HttpAnswer | null): void => {
    const done = settle;
    settle = null;
    done?.(answer);
  };

  const drop = (): void => {
    socket?.destroy();
    socket = null;
    received = Buffer.alloc(0);
  };

  const read = (isOver: boolean): void => {
    if (settle === null) return;
    const parsed = readAnswer(received, isHead, isOver);
    if (parsed === null) return;
    received = received.subarray(parsed.end);
    if (parsed.status < 200) return read(isOver); // 100 Continue, an answer follows
    if (parsed.isLast) drop();
    finish({ status: parsed.status, body: parsed.body });
  };

  const open = (): Socket => {
    const made = connect({ port, host: '127.0.0.1', noDelay: true });
    made.on('data', (bytes) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
      read(false);
    });
    made.on('error', () => undefined);
    made.on('close', () => {
      if (made !== socket) return;
      read(true);
      drop();
      finish(null);
    });
    return made;
  };

  return {
    send(bytes, head) {
      isHead = head;
      if (socket === null || socket.destroyed || !socket.writable) {
        drop();
        socket = open();
      }
      const current = socket;
      return new Promise((resolve) => {
        const late = setTimeout(() => {
          drop();
          finish(null);
        }, ANSWER_MS);
        settle = (answer) => {
          clearTimeout(late);
          resolve(answer);
        };
        current.write(bytes);
      });
    },
    close: drop,
  };
}

interface Parsed extends HttpAnswer {
  readonly end: number;
  /** Nothing more comes on this connection. */
  readonly isLast: boolean;
}

/** The first answer in the bytes, if all of it is there. */
export function readAnswer(bytes: Buffer, isHead: boolean, isOver: boolean): Parsed | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = bytes.toString('latin1', 0, headEnd);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
  const start = headEnd + HEAD_END.length;
  const isLast = /^connection: *close/im.test(head);
  const made = (end: number, from = start): Parsed => ({ status, isLast, end, body: bytes.toString('utf8', from, end) });
  if (isHead || status < 200 || status === 204 || status === 304) return made(start);
  const length = /^content-length: *(\d+)/im.exec(head)?.[1];
  if (length !== undefined) return bytes.length >= start + Number(length) ? made(start + Number(length)) : null;
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const last = bytes.indexOf('\r\n0\r\n\r\n', start - 2);
    return last === -1 ? null : made(last + 7);
  }
  return isOver ? made(bytes.length) : null;
}

/** Sends bytes on a connection of their own, ends this side, and resolves with all that came; null where the service never closed. */
export function sendRaw(port: number, bytes: Buffer, handshake: Buffer | null): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const late = setTimeout(() => {
      socket.destroy();
      resolve(null);
    }, ANSWER_MS);
    const speak = (): void => void socket.end(bytes);
    socket.on('connect', () => (handshake === null ? speak() : socket.write(handshake)));
    if (handshake !== null) socket.once('data', speak);
    socket.on('data', (part) => parts.push(part));
    socket.on('end', () => socket.end());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(late);
      resolve(Buffer.concat(parts));
    });
  });
}
