import type { z } from 'zod';
import type { Gateway } from '../../core/gateway.js';

export const OPERATOR_METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type OperatorMethod = (typeof OPERATOR_METHODS)[number];

/** What a handler is given: everything decoded by the row's own schemas. */
export interface OperatorCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly gateway: Gateway;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

/** One row of the operator's door. */
export interface OperatorRoute {
  readonly method: OperatorMethod;
  /** Below `/relayer`, with `:names` for its params. */
  readonly path: string;
  readonly params: z.ZodType | undefined;
  /** A row that names no query takes none. */
  readonly query: z.ZodType | undefined;
  /** A row that names no body takes none; one that may be left out accepts `undefined`. */
  readonly body: z.ZodType | undefined;
  /** What is answered with 200 as JSON; amounts may be bigints, they leave as decimal strings. */
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

/** The registry's seam: inside a row its schemas say what its handler gets; the door, which decodes, knows no more than `unknown`. */
export function operatorRoute<
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>({ method, path, params, query, body, handle }: RouteParts<Params, Query, Body>): OperatorRoute {
  return { method, path, params, query, body, handle: handle as OperatorRoute['handle'] };
}
