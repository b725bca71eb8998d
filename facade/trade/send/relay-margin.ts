import type { AgentCaller } from '../../../core/access/caller.js';
import { decimal } from '../../../core/domain/decimal.js';
import { leverageForMargin, type MarginContext } from '../../../core/domain/relay/translate-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { prepareLeverage } from '../../../core/trading/change-leverage.js';
import { LEVERAGE_DECIMALS } from '../../../core/trading/order-request.js';
import { watchOrders } from './await-orders.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';
import { placeUnnamed } from '../../../core/trading/place-order.js';

export interface MarginJobContext {
  readonly kind: 'margin';
  readonly context: MarginContext;
}

export type MarginOutcome =
  { readonly kind: 'done' } | { readonly kind: 'no-position' } | { readonly kind: 'too-little' } | { readonly kind: 'rejected' };

/** Adds margin to a position or removes some; with several trades the largest one is changed. */
export async function relayMargin(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { pairIndex, microUsd, holdMs }: { readonly pairIndex: number; readonly microUsd: bigint; readonly holdMs: number },
): Promise<MarginOutcome> {
  const { slug } = venue.definition;
  const open = await gateway.store.account.openPositions(slug, caller.trader);
  const [largest] = open
    .filter(({ position }) => position.pairIndex === pairIndex)
    .sort((a, b) => (a.position.collateralAmount < b.position.collateralAmount ? 1 : -1));
  if (!largest) return { kind: 'no-position' };
  const { collateralAmount, leverage, collateralIndex } = largest.position;
  const collateral = venue.feed.config().collaterals.find(({ index }) => index === collateralIndex);
  if (!collateral) throw new GatewayError('NOT_READY', { reason: 'the collateral is not described yet' });
  const { precision, precisionDelta, priceUsd } = collateral;
  const context: MarginContext = {
    tradeIndex: largest.tradeIndex,
    collateralAmount,
    leverage,
    collateral: { precision, precisionDelta, priceUsd },
  };
  const next = leverageForMargin(microUsd, context);
  if (next === null) return { kind: 'too-little' };
  const watch = watchOrders(gateway, venue, caller.trader);
  try {
    const { checked } = await prepareLeverage(gateway, venue, caller, largest.id.toString(), {
      leverage: decimal(next, LEVERAGE_DECIMALS),
    });
    if (checked === null) return { kind: 'too-little' };
    const job: MarginJobContext = { kind: 'margin', context };
    const { oid, jobs } = await placeUnnamed(gateway, venue, caller, {
      legs: [{ ...checked, context: job }],
      relayed: { action, record: null },
    });
    await watch.settled([oid], holdMs);
    const [relayed] = await gateway.store.relay.jobs(
      slug,
      jobs.map((sent) => sent.job.id),
    );
    const isUnsent = relayed?.state === 'refused' || relayed?.state === 'replaced';
    return { kind: isUnsent || watch.state(oid)?.status === 'rejected' ? 'rejected' : 'done' };
  } finally {
    watch.stop();
  }
}
