import type { Packable } from '../../../facade/signing/l1-signature.js';

/** The range of msgpack integers: signed 64 bits below zero, unsigned above. */
const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 64n - 1n;

/** A second packer, written byte by byte from the format, that shares no code with the one of the service: what that one is compared with. */
export function packByHand(message: Packable): Uint8Array {
  const out: number[] = [];
  pack(out, message);
  return Uint8Array.from(out);
}

function pack(out: number[], message: Packable): void {
  if (message === null) out.push(0xc0);
  else if (typeof message === 'boolean') out.push(message ? 0xc3 : 0xc2);
  else if (typeof message === 'string') packText(out, message);
  else if (typeof message === 'bigint') packInteger(out, message);
  else if (typeof message === 'number') packFloat(out, message);
  else if (message instanceof Uint8Array) out.push(0xc4, message.length, ...message);
  else packMany(out, message);
}

function packMany(out: number[], message: Exclude<Packable, Uint8Array | string | bigint | number | boolean | null>): void {
  if (isMap(message)) {
    packCount(out, message.size, 0x80, 0xde);
    for (const [key, value] of message) {
      packText(out, key);
      pack(out, value);
    }
  } else if (isList(message)) {
    packCount(out, message.length, 0x90, 0xdc);
    for (const item of message) pack(out, item);
  } else throw new TypeError('a number that is no integer');
}

const isMap = (message: object): message is ReadonlyMap<string, Packable> => message instanceof Map;
const isList = (message: object): message is readonly Packable[] => Array.isArray(message);

const encoder = new TextEncoder();

function packText(out: number[], text: string): void {
  const bytes = isAscii(text) ? null : encoder.encode(text);
  const count = bytes?.length ?? text.length;
  if (count < 0x20) out.push(0xa0 | count);
  else if (count < 0x100) out.push(0xd9, count);
  else if (count < 0x10000) out.push(0xda, ...bigEndian(BigInt(count), 2));
  else out.push(0xdb, ...bigEndian(BigInt(count), 4));
  if (bytes === null) for (let at = 0; at < count; at += 1) out.push(text.charCodeAt(at));
  else for (const byte of bytes) out.push(byte);
}

const isAscii = (text: string): boolean => {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
};

/** Short maps and lists share one byte with their tag. */
function packCount(out: number[], count: number, short: number, tag: number): void {
  if (count < 0x10) out.push(short | count);
  else if (count < 0x10000) out.push(tag, ...bigEndian(BigInt(count), 2));
  else out.push(tag + 1, ...bigEndian(BigInt(count), 4));
}

function packInteger(out: number[], value: bigint): void {
  if (value < MIN_INTEGER || value > MAX_INTEGER) throw new RangeError('an integer of more than 64 bits');
  if (value >= -0x20n && value < 0x80n) return void out.push(Number(value) & 0xff);
  const sizes = [1, 2, 4, 8] as const;
  const fits = (size: number): boolean => (value < 0n ? value >= -(1n << BigInt(8 * size - 1)) : value < 1n << BigInt(8 * size));
  const place = sizes.findIndex(fits);
  out.push((value < 0n ? 0xd0 : 0xcc) + place, ...bigEndian(value, sizes[place] ?? 8));
}

/** Two's complement where it is below zero. */
function bigEndian(value: bigint, size: number): number[] {
  const digits = BigInt.asUintN(8 * size, value)
    .toString(16)
    .padStart(2 * size, '0');
  return Array.from({ length: size }, (_, index) => Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16));
}

function packFloat(out: number[], value: number): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  out.push(0xcb, ...bytes);
}
