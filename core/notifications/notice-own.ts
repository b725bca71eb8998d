import { currentDelegate } from '../access/delegation.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../ports.js';

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
  // A node that does not answer hides a change for a while; the rest is still true.
  const delegate = await currentDelegate(venue, trader).catch(() => undefined);
  if (delegate !== undefined) await store.notifications.noteDelegate(slug, trader, delegate, now);
}
