import type { AgentCaller } from '../../../core/access/caller.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { KnownOrder } from '../../../core/ports/stores/orders.js';
import type { Hex } from '../../../core/types.js';
import type { CancelJobContext } from './cancel-work.js';
import type { Target } from '../plan/find-target.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';

/**
 * Whether this item of this action canceled the target. Concurrent attempts, here or on another replica, all see it gone: only the one
 * whose transaction did it may place a replacement.
 */
export async function isTakenBy(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { action, item, target }: { readonly action: SignedAction; readonly item: number; readonly target: Target },
): Promise<boolean> {
  const { store } = gateway;
  const { slug } = venue.definition;
  const { orders, protections } = target;
  const ends = await Promise.all([
    ...orders.map((order) => endOfOrder(gateway, venue, caller, order)),
    ...protections.map((level) => store.facade.history.levelEnd(slug, caller.trader, level)),
  ]);
  // With several parts the first decides, as each can have been canceled by another transaction.
  const [hash] = ends.flatMap((end) => end ?? []);
  // Nothing on chain: it was canceled in the queue, which only one caller can do.
  if (hash === undefined) return protections.length === 0;
  const job = await store.relay.jobByHash(slug, hash);
  return job?.parent === action.id && (job.context as CancelJobContext).item === item;
}

/** The transaction that canceled the order; null if it ended otherwise. */
async function endOfOrder({ store }: Gateway, { definition }: Venue, { trader }: AgentCaller, { id }: KnownOrder): Promise<Hex | null> {
  const story = await store.orders.timeline(definition.slug, trader, id);
  const ends = (story?.events ?? []).filter(
    ({ event, isTakenBack }) => !isTakenBack && (event.kind === 'withdrawn' || event.kind === 'guardGone'),
  );
  return ends.at(-1)?.event.place.txHash ?? null;
}
