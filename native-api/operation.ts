import type { z } from 'zod';
import type { AgentCaller, Caller } from '../core/access/caller.js';
import type { ErrorCode } from '../core/errors.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Wait } from '../core/trading/wait-for-order.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * Who may ask: anybody; an agent by signature; an agent or an API key; anybody with the master wallet's signature in the body; or
 * anybody, and an agent that signs hears more.
 */
export const AUTHS = ['none', 'agent', 'reader', 'master', 'optional'] as const;
export type Auth = (typeof AUTHS)[number];

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
  /** Status by answer; 200 when absent. */
  readonly status?: (answer: z.output<Reply>) => number;
  /** Every status a good answer can have; 200 alone when absent. */
  readonly statuses?: readonly number[];
  /** Codes it can answer besides those that follow from scope, auth and path (`errorsOf` in openapi.ts). */
  readonly errors?: readonly ErrorCode[];
  /** The delegate is read together with the rehearsal of the write, so that nobody waits for the node twice; the handler answers for it. */
  readonly rehearses?: boolean;
  /** `Prefer: wait=N` is understood; `wait` says what the client would wait. */
  readonly waits?: boolean;
  /** Public, and the same for everybody until prices or parameters of the venue change: answered from bytes serialised once per change. */
  readonly hot?: boolean;
  /** Long, and dear to make: an address has one of these answered at a time. */
  readonly dear?: boolean;
  /** Writes the reply itself, where encoding it is most of the work; the text is what `handle` and `reply` would give. */
  readonly write?: (context: Context & Decodings<Params, Query>) => Promise<string>;
  readonly handle: (
    context: Context & {
      readonly caller: CallerOf[A];
      readonly params: Decoded<Params>;
      readonly query: Decoded<Query>;
      readonly body: Decoded<Body>;
      /** The client's network address, behind trusted proxies. */
      readonly from: string;
      /** null where the row does not wait, or nobody asked it to. */
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
 * Where a caller is known and the path has `:address`, the router lets only that trader through (TRADER_MISMATCH).
 */
export type Operation =
  | ({ readonly scope: 'gateway' } & Row<Auth, Schema, Schema, Schema, z.ZodType, GatewayContext>)
  | ({ readonly scope: 'venue' } & Row<Auth, Schema, Schema, Schema, z.ZodType, VenueContext>);

/** The two registry seams: here each row is checked against its own schemas, afterwards the router sees only `Operation`. */
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
