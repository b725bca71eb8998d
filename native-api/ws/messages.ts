import type { z } from 'zod';
import { parseCredentials, type AgentCredentials } from '../../core/access/credential-headers.js';
import { GatewayError } from '../../core/errors.js';
import { issuesOf } from '../wire/codec.js';
import { MAX_ISSUES, readStrictJson } from '../../http/strict-json.js';
import { Addressed, Beat, ByKey, BySignature, Spoken, SUBSCRIPTIONS, type Channel, type Subscription } from '../wire/stream.js';
import type { CandleInterval } from '../../core/domain/candle.js';

/** Longer than any valid message. */
const MESSAGE_LIMIT_BYTES = 16 * 1024;

export type ClientMessage =
  | { readonly op: 'subscribe' | 'unsubscribe'; readonly asked: Subscription }
  | { readonly op: 'auth'; readonly apiKey: string }
  | { readonly op: 'auth'; readonly credentials: AgentCredentials }
  | { readonly op: 'ping' | 'pong' };

/** Throws VALIDATION_ERROR for any invalid message. */
export function readMessage(bytes: Uint8Array, isBinary: boolean): ClientMessage {
  if (isBinary) throw refusal('must be text');
  if (bytes.length > MESSAGE_LIMIT_BYTES) throw refusal(`must not exceed ${MESSAGE_LIMIT_BYTES} bytes`);
  const said = readStrictJson(bytes);
  const { op } = decode(Spoken, said);
  if (op === 'ping' || op === 'pong') return { op: decode(Beat, said).op };
  if (op === 'auth') return readAuth(said);
  const { channel } = decode(Addressed, said);
  const asked = decode<Subscription>(SUBSCRIPTIONS[channel], said);
  if (op === 'unsubscribe' && 'after' in asked) throw refusal('is not a field of this request', 'after');
  return { op, asked };
}

function readAuth(said: unknown): ClientMessage {
  if (typeof said === 'object' && said !== null && 'apiKey' in said) return { op: 'auth', apiKey: decode(ByKey, said).apiKey };
  return { op: 'auth', credentials: parseCredentials(decode(BySignature, said), (field) => field) };
}

function decode<Said>(schema: z.ZodType<Said>, value: unknown): Said {
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  throw new GatewayError('VALIDATION_ERROR', { issues: issuesOf(decoded.error).slice(0, MAX_ISSUES) });
}

const refusal = (message: string, path = ''): GatewayError => new GatewayError('VALIDATION_ERROR', { issues: [{ path, message }] });

/** Server frames as text. */

export const answerText = (op: string, fields: object): string => JSON.stringify({ op, ...fields });

export function errorText({ code, message, details }: GatewayError, topic: Topic | null): string {
  const shown = Object.keys(details).length > 0 ? { details } : {};
  return answerText('error', { code, message, ...shown, ...topic });
}

export interface Frame {
  readonly snapshot: boolean;
  /** Serialised JSON; many connections send the same text. */
  readonly data: string;
  readonly cursor?: bigint;
  /** A reorganisation removed what was published for this id; the data is the new state, null if nothing is left. */
  readonly correctionOf?: string | number;
}

/**
 * Numbers the messages of a subscription, so that a gap is visible. `numbers` belongs to the connection: a subscription that is opened
 * again continues its numbers. Clients can only subscribe to existing markets and intervals, which bounds the map.
 */
export function createFramer(topic: Topic, numbers: Map<string, number>): (frame: Frame) => string {
  const head = JSON.stringify(topic).slice(0, -1);
  const key = keyOf(topic);
  return ({ snapshot, data, cursor, correctionOf }) => {
    const seq = (numbers.get(key) ?? 0) + 1;
    numbers.set(key, seq);
    const mark = cursor === undefined ? '' : `,"cursor":${cursor}`;
    const taken = correctionOf === undefined ? '' : `,"correction":true,"id":${JSON.stringify(correctionOf)}`;
    return `${head},"snapshot":${snapshot},"seq":${seq}${mark}${taken},"data":${data}}`;
  };
}

/** A subscription's subject; at most once per connection. */
export interface Topic {
  readonly channel: Channel;
  readonly market?: string;
  readonly interval?: CandleInterval;
}

export const topicOf = (asked: Subscription): Topic => ({
  channel: asked.channel,
  ...('market' in asked && { market: asked.market }),
  ...('interval' in asked && { interval: asked.interval }),
});

export const keyOf = ({ channel, market, interval }: Topic): string => [channel, market, interval].join(' ');
