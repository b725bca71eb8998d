import { z } from 'zod';
import { GatewayError } from '../../core/errors.js';
import { venueOf, type Gateway, type Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';

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
