/** As much of the WebSocket protocol as a client of the benchmark needs: text to the server, whole frames from it. */

const SHORT = 126;
const LONG = 127;

/** Masked with zeros, which the protocol allows and costs nothing. */
export function textFrame(text: string): Buffer {
  const body = Buffer.from(text);
  if (body.length >= SHORT) throw new RangeError('longer than a short frame');
  return Buffer.concat([Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0]), body]);
}

/** Calls with the place of each frame's payload, in the buffer it came in. */
export function createFrameReader(onFrame: (buffer: Buffer, from: number, to: number) => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    const buffer = rest === null ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at + 2 <= buffer.length) {
      const head = headOf(buffer, at);
      if (head === null || at + head.size + head.length > buffer.length) break;
      onFrame(buffer, at + head.size, at + head.size + head.length);
      at += head.size + head.length;
    }
    rest = at === buffer.length ? null : Buffer.from(buffer.subarray(at));
  };
}

function headOf(buffer: Buffer, at: number): { readonly size: number; readonly length: number } | null {
  const length = (buffer[at + 1] ?? 0) & 0x7f;
  if (length < SHORT) return { size: 2, length };
  const size = length === LONG ? 10 : 4;
  if (at + size > buffer.length) return null;
  return { size, length: length === LONG ? buffer.readUIntBE(at + 4, 6) : buffer.readUInt16BE(at + 2) };
}
