import type { AgentCaller } from '../access/caller.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Cancel } from '../ports.js';
import { prepareTransaction } from '../orders/prepare-transaction.js';
import type { CancelJobContext } from './cancel-work.js';
import type { Unreclaimed } from './relay-store.js';
import { sendWrite } from './send-write.js';
import { takesWork } from './require-lane.js';

const LOOK_MS = 2_000;
const TRY_AGAIN_MS = 30_000;

/** Bots know no reclaim: collateral of requests that the oracle did not answer in time goes back to the trader by itself. */
export function reclaimLost(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const lost = await gateway.store.relay.unreclaimed(definition.slug, clock.now() - TRY_AGAIN_MS);
    for (const each of lost)
      await reclaim(gateway, venue, each).catch((error: unknown) => log.warn('relay.not-reclaimed', { order: each.orderId, error }));
  };
  return clock.every(LOOK_MS, () => {
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.reclaim-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

async function reclaim(gateway: Gateway, venue: Venue, { orderId, trader, agent, action, requestIndex }: Unreclaimed): Promise<void> {
  const { slug } = venue.definition;
  const [known, signed, sender] = await Promise.all([
    gateway.store.access.findAgent(slug, agent),
    gateway.store.relay.action(slug, action),
    venue.relayer?.walletFor(trader),
  ]);
  if (!known || !signed || sender === undefined || venue.relayer === null || !takesWork(venue.relayer, sender)) return;
  const caller: AgentCaller = { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope };
  const intent = { kind: 'reclaim', requestIndex } as const;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const context: CancelJobContext = { kind: 'cancel', item: 0, intent };
  venue.log.info('relay.reclaiming', { order: orderId, trader });
  await sendWrite(venue, caller, { action: signed, orderId, write, context, purpose: 'reclaim', isOnce: true });
}
