import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Connection } from '../core/stream/connection.js';

const WHOLE_TEXT = '\x81';
const SHORT = 126;
const LONG = 65_536;

/**
 * Writes a frame as one string, its header before its text, so that the network needs no buffer of its own: for thousands of connections
 * that get the same frame at once, that is most of a frame's cost. Other frames are left to the library, which writes to the same stream
 * in the same order.
 */
export function createTextSender(socket: WebSocket, stream: Duplex): Connection['send'] {
  return (text, sent) => {
    const isPlain = text.length < LONG && Buffer.byteLength(text) === text.length;
    if (!isPlain || socket.readyState !== WebSocket.OPEN) return socket.send(text, () => sent());
    stream.write(headOf(text.length) + text, 'latin1', () => sent());
  };
}

const headOf = (length: number): string =>
  length < SHORT ? WHOLE_TEXT + String.fromCharCode(length) : WHOLE_TEXT + String.fromCharCode(SHORT, length >> 8, length & 0xff);
