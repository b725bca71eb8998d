import type { AgentCaller } from '../../../core/access/caller.js';
import { GatewayError, type ErrorCode } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import type { Address, Cancel } from '../../../core/types.js';
import { whenDue } from '../../../core/trading/due-work.js';
import { prepareTransaction } from '../../../core/trading/prepare-transaction.js';
import type { CancelJobContext } from '../send/cancel-work.js';
import type { Unreclaimed } from '../../../core/ports/stores/relay.js';
import { sendWrite, takesWork } from '../../../core/trading/place-order.js';

/** Hyperliquid has no reclaim: collateral of requests that the oracle did not answer in time is returned to the trader automatically. */
export function reclaimLost(gateway: Gateway, venue: Venue): Cancel {
  const { clock, log, definition } = venue;
  let isBusy = false;
  const look = async (): Promise<void> => {
    const { relay } = gateway.store;
    const lost = await relay.unreclaimed(definition.slug, clock.now());
    const left = new Set<Address>();
    for (const each of lost) {
      // A failure for one request of a trader applies to its others as well.
      if (left.has(each.trader)) continue;
      const outcome = await reclaim(gateway, venue, each).catch((error: unknown) => {
        log.warn('relay.not-reclaimed', { order: each.orderId, error });
        return isOutage(error) ? 'later' : 'failed';
      });
      if (outcome !== 'done') left.add(each.trader);
      if (outcome !== 'later') await relay.reclaimTried(definition.slug, each.trader, clock.now(), outcome === 'done');
    }
  };
  return whenDue(gateway, venue, ['reclaims'], () => {
    if (isBusy || venue.relayer === null) return;
    isBusy = true;
    look()
      .catch((error: unknown) => log.warn('relay.reclaim-failed', { error }))
      .finally(() => (isBusy = false));
  });
}

/** Failures not caused by the trader. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set(['UPSTREAM_UNAVAILABLE', 'NOT_READY', 'CHAIN_READ_ONLY']);
const isOutage = (error: unknown): boolean => !(error instanceof GatewayError) || OUTAGES.has((error as GatewayError).code);

async function reclaim(
  gateway: Gateway,
  venue: Venue,
  { orderId, trader, agent, action, requestIndex }: Unreclaimed,
): Promise<'done' | 'failed' | 'later'> {
  const { slug } = venue.definition;
  const [known, signed, sender] = await Promise.all([
    gateway.store.access.findAgent(slug, agent),
    gateway.store.relay.action(slug, action),
    venue.relayer?.walletFor(trader),
  ]);
  if (sender === undefined || venue.relayer === null || !takesWork(venue.relayer, sender)) return 'later';
  if (!known || !signed) return 'failed';
  const caller: AgentCaller = { via: 'agent', trader, agent, sender, mode: 'relayed', scope: known.scope };
  const intent = { kind: 'reclaim', requestIndex } as const;
  const write = await prepareTransaction(gateway, venue, caller, { intent, takes: null });
  const context: CancelJobContext = { kind: 'cancel', item: 0, intent };
  venue.log.info('relay.reclaiming', { order: orderId, trader });
  await sendWrite(venue, caller, { action: signed, orderId, write, context, purpose: 'reclaim', isOnce: true });
  return 'done';
}
