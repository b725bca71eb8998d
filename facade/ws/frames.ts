import { z } from 'zod';
import { boundsFault, parseJson } from '../../http/strict-json.js';

/** Server frames as text. A frame for many connections is serialised once. */

export const frameText = (channel: string, data: unknown): string => wrapText(channel, JSON.stringify(data));

/** Around data that is JSON already. */
export const wrapText = (channel: string, data: string): string => `{"channel":${JSON.stringify(channel)},"data":${data}}`;

export const PONG = '{"channel":"pong"}';

export const errorText = (text: string): string => frameText('error', text);

export const echoText = (method: 'subscribe' | 'unsubscribe', subscription: object): string =>
  frameText('subscriptionResponse', { method, subscription });

export type PostResponse =
  | { readonly type: 'info'; readonly payload: { readonly type: string; readonly data: unknown } }
  | { readonly type: 'action'; readonly payload: unknown }
  | { readonly type: 'error'; readonly payload: string };

export const postText = (id: number, response: PostResponse): string => frameText('post', { id, response });

/** A requested subscription; the table of types interprets it. */
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

/** Every subscription is echoed in full, because clients compare the echo; this bounds what is echoed and stored. */
const MAX_SUBSCRIPTION_BYTES = 2_048;
const MAX_SUBSCRIPTION_DEPTH = 8;
/** Longer frames are not echoed in full in a refusal. */
const LONGEST_ECHO = 2_048;
const SHOWN_OF_LONG = 200;

/** A frame, or the text of its refusal. */
export function readFrame(bytes: Uint8Array, isBinary: boolean): ClientFrame | { readonly refusal: string } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const parsed = isBinary ? null : parseJson(text);
  const said = parsed !== null && 'value' in parsed ? parsed.value : undefined;
  const read = Frame.safeParse(said);
  if (!read.success) return { refusal: errorText(`Error parsing JSON into valid websocket request: ${tailOf(said, text)}`) };
  const { data } = read;
  if (data.method === 'post') return { method: 'post', id: data.id, type: data.request.type, payload: data.request.payload };
  if (data.method !== 'ping' && !isBounded(data.subscription)) return { refusal: errorText(`${UNBOUNDED} ${tailOf(said, text)}`) };
  return data;
}

const UNBOUNDED = `Invalid subscription: over ${MAX_SUBSCRIPTION_BYTES} bytes or nested deeper than ${MAX_SUBSCRIPTION_DEPTH} levels.`;

function isBounded(subscription: Asked): boolean {
  const text = JSON.stringify(subscription);
  return Buffer.byteLength(text) <= MAX_SUBSCRIPTION_BYTES && boundsFault(text, { depth: MAX_SUBSCRIPTION_DEPTH }) === null;
}

/** Clients parse what stands between the outermost braces, so it is always an object. */
function tailOf(said: unknown, text: string): string {
  const isObject = typeof said === 'object' && said !== null && !Array.isArray(said);
  if (isObject && text.length <= LONGEST_ECHO) return JSON.stringify(said);
  const id = isObject && 'id' in said && typeof said.id === 'number' ? { id: said.id } : {};
  return JSON.stringify({ ...id, request: text.slice(0, SHOWN_OF_LONG) });
}
