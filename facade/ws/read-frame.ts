import { z } from 'zod';
import { errorText } from './frames.js';

/** A subscription as it was asked for; what it means is the table's business. */
export type Asked = Readonly<Record<string, unknown>> & { readonly type: string };

export type ClientFrame =
  | { readonly method: 'ping' }
  | { readonly method: 'subscribe' | 'unsubscribe'; readonly subscription: Asked }
  | { readonly method: 'post'; readonly id: number; readonly type: 'info' | 'action'; readonly payload: unknown };

const Frame = z.discriminatedUnion('method', [
  z.object({ method: z.literal('ping') }),
  z.object({ method: z.enum(['subscribe', 'unsubscribe']), subscription: z.looseObject({ type: z.string() }) }),
  z.object({
    method: z.literal('post'),
    id: z.int().nonnegative(),
    request: z.object({ type: z.enum(['info', 'action']), payload: z.looseObject({}) }),
  }),
]);

/** Longer ones are not sent back whole. */
const LONGEST_ECHO = 2_048;
const SHOWN_OF_LONG = 200;

/** A frame, or the words it is refused with. */
export function readFrame(bytes: Uint8Array, isBinary: boolean): ClientFrame | { readonly refusal: string } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const said = isBinary ? undefined : parse(text);
  const read = Frame.safeParse(said);
  if (!read.success) return { refusal: errorText(`Error parsing JSON into valid websocket request: ${tailOf(said, text)}`) };
  const { data } = read;
  if (data.method !== 'post') return data;
  return { method: 'post', id: data.id, type: data.request.type, payload: data.request.payload };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Clients cut out what stands between the outermost braces and parse it, so that is always an object. */
function tailOf(said: unknown, text: string): string {
  const isObject = typeof said === 'object' && said !== null && !Array.isArray(said);
  if (isObject && text.length <= LONGEST_ECHO) return JSON.stringify(said);
  const id = isObject && 'id' in said && typeof said.id === 'number' ? { id: said.id } : {};
  return JSON.stringify({ ...id, request: text.slice(0, SHOWN_OF_LONG) });
}
