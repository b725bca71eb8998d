import { OPERATIONS, type ErrorCode, type Operations, type OperationId } from './api.js';
import type { Signer } from './agent.js';
import { ClientError, GatewayError } from './errors.js';
import { newNonce, signatureHeaders, signRequest, type SigningDomain } from './sign-request.js';

/** The part of `fetch` that is used, so that it can be replaced. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly signal?: AbortSignal;
    /** A redirection would lead signatures and keys to an address that the caller did not name. */
    readonly redirect: 'error';
  },
) => Promise<{ readonly status: number; text(): Promise<string> }>;

export interface CallOptions {
  /** Seconds that the gateway may hold the reply back until the order is final or rests; 8 at most. */
  readonly wait?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CallerOptions {
  readonly url: string;
  readonly chain: string;
  readonly agent: Pick<Signer, 'address' | 'signTypedData'> | null;
  readonly apiKey: string | null;
  readonly headerPrefix: string;
  readonly fetch: Fetch;
  /** Epoch ms by this machine's clock. */
  readonly clock: () => number;
  readonly domain: () => Promise<SigningDomain>;
  /** The account of private paths that name none. */
  readonly trader: () => Promise<string>;
}

export interface Caller {
  call<Id extends OperationId>(id: Id, input: Operations[Id]['input'], options?: CallOptions): Promise<Operations[Id]['reply']>;
  /** Epoch ms by the gateway's clock, as far as it is known. */
  now(): number;
  /** Follows the gateway's clock; throws where it is too far away. */
  adoptClock(serverTime: unknown): void;
}

type Input = Readonly<Record<string, unknown>>;

/** A gateway whose clock differs by more than this is not followed: what is signed would stay valid for too long. */
const MAX_CLOCK_OFFSET_MS = 10 * 60_000;

export function createCaller(options: CallerOptions): Caller {
  let offsetMs = 0;
  const { clock } = options;
  const now = (): number => clock() + offsetMs;

  /** The gateway says what time it has when it refuses a timestamp; the next attempt uses that. */
  const adoptClock = (serverTime: unknown): void => {
    const offset = typeof serverTime === 'number' ? serverTime - clock() : Number.NaN;
    if (!(Math.abs(offset) <= MAX_CLOCK_OFFSET_MS))
      throw new ClientError(
        `The clock of this machine and that of the gateway differ by more than ${MAX_CLOCK_OFFSET_MS / 60_000} minutes: set this machine's clock.`,
      );
    offsetMs = offset;
  };

  const call: Caller['call'] = async (id, input, callOptions = {}) => {
    try {
      return await callOnce(options, now, id, input, callOptions);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'TIMESTAMP_OUT_OF_WINDOW' || OPERATIONS[id].auth === 'master') throw error;
      adoptClock(error.details['serverTime']);
      return callOnce(options, now, id, input, callOptions);
    }
  };
  return { call, now, adoptClock };
}

async function callOnce<Id extends OperationId>(
  options: CallerOptions,
  now: () => number,
  id: Id,
  input: Operations[Id]['input'],
  { wait, signal }: CallOptions,
): Promise<Operations[Id]['reply']> {
  const { method, statuses } = OPERATIONS[id];
  const { path, body } = await place(options, id, input as Input);
  const headers = {
    ...(body === null ? {} : { 'Content-Type': 'application/json' }),
    ...(wait === undefined ? {} : { Prefer: `wait=${wait}` }),
    ...(await credentials(options, now, { id, path, body: body ?? '' })),
  };
  const unanswered = (error: unknown): never => {
    if (signal?.aborted === true) throw error;
    throw new ClientError(`No gateway answers at ${options.url}.`, { cause: error });
  };
  const rest = { redirect: 'error', ...(body === null ? {} : { body }), ...(signal === undefined ? {} : { signal }) } as const;
  const response = await options.fetch(`${options.url}${path}`, { method, headers, ...rest }).catch(unanswered);
  const reply = readJson(await response.text().catch(unanswered));
  if (reply !== null && statuses.includes(response.status) && !('code' in reply)) return reply as Operations[Id]['reply'];
  throw refusal(id, response.status, reply);
}

/** Splits the input into path, query and body. */
async function place({ chain, trader }: CallerOptions, id: OperationId, input: Input): Promise<{ path: string; body: string | null }> {
  const row = OPERATIONS[id];
  const given: Record<string, unknown> = { ...input };
  if (row.path.includes('/account/{address}') && given['address'] === undefined) given['address'] = await trader();
  const take = (name: string): unknown => {
    const value = given[name];
    Reflect.deleteProperty(given, name);
    return value;
  };
  const path = row.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = name === 'chain' ? chain : take(name);
    if (typeof value !== 'string' || value === '') throw new ClientError(`${id} needs ${name}.`);
    return encodeURIComponent(value);
  });
  const query = row.query.flatMap((name) => {
    const value = take(name);
    if (value === undefined) return [];
    if (typeof value !== 'string' && typeof value !== 'number') throw new ClientError(`${name} of ${id} must be a text or a number.`);
    return [`${name}=${encodeURIComponent(value)}`];
  });
  if (!row.hasBody && Object.keys(given).length > 0) throw new ClientError(`${id} has no field ${Object.keys(given).join(', ')}.`);
  return { path: query.length === 0 ? path : `${path}?${query.join('&')}`, body: row.hasBody ? JSON.stringify(given) : null };
}

interface Unsigned {
  readonly id: OperationId;
  readonly path: string;
  readonly body: string;
}

async function credentials(
  options: CallerOptions,
  now: () => number,
  { id, path, body }: Unsigned,
): Promise<Readonly<Record<string, string>>> {
  const { agent, apiKey, headerPrefix } = options;
  const { auth, method } = OPERATIONS[id];
  if (auth === 'none' || auth === 'master') return {};
  if (agent !== null) {
    const bytes = new TextEncoder().encode(body);
    const request = { operation: id, method, path, body: bytes, timestamp: now(), nonce: newNonce() };
    return signatureHeaders(await signRequest(agent, await options.domain(), request), headerPrefix);
  }
  if (apiKey !== null && auth === 'reader') return { [`${headerPrefix}Api-Key`]: apiKey };
  if (auth === 'optional') return {};
  throw new ClientError(apiKey === null ? `${id} needs an agent or an API key.` : `${id} needs an agent: an API key only reads.`);
}

function readJson(text: string): Input | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Input) : null;
  } catch {
    return null;
  }
}

function refusal(id: OperationId, status: number, reply: Input | null): GatewayError {
  if (reply === null || typeof reply['code'] !== 'string')
    return new GatewayError(id, status, { code: 'UNREADABLE', message: 'The reply is not one of a gateway: check the address.' });
  const details = typeof reply['details'] === 'object' && reply['details'] !== null ? (reply['details'] as Input) : {};
  return new GatewayError(id, status, { code: reply['code'] as ErrorCode, message: String(reply['message']), details });
}
