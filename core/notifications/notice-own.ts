import { currentDelegate, freshDelegate } from '../access/delegation.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';

const SOON_MS = 24 * 3_600_000;

/**
 * Records notices that no log reports: a changed delegate, an agent about to expire. Runs when the account's notifications are read, and only
 * for traders with an agent here, so that requests for other addresses cost no RPC call.
 */
export async function noticeOwn({ store, clock }: Gateway, venue: Venue, trader: Address): Promise<void> {
  const { slug } = venue.definition;
  const now = clock.now();
  const agents = (await store.access.listAgents(slug, trader)).filter(({ revokedAt }) => revokedAt === null);
  if (agents.length === 0) return;
  const expiring = agents.flatMap(({ agent, scope: { expiresAt } }) =>
    expiresAt !== null && expiresAt > now && expiresAt - now <= SOON_MS ? [{ agent, expiresAt }] : [],
  );
  await store.notifications.noteExpiring(slug, trader, expiring, now);
  await noticeDelegate(store, venue, trader, now);
}

/** The cached delegate may be older than what another replica stored, so a notice is written only after a fresh read. */
async function noticeDelegate({ notifications }: Gateway['store'], venue: Venue, trader: Address, now: number): Promise<void> {
  const { slug } = venue.definition;
  try {
    if ((await currentDelegate(venue, trader)) === (await notifications.delegateSeen(slug, trader))) return;
    await notifications.noteDelegate(slug, trader, await freshDelegate(venue, trader), now);
  } catch (error) {
    // An unavailable node only delays this notice; the other notifications are still served.
    if (!(error instanceof GatewayError) || error.code !== 'UPSTREAM_UNAVAILABLE') throw error;
  }
}
