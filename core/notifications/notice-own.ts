import { currentDelegate, freshDelegate } from '../access/delegation.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';

const SOON_MS = 24 * 3_600_000;

/**
 * Notices what no log tells: a changed delegate, an agent about to expire. Looked at when the account's notifications are read, and only
 * for traders with an agent here, so that a stranger's address costs no call to the chain.
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

/** Our memory may be older than what another replica has seen: only a slot that was read anew makes a notice. */
async function noticeDelegate({ notifications }: Gateway['store'], venue: Venue, trader: Address, now: number): Promise<void> {
  const { slug } = venue.definition;
  try {
    if ((await currentDelegate(venue, trader)) === (await notifications.delegateSeen(slug, trader))) return;
    await notifications.noteDelegate(slug, trader, await freshDelegate(venue, trader), now);
  } catch (error) {
    // A node that does not answer hides a change for a while; the rest is still true.
    if (!(error instanceof GatewayError) || error.code !== 'UPSTREAM_UNAVAILABLE') throw error;
  }
}
