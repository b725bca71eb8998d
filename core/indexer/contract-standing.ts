import { onVenue, type Gateway, type Venue } from '../gateway.js';
import type { ContractStanding } from '../domain/contract-doubt.js';
import { identificationOf } from './identify.js';

/** When the read began that brought the current standing, monotonic ms: the answer to an earlier one says nothing new. */
const knownAsOf = new WeakMap<Venue, number>();

function take(gateway: Gateway, venue: Venue, standing: ContractStanding, askedAt: number): void {
  if (askedAt < (knownAsOf.get(venue) ?? Number.NEGATIVE_INFINITY)) return;
  knownAsOf.set(venue, askedAt);
  const before = venue.state.contract;
  venue.state.contract = standing;
  if (before !== null && before.cut !== standing.cut) identificationOf(gateway, venue).refresh(false);
}

/** Reads it at once, where this replica stored something of it. */
export async function refreshStanding(gateway: Gateway, venue: Venue): Promise<void> {
  const askedAt = venue.clock.monotonic();
  take(gateway, venue, await gateway.store.contract.standing(venue.definition.slug), askedAt);
}

/**
 * Keeps `venue.state.contract` current on every replica, with the looks at what is due; the follower refreshes it with what it stores. Nothing is
 * opened before it was read once.
 */
export async function watchContract(gateway: Gateway, venue: Venue): Promise<() => void> {
  const cancel = onVenue(gateway, venue, 'due', ({ askedAt, due }) => take(gateway, venue, due.contract, askedAt));
  await refreshStanding(gateway, venue).catch((error: unknown) => venue.log.warn('chain.contract-not-read', { error }));
  return cancel;
}
