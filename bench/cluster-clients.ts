import { connect, type Socket } from 'node:net';
import { createFrameReader, textFrame } from './cluster-frames.js';

/** Very many sockets in a process of its own, read as cheaply as can be: what they cost is not the gateway's. */

export type ClientOrder =
  | { readonly kind: 'open'; readonly url: string; readonly path: string; readonly count: number }
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'measure'; readonly seconds: number }
  | { readonly kind: 'close' };

export interface Measured {
  /** Frames of news, in the time measured. */
  readonly frames: number;
  readonly bytes: number;
  /** Frames that the client who got fewest of them got. */
  readonly fewest: number;
  /** From the stamp in the frame to its arrival; null where frames carry none. */
  readonly deliveryMs: { readonly p50: number; readonly p99: number; readonly most: number } | null;
  readonly cpu: number;
  readonly seconds: number;
}

const STAMP = Buffer.from('"updatedAt":');
const SNAPSHOT = Buffer.from('"snapshot":true');
const NEWS = [Buffer.from('{"channel":"prices"'), Buffer.from('{"channel":"allMids"')];
const STAMP_DIGITS = 13;
const SLOWEST_MS = 20_000;
const ALIVE = textFrame('{"op":"pong"}');
const LONGEST_SILENCE_MS = 60_000;
const ALIVE_EVERY_MS = 10_000;

let sockets: Socket[] = [];
let counts = new Uint32Array(0);
let heard = new Uint8Array(0);
let delays: Uint32Array | null = null;
let bytes = 0;
let keepAlive: NodeJS.Timeout | undefined;

process.on('message', (order) => {
  obey(order as ClientOrder).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit());

async function obey(order: ClientOrder): Promise<Measured | null> {
  if (order.kind === 'open') await openAll(order);
  if (order.kind === 'say') await sayAll(order.text);
  if (order.kind === 'close') await closeAll();
  return order.kind === 'measure' ? measure(order.seconds) : null;
}

async function openAll({ url, path, count }: Extract<ClientOrder, { kind: 'open' }>): Promise<void> {
  counts = new Uint32Array(count);
  heard = new Uint8Array(count);
  for (let from = 0; from < count; from += 50)
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(50, count - from) }, (_, index) => open(url, path, from + index)))));
  keepAlive = setInterval(() => sockets.forEach((socket) => socket.write(ALIVE)), ALIVE_EVERY_MS);
}

/** Resolves when every client has received a message about it. */
async function sayAll(text: string): Promise<void> {
  const frame = textFrame(text);
  for (const socket of sockets) socket.write(frame);
  const until = Date.now() + LONGEST_SILENCE_MS;
  while (heard.includes(0)) {
    if (Date.now() > until) throw new Error(`${heard.filter((one) => one === 0).length} of ${sockets.length} sockets heard nothing`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A place has a limit of lines per address; on Linux all of 127.0.0.0/8 is this machine. */
const addressOf = (index: number): string => (process.platform === 'linux' ? `127.0.1.${1 + Math.floor(index / 100)}` : '127.0.0.1');

function open(url: string, path: string, index: number): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: addressOf(index) }).setNoDelay(true);
    const read = createFrameReader((buffer, from, to) => hear(index, buffer, from, to));
    socket.once('error', reject);
    socket.once('data', (chunk: Buffer) => {
      const end = chunk.indexOf('\r\n\r\n');
      if (end === -1 || !chunk.toString('latin1', 0, 12).endsWith('101')) return reject(new Error(chunk.toString('utf8', 0, 200)));
      socket.on('data', read);
      if (chunk.length > end + 4) read(chunk.subarray(end + 4));
      resolve(socket);
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: ${Buffer.alloc(16, index % 256).toString('base64')}\r\n\r\n`,
    );
  });
}

function hear(index: number, buffer: Buffer, from: number, to: number): void {
  if (delays === null && heard[index] === 1) return;
  const isNews = NEWS.some((start) => buffer.compare(start, 0, start.length, from, Math.min(to, from + start.length)) === 0);
  if (isNews) heard[index] = 1;
  if (delays === null || !isNews || isSnapshot(buffer, from)) return;
  counts[index] = (counts[index] ?? 0) + 1;
  bytes += to - from;
  const at = buffer.indexOf(STAMP, from);
  if (at === -1 || at > to) return;
  const stamp = Number(buffer.toString('latin1', at + STAMP.length, at + STAMP.length + STAMP_DIGITS));
  const delay = Math.min(SLOWEST_MS, Math.max(0, Date.now() - stamp));
  delays[delay] = (delays[delay] ?? 0) + 1;
}

/** Said at the start of a frame or not at all. */
const isSnapshot = (buffer: Buffer, from: number): boolean => buffer.subarray(from, from + 64).includes(SNAPSHOT);

async function measure(seconds: number): Promise<Measured> {
  counts.fill(0);
  bytes = 0;
  const found = (delays = new Uint32Array(SLOWEST_MS + 1));
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  delays = null;
  const { user, system } = process.cpuUsage(before);
  const frames = counts.reduce((sum, count) => sum + count, 0);
  return {
    frames,
    bytes,
    fewest: counts.reduce((least, count) => Math.min(least, count)),
    deliveryMs: delivery(found),
    cpu: user + system,
    seconds,
  };
}

function delivery(found: Uint32Array): Measured['deliveryMs'] {
  const all = found.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  const below = (part: number): number => {
    let seen = 0;
    return found.findIndex((count) => (seen += count) >= all * part);
  };
  return { p50: below(0.5), p99: below(0.99), most: below(1) };
}

async function closeAll(): Promise<void> {
  clearInterval(keepAlive);
  const gone = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of sockets) socket.destroy();
  await Promise.all(gone);
  sockets = [];
}
