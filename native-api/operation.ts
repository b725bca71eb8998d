import type { z } from 'zod';
import type { Gateway, Venue } from '../core/gateway.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

interface Row<Reply extends z.ZodType, Context> {
  /** Also the name in logs and the primary type a client signs. */
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly reply: Reply;
  /** Status by answer; 200 when absent. */
  readonly status?: (answer: z.output<Reply>) => number;
  readonly handle: (context: Context) => Promise<z.output<Reply>> | z.output<Reply>;
}

export interface GatewayContext {
  readonly gateway: Gateway;
}

export interface VenueContext extends GatewayContext {
  readonly venue: Venue;
}

/** One row of the native API. `path` of a venue operation is relative to `/v1/{chain}`. */
export type Operation =
  ({ readonly scope: 'gateway' } & Row<z.ZodType, GatewayContext>) | ({ readonly scope: 'venue' } & Row<z.ZodType, VenueContext>);

/** The two registry seams: here each row is checked against its own schemas, afterwards the router sees only `Operation`. */
export const gatewayOperation = <Reply extends z.ZodType>(row: Row<Reply, GatewayContext>): Operation =>
  ({ scope: 'gateway', ...row }) as unknown as Operation;
export const venueOperation = <Reply extends z.ZodType>(row: Row<Reply, VenueContext>): Operation =>
  ({ scope: 'venue', ...row }) as unknown as Operation;
