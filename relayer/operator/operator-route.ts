import type { z } from 'zod';
import type { AlertSettings } from '../../core/config/operator.js';
import type { Gateway } from '../../core/gateway.js';

export const OPERATOR_METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type OperatorMethod = (typeof OPERATOR_METHODS)[number];

/** A handler's input, decoded by the schemas of its route. */
export interface OperatorCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly gateway: Gateway;
  /** When alerts are raised, and whether they are posted. */
  readonly alerting: AlertSettings;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

/** One operator route. */
export interface OperatorRoute {
  readonly method: OperatorMethod;
  /** Below `/relayer`, with `:names` for its params. */
  readonly path: string;
  readonly params: z.ZodType | undefined;
  /** A route without a query schema accepts none. */
  readonly query: z.ZodType | undefined;
  /** A route without a body schema accepts none; a schema for an optional body accepts `undefined`. */
  readonly body: z.ZodType | undefined;
  /** Returns the JSON of a 200 reply; bigints are serialised as decimal strings. */
  readonly handle: (call: OperatorCall) => unknown;
}

type Decoded<Schema extends z.ZodType | undefined> = Schema extends z.ZodType ? z.output<Schema> : undefined;

interface RouteParts<Params extends z.ZodType | undefined, Query extends z.ZodType | undefined, Body extends z.ZodType | undefined> {
  readonly method: OperatorMethod;
  readonly path: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly handle: (call: OperatorCall<Decoded<Params>, Decoded<Query>, Decoded<Body>>) => unknown;
}

/** Ties a handler's input types to its schemas; the router, which decodes, sees `unknown`. */
export function operatorRoute<
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>({ method, path, params, query, body, handle }: RouteParts<Params, Query, Body>): OperatorRoute {
  return { method, path, params, query, body, handle: handle as OperatorRoute['handle'] };
}
