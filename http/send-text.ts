import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Line } from '../core/stream/line.js';

const WHOLE_TEXT = '\x81';
const SHORT = 126;
const LONG = 65_536;

/**
 * Writes a frame as one piece, its head as characters before its text, so that the network takes it without a buffer of its own: for
 * thousands of lines that hear the same at once, that is most of what a frame costs. What does not fit this way is left to the library,
 * which writes to the same stream and in the same order.
 */
export function createTextSender(socket: WebSocket, stream: Duplex): Line['send'] {
  return (text, sent) => {
    const isPlain = text.length < LONG && Buffer.byteLength(text) === text.length;
    if (!isPlain || socket.readyState !== WebSocket.OPEN) return socket.send(text, () => sent());
    stream.write(headOf(text.length) + text, 'latin1', () => sent());
  };
}

const headOf = (length: number): string =>
  length < SHORT ? WHOLE_TEXT + String.fromCharCode(length) : WHOLE_TEXT + String.fromCharCode(SHORT, length >> 8, length & 0xff);
