import type { z } from 'zod';
import { parseCredentials, type AgentCredentials } from '../../core/access/credential-headers.js';
import { GatewayError } from '../../core/errors.js';
import { issuesOf } from '../decode-input.js';
import { MAX_ISSUES, readStrictJson } from '../../http/strict-json.js';
import { Addressed, Beat, ByKey, BySignature, Spoken, SUBSCRIPTIONS, type Subscription } from '../wire/stream.js';

/** Longer than any valid message. */
export const MESSAGE_LIMIT_BYTES = 16 * 1024;

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
