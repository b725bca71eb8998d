import type { AgentCaller } from '../../../core/access/caller.js';
import { decimal } from '../../../core/domain/decimal.js';
import { leverageForMargin, type MarginContext } from '../../../core/domain/relay/translate-order.js';
import { GatewayError } from '../../../core/errors.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { prepareLeverage } from '../../../core/trading/change-leverage.js';
import { LEVERAGE_DECIMALS } from '../../../core/trading/order-request.js';
import { watchOrders } from './await-orders.js';
import type { OrderStatus } from '../../../core/domain/order.js';
import type { RelayJob, SignedAction } from '../../../core/ports/stores/relay.js';
import { priceAccount, readAccount, type ValuedTrade } from '../../info/account-state.js';
import { placeUnnamed } from '../../../core/trading/place-order.js';

export interface MarginJobContext {
  readonly kind: 'margin';
  readonly context: MarginContext;
}

export type MarginOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'no-position' }
  | { readonly kind: 'too-little' }
  | { readonly kind: 'rejected' }
  /** Sent, or about to be: its collateral is with the contract until the oracle answers or the request is taken back. */
  | { readonly kind: 'pending'; readonly oid: bigint };

/** Adds margin to one trade of a position or takes some from one. */
export async function relayMargin(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  action: SignedAction,
  { pairIndex, microUsd, holdMs }: { readonly pairIndex: number; readonly microUsd: bigint; readonly holdMs: number },
): Promise<MarginOutcome> {
  const { slug } = venue.definition;
  const open = (await gateway.store.account.openPositions(slug, caller.trader)).filter(({ position }) => position.pairIndex === pairIndex);
  const chosen = open.length > 1 ? await tradeToChange(gateway, venue, caller, { pairIndex, isAdded: microUsd > 0n }) : open[0]?.tradeIndex;
  const changed = open.find(({ tradeIndex }) => tradeIndex === chosen);
  if (!changed) return { kind: 'no-position' };
  const { collateralAmount, leverage, collateralIndex } = changed.position;
  const collateral = venue.feed.config().collaterals.find(({ index }) => index === collateralIndex);
  if (!collateral) throw new GatewayError('NOT_READY', { reason: 'the collateral is not described yet' });
  const { precision, precisionDelta, priceUsd } = collateral;
  const context: MarginContext = {
    tradeIndex: changed.tradeIndex,
    collateralAmount,
    leverage,
    collateral: { precision, precisionDelta, priceUsd },
  };
  const next = leverageForMargin(microUsd, context);
  if (next === null) return { kind: 'too-little' };
  const watch = watchOrders(gateway, venue, caller.trader);
  try {
    const { checked } = await prepareLeverage(gateway, venue, caller, changed.id.toString(), {
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
    return outcomeOf(oid, watch.state(oid)?.status, relayed?.state);
  } finally {
    watch.stop();
  }
}

/** Only an execution is success: a request that nothing is known of may still be executed. */
function outcomeOf(oid: bigint, status: OrderStatus | undefined, job: RelayJob['state'] | undefined): MarginOutcome {
  if (status === 'filled') return { kind: 'done' };
  const isUnsent = job === 'refused' || job === 'replaced' || job === 'reverted';
  const isOver = status === 'rejected' || status === 'canceled' || status === 'expired';
  return isUnsent || isOver ? { kind: 'rejected' } : { kind: 'pending', oid };
}

async function tradeToChange(
  gateway: Gateway,
  venue: Venue,
  { trader }: AgentCaller,
  { pairIndex, isAdded }: { readonly pairIndex: number; readonly isAdded: boolean },
): Promise<number | undefined> {
  const { trades } = priceAccount(venue, await readAccount(gateway, venue, trader));
  return tradeForMargin(
    trades.filter((trade) => trade.pairIndex === pairIndex),
    isAdded,
  )?.tradeIndex;
}

type Liquidable = Pick<ValuedTrade, 'long' | 'base' | 'liquidation'>;

/**
 * The trade of a position that margin is given to: the first to be liquidated, whose price is the `liquidationPx` that clients see. Margin is
 * taken from the last one. Only the side that is left after netting counts, as in `liquidationPx`.
 */
export function tradeForMargin<Trade extends Liquidable>(trades: readonly Trade[], isAdded: boolean): Trade | undefined {
  const size = trades.reduce((sum, { long, base }) => sum + (long ? base : -base), 0n);
  const leading = trades.filter(({ long }) => size !== 0n && long === size > 0n);
  const lastFirst = leading.toSorted((a, b) => Number(nearness(a) - nearness(b)));
  return isAdded ? lastFirst.at(-1) : lastFirst[0];
}

/** Higher is liquidated sooner. A trade without a liquidation price is the last. */
const nearness = ({ long, liquidation }: Liquidable): bigint => (long ? liquidation : -(liquidation || NO_PRICE));
/** Prices of the contract have 64 bits. */
const NO_PRICE = 2n ** 64n;
