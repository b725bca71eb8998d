import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import type { Refusal } from '../../../core/ports/stores/relay.js';

const CANCELED: Refusal = { reason: 'canceled', note: 'it was canceled before it was sent' };

/** Cancels an order that is still in the relayer's queue, so that it never gets a nonce. False if it may already be sent. */
export async function withdrawQueued({ store }: Gateway, { definition, clock }: Venue, trader: Address, id: bigint): Promise<boolean> {
  const { slug } = definition;
  const jobs = await store.relay.jobsOfOrder(slug, id);
  if (jobs.length === 0 || jobs.some(({ state }) => state !== 'queued')) return false;
  const refused = await Promise.all(jobs.map((job) => store.relay.refuse(slug, job.id, CANCELED)));
  return refused.every((job) => job !== null) && store.orders.giveUp(slug, trader, id, clock.now());
}
