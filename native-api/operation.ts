import type { z } from 'zod';
import type { AgentCaller, Caller } from '../core/access/caller.js';
import type { ErrorCode } from '../core/errors.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Wait } from '../core/trading/wait-for-order.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * Who may call: anyone; an agent by signature; an agent or an API key; anyone with the master wallet's signature in the body; or
 * anyone, with more detail for an agent that signs.
 */
export const AUTHS = ['none', 'agent', 'reader', 'master', 'optional'] as const;
type Auth = (typeof AUTHS)[number];

interface CallerOf {
  readonly none: null;
  readonly agent: AgentCaller;
  readonly reader: Caller;
  readonly master: null;
  readonly optional: AgentCaller | null;
}

type Decoded<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

interface Decodings<Params, Query> {
  readonly params: Decoded<Params>;
  readonly query: Decoded<Query>;
}

interface Row<A extends Auth, Params, Query, Body, Reply extends z.ZodType, Context> {
  /** Also the EIP-712 primary type of a signed request, the OpenAPI operationId and the name in logs. */
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly auth: A;
  readonly summary: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly reply: Reply;
  /** Status by reply; default 200. */
  readonly status?: (answer: z.output<Reply>) => number;
  /** All statuses of a successful reply; default 200 only. */
  readonly statuses?: readonly number[];
  /** Codes besides those that follow from scope, auth and path (`errorsOf`). */
  readonly errors?: readonly ErrorCode[];
  /** The delegate is read together with the simulation of the write, which saves a node round trip; the handler must check it. */
  readonly simulates?: boolean;
  /** `Prefer: wait=N` is supported; `wait` is what the client requested. */
  readonly waits?: boolean;
  /** Public, and the same for every client until prices or parameters of the venue change: served from bytes serialised once per change. */
  readonly cached?: boolean;
  /** Expensive: only one such request per address runs at a time. */
  readonly expensive?: boolean;
  /** Serialises the reply itself if encoding is most of the work; the text equals that of `handle` and `reply`. */
  readonly write?: (context: Context & Decodings<Params, Query>) => Promise<string>;
  readonly handle: (
    context: Context & {
      readonly caller: CallerOf[A];
      readonly params: Decoded<Params>;
      readonly query: Decoded<Query>;
      readonly body: Decoded<Body>;
      /** The client's network address, behind trusted proxies. */
      readonly from: string;
      /** null if the row does not wait, or the client did not ask for it. */
      readonly wait: Wait | null;
    },
  ) => Promise<z.output<Reply>> | z.output<Reply>;
}

type Schema = z.ZodType | undefined;

export interface GatewayContext {
  readonly gateway: Gateway;
}

export interface VenueContext extends GatewayContext {
  readonly venue: Venue;
}

/**
 * One row of the native API. `path` of a venue operation is relative to `/v1/{chain}`; parameters are written `:name`.
 * If the caller is known and the path has `:address`, the router admits only that trader (TRADER_MISMATCH).
 */
export type Operation =
  | ({ readonly scope: 'gateway' } & Row<Auth, Schema, Schema, Schema, z.ZodType, GatewayContext>)
  | ({ readonly scope: 'venue' } & Row<Auth, Schema, Schema, Schema, z.ZodType, VenueContext>);

/** Each row is checked against its own schemas here; the router sees only `Operation`. */
export function gatewayOperation<
  Reply extends z.ZodType,
  A extends Auth = Auth,
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(row: Row<A, P, Q, B, Reply, GatewayContext>): Operation {
  return { scope: 'gateway', ...row } as unknown as Operation;
}

export function venueOperation<
  Reply extends z.ZodType,
  A extends Auth = Auth,
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(row: Row<A, P, Q, B, Reply, VenueContext>): Operation {
  return { scope: 'venue', ...row } as unknown as Operation;
}

const ALWAYS: readonly ErrorCode[] = ['VALIDATION_ERROR', 'RATE_LIMITED', 'INTERNAL', 'NOT_READY'];
const SIGNED: readonly ErrorCode[] = ['INVALID_SIGNATURE', 'TIMESTAMP_OUT_OF_WINDOW', 'NONCE_REUSED'];
const OF_AGENTS: readonly ErrorCode[] = [
  'UNAUTHENTICATED',
  ...SIGNED,
  'AGENT_UNKNOWN',
  'AGENT_NOT_DELEGATED',
  'AGENT_EXPIRED',
  'AGENT_REVOKED',
];

const BY_AUTH: Readonly<Record<Auth, readonly ErrorCode[]>> = {
  none: [],
  master: SIGNED,
  agent: [...OF_AGENTS, 'SCOPE_READ_ONLY'],
  reader: [...OF_AGENTS, 'API_KEY_UNKNOWN'],
  optional: OF_AGENTS,
};

export const pathParameters = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** Whether the account in the path must be the caller's: derived from the row, so that no handler can forget the check. */
export const isOwnAccount = ({ auth, path }: Operation): boolean =>
  (auth === 'agent' || auth === 'reader') && pathParameters(path).includes('address');

/** All error codes of a row: those that follow from its scope, auth and path, and its own. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [...ALWAYS, ...BY_AUTH[operation.auth], ...(operation.errors ?? [])];
  if (operation.scope === 'venue') codes.push('CHAIN_NOT_FOUND', 'UPSTREAM_UNAVAILABLE');
  if (isOwnAccount(operation)) codes.push('TRADER_MISMATCH');
  if (pathParameters(operation.path).includes('symbol')) codes.push('MARKET_NOT_FOUND');
  return [...new Set(codes)];
}
