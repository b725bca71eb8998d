import { z } from 'zod';
import type { AlertSettings } from '../../core/config/operator.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import { GatewayError } from '../../core/errors.js';
import type { Address } from '../../core/types.js';

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

/** What operator routes take to name a chain or a wallet. */

export const Wallet = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address')
  .transform((text) => text.toLowerCase() as Address);

export interface Place {
  readonly chain?: string | undefined;
  readonly wallet?: Address | undefined;
}

/** The selected venues; a given wallet must belong to one of them. */
export function chosenVenues(gateway: Gateway, { chain, wallet }: Place): readonly Venue[] {
  const named = chain === undefined ? [...gateway.venues.values()] : [venueOf(gateway, chain)];
  const venues = named.filter(({ relayer }) => relayer !== null && (wallet === undefined || relayer.wallets().includes(wallet)));
  if (venues.length > 0) return venues;
  const reason = wallet === undefined ? 'No relayer serves there.' : `${wallet} is no wallet of the relayer there.`;
  throw new GatewayError('UNSUPPORTED', { reason });
}

export function relayedVenue(gateway: Gateway, chain: string | undefined): Venue {
  const venues = chosenVenues(gateway, { chain });
  const [venue] = venues;
  if (venues.length > 1 || venue === undefined)
    throw new GatewayError('UNSUPPORTED', { reason: `Several chains are relayed on; name one of ${venues.map(slugOf).join(', ')}.` });
  return venue;
}

const slugOf = ({ definition }: Venue): string => definition.slug;

export function requireOwn({ relayer }: Venue, wallet: Address): void {
  if (relayer?.wallets().includes(wallet) !== true)
    throw new GatewayError('UNSUPPORTED', { reason: `${wallet} is no wallet of the relayer there.` });
}
